# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Two tables that go through checkpoints of TensorFlow, by name."""

from __future__ import annotations

import configs
import numpy as np
import raw_ops
import tensorflow as tf

_OPTIMIZERS = {"user": "adam", "item": "ftrl"}

_HYPERPARAMETERS = {
    "user": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3},
    "item": {"lr_power": -0.5, "l1": 0.1},
}

# Of acceptance case A21, in all rows.
VALUES = {
    "user": {"parameters": 1, "momenta": 0.5, "velocities": 0.04},
    "item": {"parameters": 0.5, "accumulators": 0.1, "linears": 0.3},
}

_SHAPE = [4, 3]


def full(values):
    """Returns tensors of one value each, by table and variable."""
    return {
        table: {
            name: tf.fill(_SHAPE, np.float32(value))
            for name, value in variables.items()
        }
        for table, variables in values.items()
    }


def zeros():
    """Returns what is to be restored into."""
    return full({table: dict.fromkeys(VALUES[table], 0) for table in VALUES})


def checkpoint(tensors):
    """Returns tensors as variables, and the checkpoint that has them."""
    variables = {
        table: {
            name: tf.Variable(tensor, name=f"{table}/{name}")
            for name, tensor in of_table.items()
        }
        for table, of_table in tensors.items()
    }
    return variables, tf.train.Checkpoint(**variables)


class Tables:
    """This process's engine, configured."""

    def __init__(self):
        self._engine = raw_ops.RawOpsBackend(
            configs.config(
                *(
                    configs.table(
                        name,
                        *_SHAPE,
                        optimizer=optimizer,
                        hyperparameters=_HYPERPARAMETERS[name],
                    )
                    for name, optimizer in _OPTIMIZERS.items()
                )
            )
        )

    def load(self, tensors):
        """Loads tensors or variables, by table and variable."""
        for table, optimizer in _OPTIMIZERS.items():
            raw_ops.load_op(optimizer)(
                **tensors[table], table_name=table, num_shards=1, shard_id=0
            )

    def retrieve(self):
        """Returns tensors by table and variable, as the ops name them."""
        return {
            table: raw_ops.retrieve_op(optimizer)(
                table_name=table, num_shards=1, shard_id=0
            )._asdict()
            for table, optimizer in _OPTIMIZERS.items()
        }

    def train(self, *steps):
        """Takes steps, each by its number."""
        for step in steps:
            rng = np.random.default_rng(step)
            ids = rng.integers(0, _SHAPE[0], [2, 2]).astype(np.int32)
            self._engine.enqueue(
                "EnqueueTPUEmbeddingIntegerBatch", {"batch": [*ids]}
            )
            self._engine.receive()
            self._engine.send([*rng.standard_normal([2, 2, 3], np.float32)])
