# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the golden vectors: results given by an independent computation."""

from __future__ import annotations

import dataclasses
import json
import pathlib

import numpy as np

DIRECTORY = pathlib.Path(__file__).parents[1] / "golden"

# Of a float32 engine against the vectors' float64, given with them.
RTOL = 2e-5
ATOL = 2e-6


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of index.json."""

    name: str
    optimizers: tuple[str, ...]
    kinds: tuple[str, ...]
    experimental: bool  # Needs the option experimental_optimizers.


@dataclasses.dataclass
class Step:
    """One Enqueue, Recv and Send."""

    op: str
    mode_override: str
    attrs: dict
    lists: dict[str, list[np.ndarray]]
    receives: bool
    gradients: list[np.ndarray] | None  # None: no Send.
    learning_rates: list[np.float32]
    activations: list[np.ndarray]  # Expected.


@dataclasses.dataclass
class Vector:
    """One case: what goes in, and what must come out."""

    config: bytes
    tables: list[dict]  # name, optimizer, variables.
    initial: list[list[np.ndarray]]  # By table, in load order.
    steps: list[Step]
    after: dict[int, list[list[np.ndarray]]]  # Steps done -> as `initial`.


def index() -> list[Entry]:
    """Returns all cases."""
    lines = json.loads((DIRECTORY / "index.json").read_text())
    return [
        Entry(
            line["name"],
            tuple(line["tables"]),
            tuple(line["kinds"]),
            # Of Bounded Adagrad's cases, which are all marked, only this one
            # has a limit whose meaning is open.
            line["experimental"]
            and (
                "bounded_adagrad" not in line["tables"]
                or line["name"] == "bounded_adagrad_maxupdate"
            ),
        )
        for line in lines
    ]


def errors() -> list[dict]:
    """Returns the inputs that must be refused."""
    return json.loads((DIRECTORY / "errors.json").read_text())


def shardings() -> list[dict]:
    """Returns which rows each shard of a table holds."""
    return json.loads((DIRECTORY / "sharding.json").read_text())


def read(name: str) -> Vector:
    """Reads one case."""
    with np.load(DIRECTORY / f"{name}.npz") as file:
        arrays = dict(file)
    meta = json.loads(arrays["meta"].tobytes())
    steps = [
        _step(arrays, k, step, len(meta["output_shapes"]))
        for k, step in enumerate(meta["steps"])
    ]
    counts = {
        int(key.split("/")[1].removeprefix("after"))
        for key in arrays
        if key.startswith("expect64/after")
    }
    return Vector(
        config=arrays["config"].tobytes(),
        tables=meta["tables"],
        initial=_variables(arrays, "init", meta["tables"]),
        steps=steps,
        after={
            count: _variables(arrays, f"expect64/after{count}", meta["tables"])
            for count in sorted(counts)
        },
    )


def read_config(name: str) -> bytes:
    """Reads no more of a case than its configuration."""
    with np.load(DIRECTORY / f"{name}.npz") as file:
        return file["config"].tobytes()


def _variables(arrays, prefix, tables):
    return [
        [arrays[f"{prefix}/{i}/{name}"] for name in table["variables"]]
        for i, table in enumerate(tables)
    ]


def _step(arrays, k, step, num_outputs) -> Step:
    lists = {}
    for name, count in step["inputs"].items():
        tensors = [arrays[f"step{k}/{name}/{i}"] for i in range(count)]
        # The lists of an op share one type.
        dtype = np.result_type(*tensors)
        lists[name] = [tensor.astype(dtype) for tensor in tensors]
    gradients = None
    if step["backward"]:
        gradients = [arrays[f"step{k}/grad/{i}"] for i in range(num_outputs)]
    activations = []
    if step["recv"]:
        activations = [
            arrays[f"expect64/step{k}/act/{i}"] for i in range(num_outputs)
        ]
    return Step(
        op=step["enqueue_op"],
        mode_override=step["mode_override"],
        attrs=step["attrs"],
        lists=lists,
        receives=step["recv"],
        gradients=gradients,
        learning_rates=[*arrays.get(f"step{k}/learning_rates", [])],
        activations=activations,
    )
