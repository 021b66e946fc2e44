# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's own embedding tables for flights.py, and when two runs agree.

Two correct runs from one start do not stay equal to the last bit: float32
rounds, and nobody fixes the order in which the gradients of a row are added.
How far may they drift apart? Let u = 2^-24 be the unit roundoff. From equal
weights w and accumulators a, a step with the gradients g_1 ... g_n of a row
has, to first order in u, these errors (a is the new one on the right):

    s = g_1 + ... + g_n    u e with e = sqrt(n) (|g_1| + ... + |g_n|)
    a += s^2               u (2 a + 2 |s| e)
    w -= lr s / sqrt(a)    u (|w| + lr / sqrt(a) (4 |s| + e))

The first is the statistical size of n - 1 rounding errors that fall either
way (the worst case has n - 1 in place of sqrt(n)). Two runs differ by twice
as much, in each step. What later steps make of it has no useful bound in
advance, so it is measured: a third trainer, the rounding twin, is
TensorFlow's with each update moved by just that much, up or down by lot.
How far the twin drifts from TensorFlow is what rounding alone can do, and
tpuless may drift `SAFETY` times as far. tpuless has no part in the measure.
docs/demo.md has the derivation at length.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

UNIT_ROUNDOFF = 2.0**-24
SAFETY = 8  # The twin is one draw of chance, tpuless would be another.

Tables = dict[str, np.ndarray]  # Name of a table to its weights.


class VariableTables:
    """Embedding tables in variables, trained by TensorFlow's sparse Adagrad."""

    def __init__(
        self, start: Tables, learning_rate: float, accumulator: float
    ) -> None:
        """Copies the start, and fills the accumulators."""
        self.learning_rate = learning_rate
        self.weights = {name: tf.Variable(w) for name, w in start.items()}
        self.accumulators = {
            name: tf.Variable(tf.fill(w.shape, accumulator))
            for name, w in start.items()
        }

    def lookup(self, ids: list[tf.Tensor], mode: str) -> list[tf.Tensor]:
        """Returns the activations [batch, dimension] of each feature."""
        del mode  # Variables serve training and inference alike.
        return [
            tf.nn.embedding_lookup(w, feature_ids)
            for w, feature_ids in zip(self.weights.values(), ids, strict=True)
        ]

    def update(self, ids: list[tf.Tensor], gradients: list[tf.Tensor]) -> None:
        """Runs one optimizer step on each row, on the sum of its gradients."""
        for name, feature_ids, g in zip(
            self.weights, ids, gradients, strict=True
        ):
            rows, row_of_sample = tf.unique(feature_ids)
            self._adagrad(name, rows, row_of_sample, g)

    def _adagrad(
        self, name: str, rows: tf.Tensor, row_of_sample: tf.Tensor, g: tf.Tensor
    ) -> None:
        # With epsilon 0 the op is just a += s^2; w -= lr s / sqrt(a).
        tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=self.weights[name].handle,
            accum=self.accumulators[name].handle,
            lr=self.learning_rate,
            epsilon=0.0,
            grad=_sum_by_row(g, rows, row_of_sample),
            indices=rows,
        )

    def read(self) -> Tables:
        """Returns the weights of all tables."""
        return {name: w.numpy() for name, w in self.weights.items()}


class RoundingTwin(VariableTables):
    """The same with each update off by what rounding can do to it."""

    def _adagrad(
        self, name: str, rows: tf.Tensor, row_of_sample: tf.Tensor, g: tf.Tensor
    ) -> None:
        super()._adagrad(name, rows, row_of_sample, g)
        n = _sum_by_row(tf.ones_like(g), rows, row_of_sample)
        e = tf.sqrt(n) * _sum_by_row(tf.abs(g), rows, row_of_sample)
        s = tf.abs(_sum_by_row(g, rows, row_of_sample))
        a = tf.gather(self.accumulators[name], rows)
        w = tf.abs(tf.gather(self.weights[name], rows))
        rate = self.learning_rate / tf.sqrt(a)
        _move(self.accumulators[name], rows, 2 * a + 2 * s * e)
        _move(self.weights[name], rows, w + rate * (4 * s + e))


def _move(variable: tf.Variable, rows: tf.Tensor, error: tf.Tensor) -> None:
    """Moves rows by twice the error in units of u, up or down by lot."""
    lot = tf.sign(tf.random.uniform(tf.shape(error), -1, 1))
    tf.raw_ops.ResourceScatterAdd(
        resource=variable.handle,
        indices=rows,
        updates=2 * UNIT_ROUNDOFF * error * lot,
    )


def _sum_by_row(
    x: tf.Tensor, rows: tf.Tensor, row_of_sample: tf.Tensor
) -> tf.Tensor:
    return tf.math.unsorted_segment_sum(x, row_of_sample, tf.size(rows))


def loss_tolerance(
    peer: np.ndarray, twin: np.ndarray, batch_size: int
) -> np.ndarray:
    """Returns how far apart two losses of each step may lie.

    It is the drift of the twin up to that step, and the rounding of the loss
    itself, which is a sum over the batch.
    """
    drift = np.maximum.accumulate(np.abs(twin - peer))
    return SAFETY * drift + np.sqrt(batch_size) * UNIT_ROUNDOFF * peer


def check_losses(
    ours: np.ndarray, peer: np.ndarray, tolerance: np.ndarray
) -> list[str]:
    """Returns a sentence on the first step whose losses differ, if any."""
    apart = ~(np.abs(ours - peer) <= tolerance)  # Also true for NaN.
    if not apart.any():
        return []
    step = int(np.argmax(apart))
    return [
        f"step {step}: the losses must be equal within {tolerance[step]:.2g},"
        f" got {ours[step]:.8f} (tpuless) and {peer[step]:.8f} (TensorFlow)"
    ]


def check_tables(
    ours: Tables, peer: Tables, twin: Tables
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """Compares the weights of all tables.

    Returns:
        For each table the largest difference and the tolerance, and a
        sentence on each table where the first exceeds the second.
    """
    compared, sentences = {}, []
    for name in peer:
        apart = float(np.max(np.abs(ours[name] - peer[name])))
        tolerance = SAFETY * float(np.max(np.abs(twin[name] - peer[name])))
        compared[name] = apart, tolerance
        if not apart <= tolerance:
            sentences.append(
                f"table '{name}': the weights must be equal within"
                f" {tolerance:.2g}, got a difference of {apart:.2g}"
            )
    return compared, sentences
