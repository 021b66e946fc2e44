# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Workloads: tables, batches of ids, gradients, hyperparameters."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """The size of tables that are all alike, and of a batch."""

    num_tables: int
    vocabulary_size: int
    dimension: int
    num_samples: int
    ids_per_sample: int

    @property
    def num_ids(self) -> int:
        """Returns the lookups in a step, over all tables."""
        return self.num_tables * self.num_samples * self.ids_per_sample


WORKLOADS = {
    "w1m64": Shape(1, 1_000_000, 64, 4096, 20),
    "w5m32": Shape(1, 5_000_000, 32, 4096, 20),
    "w200k128": Shape(1, 200_000, 128, 4096, 20),
    "t8": Shape(8, 500_000, 64, 16384, 1),
    "t26": Shape(26, 200_000, 64, 16384, 1),
    "tiny": Shape(2, 50, 8, 16, 4),
}
# Slot variables of each optimizer.
SLOTS = {"sgd": 0, "adagrad": 1, "rowwise_adagrad": 0, "adam": 2, "ftrl": 2}
LR, ADAGRAD_INIT = 0.01, 0.1
# Floats, and so are 1 - BETA1 and 1 - BETA2: all sides round them alike.
BETA1, BETA2 = 1 - 2.0**-3, 1 - 2.0**-10
ADAM_EPSILON = 1e-7
L1, L2 = 0.001, 0.001


@functools.cache
def zipf_cdf(rows):
    """Returns the unscaled cumulative frequencies of the ranks."""
    return np.cumsum(np.arange(1, rows + 1, dtype=np.float64) ** -1.05)


def make_ids(rng, dist, rows, n):
    """Returns n ids below rows.

    They are uniform; or Zipf with exponent 1.05 over all rows, its ranks
    scattered over the table; or "repeated:0.9", of which nine tenths repeat
    another one of the n.
    """
    if dist == "uniform":
        return rng.integers(0, rows, n, dtype=np.int64)
    name, _, share = dist.partition(":")
    if name == "repeated":
        distinct = max(1, round(n * (1 - float(share))))
        pool = rng.choice(rows, distinct, replace=False)
        return rng.permutation(np.resize(pool, n)).astype(np.int64)
    cdf = zipf_cdf(rows)
    rank = np.searchsorted(cdf, rng.random(n) * cdf[-1]).astype(np.int64)
    step = 2654435761 % rows
    while np.gcd(step, rows) != 1:
        step += 1
    return (np.minimum(rank, rows - 1) * step + 12345) % rows


def make_batches(shape, dist, count, seed=1):
    """Returns count batches.

    Each is a list with one [batch * ids_per_sample] array of ids for every
    table; sample s owns ids[s * L : (s + 1) * L].
    """
    tables, rows, _, batch, length = shape
    rng = np.random.default_rng(seed)
    return [
        [make_ids(rng, dist, rows, batch * length) for _ in range(tables)]
        for _ in range(count)
    ]


def make_tables(shape, seed=2):
    """Yields the initial weights of one table after another."""
    tables, rows, dim, _, _ = shape
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        yield rng.random((rows, dim), dtype=np.float32) * np.float32(
            0.1
        ) - np.float32(0.05)


def make_grads(shape, seed=3):
    """Returns the gradients of the pooled outputs, one a table."""
    tables, _, dim, batch, _ = shape
    rng = np.random.default_rng(seed)
    return [
        (rng.standard_normal((batch, dim)) * 0.1).astype(np.float32)
        for _ in range(tables)
    ]
