# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What README and docs/ say is what the code does."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import pathlib
import re
import types

import pytest
import requires

ROOT = pathlib.Path(__file__).parents[2]

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"] + sorted(
    (ROOT / "docs").glob("*.md")
)


def load_ops_table() -> types.ModuleType:
    """Returns docs/ops_table.py as a module."""
    path = ROOT / "docs" / "ops_table.py"
    spec = importlib.util.spec_from_file_location("ops_table", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("engine")
def test_readme_code_prints_what_the_readme_says():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, expected = re.findall(r"```(?:python)?\n(.*?)```", text, re.S)[:2]
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})

    assert printed.getvalue() == expected


@requires.newest_tensorflow
def test_table_of_ops_is_that_of_this_build():
    ops_table = load_ops_table()

    rendered = ops_table.render()

    assert ops_table.PATH.read_text(encoding="utf-8") == rendered


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    text = page.read_text(encoding="utf-8")

    targets = re.findall(r"\]\(([^)#:]+)\)", text)

    assert [t for t in targets if not (page.parent / t).exists()] == []
