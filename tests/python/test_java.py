# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What tests/java/ takes from Python, and what the documentation takes from it.

The tests there need a JVM; 'make test-java' runs them.
"""

from __future__ import annotations

import importlib.util
import pathlib
import re
import textwrap

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


def test_documented_example_is_tested():
    page = (ROOT / "docs/java_tensorflow.md").read_text(encoding="utf-8")
    test = JAVA / "src/test/java/tpuless/ExampleTest.java"

    (example,) = re.findall(r"```java\n(.*?)```", page, re.S)

    indented = textwrap.indent(example, "  ")
    assert indented in test.read_text(encoding="utf-8")


def test_documented_releases_are_those_of_the_tests():
    page = (ROOT / "docs/java_tensorflow.md").read_text(encoding="utf-8")

    rows = re.findall(r"^\| (\d+\.\d+)\S* \| (\d+\.\d+\.\d+) \|", page, re.M)

    assert dict(rows) == load("releases").RELEASES
