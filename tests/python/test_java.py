# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What tests/java/ takes from Python; 'make test-java' runs the tests there."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
JAVA = ROOT / "tests" / "java"


def load(name):
    """Returns a file of tests/java/ as a module."""
    spec = importlib.util.spec_from_file_location(name, JAVA / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("engine")
def test_java_expects_the_numbers_of_this_build():
    make_expected = load("make_expected")

    expected = make_expected.make_expected()

    assert make_expected.PATH.read_text(encoding="utf-8") == expected
