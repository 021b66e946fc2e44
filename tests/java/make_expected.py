# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Trains in Python what TrainingTest.java trains, and writes down the numbers.

    python tests/java/make_expected.py

A float stands in training.json as a decimal that gives its bits back.
"""

from __future__ import annotations

import base64
import json
import pathlib
import re
import sys

import numpy as np
import tensorflow as tf
import tpuless

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATH = ROOT / "tests/java/src/test/resources/training.json"

sys.path.append(str(ROOT / "tests/python"))
import configs  # noqa: E402

_BATCH, _DIMENSION, _STEPS = 4, 3, 3

# Optimizer in Optimizer.java: field of the proto, name in ops, slots, options.
_OPTIMIZERS = {
    "SGD": (configs.SGD, "StochasticGradientDescent", [], {}),
    "ADAGRAD": ("adagrad", "Adagrad", ["accumulators"], {}),
    "ADAM": (
        "adam",
        "ADAM",
        ["momenta", "velocities"],
        {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7},
    ),
    "FTRL": (
        "ftrl",
        "FTRL",
        ["accumulators", "linears"],
        {"l1": 0.01, "l2": 0.1, "lr_power": -0.5},
    ),
}

# Case: optimizer and vocabulary size of each table, combiners of the tables,
# and whether the learning rates are dynamic.
_CASES = {
    "SGD": ([("SGD", 7)], [], False),
    "Adagrad": ([("ADAGRAD", 7)], [], False),
    "Adam": ([("ADAM", 5)], [], True),
    "FTRL": ([("FTRL", 9)], [], False),
    "two tables": ([("ADAGRAD", 8), ("ADAM", 6)], ["mean", "sqrtn"], True),
}


def make_expected() -> str:
    """Returns what training.json holds."""
    cases = {
        name: _train(seed, *case)
        for seed, (name, case) in enumerate(_CASES.items())
    }
    text = json.dumps(cases, indent=1)
    # A row of numbers is one line.
    row = re.compile(r"\[\s+([^][{}]*?)\s+\]")
    return row.sub(lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


def _train(
    seed: int,
    tables: list[tuple[str, int]],
    combiners: list[str],
    dynamic: bool,
) -> dict:
    rng = np.random.default_rng(seed)
    config = configs.config(
        *(
            configs.table(
                f"table{i}",
                vocabulary_size,
                _DIMENSION,
                optimizer=_OPTIMIZERS[optimizer][0],
                hyperparameters=_OPTIMIZERS[optimizer][3],
                learning_rate=0.3,
                tag=i if dynamic else None,
            )
            for i, (optimizer, vocabulary_size) in enumerate(tables)
        ),
        batch_size=_BATCH,
    )
    tpuless.reset()
    tf.raw_ops.ConfigureTPUEmbedding(config=config)
    loaded = [_load(rng, i, *table) for i, table in enumerate(tables)]
    steps = [
        _step(rng, config, [size for _, size in tables], combiners, dynamic)
        for _ in range(_STEPS)
    ]
    retrieved = [_retrieve(i, *table) for i, table in enumerate(tables)]
    tpuless.reset()
    return {
        "config": base64.b64encode(config).decode(),
        "combiners": combiners,
        "tables": [
            {
                "name": f"table{i}",
                "optimizer": optimizer,
                "loaded": _lists(loaded[i]),
                "retrieved": _lists(retrieved[i]),
            }
            for i, (optimizer, _) in enumerate(tables)
        ],
        "steps": steps,
    }


def _load(
    rng: np.random.Generator, table: int, optimizer: str, vocabulary_size: int
) -> list[np.ndarray]:
    """Loads a table with numbers that every optimizer takes."""
    _, op_name, slots, _ = _OPTIMIZERS[optimizer]
    shape = (vocabulary_size, _DIMENSION)
    parameters = rng.standard_normal(shape, np.float32)
    variables = {name: rng.random(shape, np.float32) + 0.1 for name in slots}
    operation = getattr(tf.raw_ops, f"LoadTPUEmbedding{op_name}Parameters")
    operation(
        parameters=parameters,
        **variables,
        num_shards=1,
        shard_id=0,
        table_name=f"table{table}",
    )
    return [parameters, *variables.values()]


def _retrieve(table: int, optimizer: str, _: int) -> list[np.ndarray]:
    op_name = _OPTIMIZERS[optimizer][1]
    operation = getattr(tf.raw_ops, f"RetrieveTPUEmbedding{op_name}Parameters")
    variables = operation(num_shards=1, shard_id=0, table_name=f"table{table}")
    variables = variables if isinstance(variables, tuple) else (variables,)
    return [variable.numpy() for variable in variables]


def _step(
    rng: np.random.Generator,
    config: bytes,
    vocabulary_sizes: list[int],
    combiners: list[str],
    dynamic: bool,
) -> dict:
    """Trains towards targets: the gradients are activations - targets."""
    lengths = [rng.integers(0, 4, _BATCH) for _ in vocabulary_sizes]
    splits = [np.int32([0, *np.cumsum(one)]) for one in lengths]
    ids = [
        rng.integers(0, size, one.sum()).astype(np.int32)
        for size, one in zip(vocabulary_sizes, lengths)
    ]
    weights = [rng.random(one.sum(), np.float32) + 0.5 for one in lengths]
    shape = (_BATCH, _DIMENSION)
    targets = [rng.standard_normal(shape, np.float32) for _ in vocabulary_sizes]
    rates = [rng.random(dtype=np.float32) for _ in vocabulary_sizes]
    rates = rates if dynamic else []

    tf.raw_ops.EnqueueTPUEmbeddingRaggedTensorBatch(
        sample_splits=splits,
        embedding_indices=ids,
        aggregation_weights=weights,
        mode_override="unspecified",
        table_ids=list(range(len(ids))),
        combiners=combiners,
    )
    activations = tf.raw_ops.RecvTPUEmbeddingActivations(
        num_outputs=len(ids), config=config
    )
    tpuless.SendTPUEmbeddingGradients.create(
        tpuless.Ops.create().scope(),
        [one - target for one, target in zip(activations, targets)],
        rates,
        config,
    )
    return {
        "sampleSplits": _lists(splits),
        "embeddingIndices": _lists(ids),
        "aggregationWeights": _lists(weights),
        "targets": _lists(targets),
        "learningRates": [float(rate) for rate in rates],
        "activations": _lists([one.numpy() for one in activations]),
    }


def _lists(arrays: list[np.ndarray]) -> list:
    return [array.tolist() for array in arrays]


if __name__ == "__main__":
    PATH.write_text(make_expected(), encoding="utf-8")
