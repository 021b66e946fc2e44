# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of engines with one table, written short."""

from __future__ import annotations

import itertools

import configs
import numpy as np

# The acceptance cases' table of 3 rows and 2 columns.
T3 = np.float32([[1, 2], [3, 4], [5, 6]])

RTOL = 2e-6
ATOL = 1e-7


def ragged(rows, weights=None, dtype=np.int32):
    """Returns the list arguments of a Ragged Enqueue op with one input.

    Args:
      rows: The ids of each sample.
      weights: Their weights, alike; by default left out.
      dtype: Of the ids and row splits.
    """
    ends = itertools.accumulate(len(row) for row in rows)
    ids = list(itertools.chain.from_iterable(rows))
    factors = list(itertools.chain.from_iterable(weights or []))
    return {
        "sample_splits": [np.array([0, *ends], dtype)],
        "embedding_indices": [np.array(ids, dtype)],
        "aggregation_weights": [np.array(factors, np.float32)],
    }


def enqueue(
    engine,
    rows,
    weights=None,
    combiner="sum",
    mode_override="unspecified",
    core=0,
):
    """Enqueues a batch for a configuration of one table, one feature."""
    engine.enqueue(
        "EnqueueTPUEmbeddingRaggedTensorBatch",
        ragged(rows, weights),
        {"table_ids": [0], "combiners": [combiner]},
        mode_override,
        core,
    )


def step(engine, rows, gradients, learning_rates=(), **kwargs):
    """Enqueues, receives and sends; returns the activations."""
    enqueue(engine, rows, **kwargs)
    (activations,) = engine.receive()
    engine.send([np.float32(gradients)], learning_rates)
    return activations


def one_table(backend, variables, batch_size=1, **table):
    """Returns an engine with one table, loaded.

    Args:
      backend: The class of the engine.
      variables: Weights, then slot variables: each rows of numbers.
      batch_size: Samples a core.
      **table: Arguments of configs.table().
    """
    variables = [np.float32(variable) for variable in variables]
    vocabulary_size, dimension = variables[0].shape
    config = configs.config(
        configs.table(
            vocabulary_size=vocabulary_size, dimension=dimension, **table
        ),
        batch_size=batch_size,
    )
    engine = backend(config)
    engine.load(0, variables)
    return engine


def one_row(backend, weight, *slots, **table):
    """Returns an engine with a table of one number, loaded."""
    variables = [[[value]] for value in (weight, *slots)]
    return one_table(backend, variables, **table)


def assert_close(actual, expected, rtol=RTOL):
    """Compares with the acceptance cases' tolerance."""
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=ATOL)


def assert_variables(engine, *expected, rtol=RTOL):
    """Compares the weights and slot variables of the only table."""
    for actual, wanted in zip(engine.retrieve(0), expected, strict=True):
        assert_close(actual.reshape(np.shape(wanted)), wanted, rtol)
