# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts write about the op classes is up to date."""

from __future__ import annotations

import importlib.util
import pathlib
import re

import pytest
import tensorflow as tf

ROOT = pathlib.Path(__file__).parents[2]


def newest_minor():
    """Returns the TensorFlow that the package names."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.search(r"tensorflow-cpu==(\d+\.\d+)\.", text)[1]


@pytest.mark.skipif(
    not tf.__version__.startswith(f"{newest_minor()}."),
    reason="the files are written under the newest TensorFlow",
)
@pytest.mark.parametrize(
    "script", ["python/write_stub.py", "docs/java_table.py"]
)
def test_file_is_what_its_script_writes(script):
    spec = importlib.util.spec_from_file_location("script", ROOT / script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    rendered = module.render()

    assert module.PATH.read_text(encoding="utf-8") == rendered
