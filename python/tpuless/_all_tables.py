# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Loading and retrieving all tables by the names of their variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tpuless import _engine, _raw_ops

_NUM_AUXILIARIES = 7


def load_tables(
    config: bytes,
    tables: Mapping[str, Mapping[str, Any]],
    num_shards: int = 1,
    shard_id: int = 0,
) -> tf.Operation | None:
    """Loads a shard of every table, with LoadAllTPUEmbeddingParameters.

    It serves every optimizer, also those without a Load op of their own, and
    runs eagerly, in functions and in graphs. Either all tables are loaded or
    none.

    Args:
      config: The serialized TPUEmbeddingConfiguration of the engine.
      tables: By table name: `parameters` and each slot variable by its name,
        float32 of shape [rows of the shard, dimension].
      num_shards: How many shards the tables are loaded in.
      shard_id: Which of them this is.

    Returns:
      In a graph the operation, else None.

    Raises:
      ValueError: A table or variable is missing or unknown.
      tf.errors.OpError: As the op says; eagerly at once.
    """
    described = _engine.describe(config)["tables"]
    _check_names("table", [t["name"] for t in described], tables)
    auxiliaries: list[list[Any]] = [[] for _ in range(_NUM_AUXILIARIES)]
    parameters = []
    for table in described:
        variables = tables[table["name"]]
        _check_names(
            f"variable of table '{table['name']}'",
            ["parameters", *table["slots"]],
            variables,
        )
        parameters.append(_float_tensor(variables["parameters"]))
        slots = [_float_tensor(variables[slot]) for slot in table["slots"]]
        if table["accumulates"]:
            slots.append(tf.zeros_like(parameters[-1]))
        empty = tf.zeros([0, 0])
        for k, auxiliary in enumerate(auxiliaries):
            auxiliary.append(slots[k] if k < len(slots) else empty)
    return _raw_ops.run_op(
        "LoadAllTPUEmbeddingParameters",
        parameters=parameters,
        **{f"auxiliary{k}": each for k, each in enumerate(auxiliaries, 1)},
        config=config,
        num_shards=num_shards,
        shard_id=shard_id,
    )


def retrieve_tables(
    config: bytes, num_shards: int = 1, shard_id: int = 0
) -> dict[str, dict[str, tf.Tensor]]:
    """Retrieves a shard of every table, with RetrieveAllTPUEmbeddingParameters.

    Args:
      config: The serialized TPUEmbeddingConfiguration of the engine.
      num_shards: How many shards the tables are retrieved in.
      shard_id: Which of them this is.

    Returns:
      What `load_tables` takes.

    Raises:
      ValueError: `config` is refused.
      tf.errors.OpError: As the op says; eagerly at once.
    """
    described = _engine.describe(config)["tables"]
    count = len(described)
    outputs = _raw_ops.run_op(
        "RetrieveAllTPUEmbeddingParameters",
        NumTables=count,
        config=config,
        num_shards=num_shards,
        shard_id=shard_id,
    )
    return {
        table["name"]: {
            variable: outputs[k * count + t]
            for k, variable in enumerate(["parameters", *table["slots"]])
        }
        for t, table in enumerate(described)
    }


def _check_names(
    what: str, expected: list[str], given: Mapping[str, Any]
) -> None:
    missing = [name for name in expected if name not in given]
    if missing:
        raise ValueError(f"missing {what}: {', '.join(missing)}")
    unknown = [name for name in given if name not in expected]
    if unknown:
        raise ValueError(
            f"unknown {what}: {', '.join(unknown)}; expected one of "
            f"{', '.join(expected)}"
        )


def _float_tensor(value: Any) -> tf.Tensor:
    return tf.convert_to_tensor(value, tf.float32)
