# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""From what a user says of tables to lists in the engine's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpuless import _arrays, _engine
from tpuless._features import FeatureShape


def read_variables(
    table: _engine.TableDescription,
    weights: Any,
    slots: Sequence[Any],
    named_slots: Mapping[str, Any],
) -> list[_arrays.Array]:
    """Returns weights and slot variables in load order, as float32.

    Raises:
      ValueError: A slot has a wrong name, none, or two values.
    """
    title = f"table '{table['name']}'"
    variables = {"weights": weights}
    if named_slots:
        variables.update(
            _order_slots(title, table["slots"], slots, named_slots)
        )
    else:
        # Should they be too many or too few, the engine says so.
        variables.update(
            (f"slot variable {i}", slot) for i, slot in enumerate(slots)
        )
    return [
        _arrays.to_float32(variable, f"{title}: {name}")
        for name, variable in variables.items()
    ]


def _order_slots(
    title: str,
    names: Sequence[str],
    slots: Sequence[Any],
    named_slots: Mapping[str, Any],
) -> dict[str, Any]:
    if len(slots) > len(names):
        raise ValueError(
            f"{title}: must have {len(names)} slot variables, "
            f"got {len(slots) + len(named_slots)}"
        )
    values = dict(zip(names, slots, strict=False))
    for name, slot in named_slots.items():
        if name not in names:
            known = f"one of {', '.join(map(repr, names))}" if names else "none"
            raise ValueError(
                f"{title}: unknown slot variable {name!r}, expected {known}"
            )
        if name in values:
            raise ValueError(
                f"{title}: slot variable {name!r} must be given once, got it "
                "by place and by name"
            )
        values[name] = slot
    for name in names:
        if name not in values:
            raise ValueError(f"{title}: slot variable {name!r} must be given")
    return {name: values[name] for name in names}


def read_combiners(
    config: _engine.ConfigDescription,
    combiners: str | Mapping[str, str] | Sequence[str],
) -> list[str]:
    """Returns one combiner a table, or the list that was given.

    Raises:
      LookupError: A key is no table's name.
    """
    names = [table["name"] for table in config["tables"]]
    if isinstance(combiners, str):
        return [combiners] * len(names)
    if not isinstance(combiners, Mapping):
        return list(combiners)
    for name in combiners:
        if name not in names:
            raise LookupError(
                f"unknown table {name!r}, expected one of "
                f"{', '.join(map(repr, names))}"
            )
    return [combiners.get(name, "sum") for name in names]


def feature_shapes(config: _engine.ConfigDescription) -> list[FeatureShape]:
    """Returns what a batch fills: features, or tables where there are none."""
    shapes = []
    for output in config["outputs"]:
        table = config["tables"][output["table"]]
        name = output["name"] if config["feature_layout"] else table["name"]
        shape = tuple(output["shape"][:-1])
        shapes.append(
            FeatureShape(output["title"], name, shape, config["batch_size"])
        )
    return shapes
