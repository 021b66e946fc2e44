# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""docs/optimizers.md says what the registry and the sources say."""

from __future__ import annotations

import pathlib
import re

import configs
import pytest
import requires
import tpuless
from tpuless import _engine

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "optimizers.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
OPTIMIZERS = _engine.optimizers()

each_optimizer = pytest.mark.parametrize(
    "optimizer", OPTIMIZERS, ids=lambda optimizer: optimizer["name"]
)


def _table(text: str, head: str) -> list[str]:
    """Returns the first column of the table with that head; [] if none."""
    found = re.search(rf"^\| {head} \|.*\n\| --- .*\n((?:\|.*\n)*)", text, re.M)
    return re.findall(r"^\| `(\w+)` \|", found[1], re.M) if found else []


def _formula_of_the_source(name: str) -> list[str]:
    """Returns the lines that are indented in the comment that heads a file."""
    path = ROOT / "cc" / "engine" / "optimizers" / f"{name}.cc"
    comment = path.read_text(encoding="utf-8").split("\n\n")[0]
    return re.findall(r"^//   (.*)$", comment, re.M)


def test_sections_are_the_optimizers_of_tensorflow():
    page = (ROOT / "docs/tensorflow_versions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| optimizer `(\w+)` \| (\d+\.\d+) \|", page, re.M)
    later = {
        name
        for name, since in rows
        if requires.minor_of(since) > requires.MINOR
    }

    assert {name for name, _ in rows} <= {*SECTIONS}
    assert {*SECTIONS} - later == requires.OPTIMIZERS


def test_sections_come_in_the_order_of_the_registry():
    names = [optimizer["name"] for optimizer in OPTIMIZERS]
    refused = [refused["name"] for refused in _engine.refused_optimizers()]

    assert [*SECTIONS] == [*names, "user_defined_program", *refused]


@each_optimizer
def test_slots_are_those_of_the_registry(optimizer):
    section = SECTIONS[optimizer["name"]]

    assert _table(section, "slot") == optimizer["slots"]


@each_optimizer
def test_hyperparameters_are_those_of_the_registry(optimizer):
    section = SECTIONS[optimizer["name"]]
    dynamic = [optimizer["dynamic_input"]] if optimizer["dynamic_input"] else []

    assert _table(section, "hyperparameter") == [
        *optimizer["hyperparameters"],
        *dynamic,
    ]


@each_optimizer
def test_formula_is_that_of_the_source(optimizer):
    block = re.search(r"```text\n(.*?)```", SECTIONS[optimizer["name"]], re.S)
    lines = [line for line in block[1].splitlines() if line]

    assert lines == _formula_of_the_source(optimizer["name"])


@each_optimizer
def test_ops_are_those_that_run(optimizer):
    section = SECTIONS[optimizer["name"]]

    ops = re.findall(r"`((?:Load|Retrieve)TPUEmbedding\w+)`", section)

    name = f"TPUEmbedding{optimizer['op_name']}Parameters"
    expected = [f"Load{name}", f"Retrieve{name}"]
    assert ops == (expected if optimizer["op_name"] else [])
    assert ("- Ops: LoadAll, RetrieveAll." in section) == (not ops)


@each_optimizer
def test_what_is_our_reading_needs_the_option(optimizer):
    how_sure = re.search(
        r"^- How sure: (.*?)\. ", SECTIONS[optimizer["name"]], re.M | re.S
    )[1]
    levels = {part.split()[0] for part in how_sure.split("; ")}
    assert levels < {"certain", "likely", "our"}
    name, dynamic_input = optimizer["name"], optimizer["dynamic_input"]
    table = configs.table(
        dimension=1,
        optimizer=name,
        hyperparameters=dict.fromkeys(optimizer["hyperparameters"], 1),
    )
    if dynamic_input:
        message = getattr(table.optimization_parameters, name)
        getattr(message, dynamic_input).tag = 0
        getattr(message, dynamic_input).SetInParent()

    try:
        tpuless.Simulator(configs.config(table))
        runs = True
    except NotImplementedError:
        runs = False

    assert runs == ("our" not in levels)
