# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What scripts write about the op classes is up to date."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
import requires

ROOT = pathlib.Path(__file__).parents[2]


@requires.newest_tensorflow
@pytest.mark.parametrize(
    "script", ["python/write_stub.py", "docs/java_table.py"]
)
def test_file_is_what_its_script_writes(script):
    spec = importlib.util.spec_from_file_location("script", ROOT / script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    rendered = module.render()

    assert module.PATH.read_text(encoding="utf-8") == rendered
