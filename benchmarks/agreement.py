# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Adagrad in float64, and how far float32 may be from it.

The bounds are those of rounding errors, to first order: a sum of n numbers in
any order is off by at most (n - 1) * U times the sum of their magnitudes, and
every other operation by U times its result.
"""

from __future__ import annotations

import numpy as np
from peers import make_tables
from sides import INITIAL_ACCUMULATOR, LEARNING_RATE, Side, make_ids

U = 2.0**-24
# The second order terms that the bounds leave out.
SLACK = 1.01

# A value and the bound of its error.
Bounded = tuple[np.ndarray, np.ndarray]


class Expected:
    """The rows of one table that some batches touch, and their bounds."""

    def __init__(self, weights: np.ndarray, batches: list[np.ndarray]) -> None:
        """Takes the rows from the initial weights of the whole table."""
        self.rows = np.unique(np.concatenate(batches))
        self.weights = weights[self.rows].astype(np.float64)
        # The initial value is a float32, too.
        self.accumulators = np.full_like(
            self.weights, np.float32(INITIAL_ACCUMULATOR)
        )
        self.weights_error = np.zeros_like(self.weights)
        self.accumulators_error = np.zeros_like(self.weights)

    def activations(self, ids: np.ndarray, ids_per_sample: int) -> Bounded:
        """Returns the sums over each sample's ids."""
        where = np.searchsorted(self.rows, ids)
        where = where.reshape(-1, ids_per_sample)
        value = self.weights[where].sum(1)
        magnitude = np.abs(self.weights)[where].sum(1)
        error = self.weights_error[where].sum(1)
        return value, error + (ids_per_sample - 1) * U * magnitude

    def variables(self) -> tuple[Bounded, Bounded]:
        """Returns weights and accumulators of the rows."""
        return (
            (self.weights, self.weights_error),
            (self.accumulators, self.accumulators_error),
        )

    def update(self, ids: np.ndarray, gradients: np.ndarray) -> None:
        """Makes one step with the gradients of the activations."""
        order = np.argsort(ids, kind="stable")
        rows, starts, counts = np.unique(
            ids[order], return_index=True, return_counts=True
        )
        sample = order // (len(ids) // len(gradients))
        parts = gradients.astype(np.float64)[sample]
        g = np.add.reduceat(parts, starts)
        g_error = (counts - 1)[:, None] * U
        g_error = g_error * np.add.reduceat(np.abs(parts), starts)

        at = np.searchsorted(self.rows, rows)
        # a += g * g: errors of g twice, of the product, of the sum.
        a = self.accumulators[at] + g * g
        a_error = self.accumulators_error[at] + 2 * np.abs(g) * g_error
        a_error += U * g * g + U * a
        # w -= rate * g / sqrt(a): rate, product, root, quotient, difference.
        step = np.float64(LEARNING_RATE) * g / np.sqrt(a)
        step_error = np.float64(LEARNING_RATE) * g_error / np.sqrt(a)
        step_error += np.abs(step) * (a_error / (2 * a) + 4 * U)
        w = self.weights[at] - step
        self.weights_error[at] += step_error + U * np.abs(w)
        self.weights[at] = w
        self.accumulators[at] = a
        self.accumulators_error[at] = a_error


def excess(name: str, got: np.ndarray, expected: Bounded) -> float:
    """Returns the largest error as a part of its bound, which it must keep."""
    value, error = expected
    # Where nothing rounds, the bound is 0, and so is the error.
    parts = np.abs(got - value) / np.maximum(SLACK * error, 1e-45)
    if not np.all(parts <= 1):
        raise SystemExit(
            f"{name}: errors must be within their bounds,"
            f" got {np.max(parts):.3g} times that"
        )
    return float(parts.max())


def check_steps(
    name: str, side: Side, batches: list[list[np.ndarray]]
) -> float:
    """Trains on some batches and compares all that comes out.

    Args:
      name: What to call the side.
      side: Fresh; it has trained when this returns.
      batches: As `peers.make_batches` makes them.

    Returns:
      The largest error as a part of its bound.
    """
    shape = side.shape
    expected = [
        Expected(weights, [batch[t] for batch in batches])
        for t, weights in enumerate(make_tables(shape))
    ]
    worst = 0.0
    for batch in batches:
        _, *activations = side.step(make_ids(shape, batch))
        for t, table in enumerate(expected):
            value = table.activations(batch[t], shape.ids_per_sample)
            label = f"{name}, activations of table {t}"
            worst = max(worst, excess(label, activations[t].numpy(), value))
            table.update(batch[t], side.directions[t].numpy())
    for t, initial in enumerate(make_tables(shape)):
        table = expected[t]
        untouched = np.ones(len(initial), bool)
        untouched[table.rows] = False
        initials = initial, np.full_like(initial, INITIAL_ACCUMULATOR)
        for label, got, start, value in zip(
            ("weights", "accumulators"),
            side.table(t),
            initials,
            table.variables(),
            strict=True,
        ):
            label = f"{name}, {label} of table {t}"
            worst = max(worst, excess(label, got[table.rows], value))
            if not np.array_equal(got[untouched], start[untouched]):
                raise SystemExit(f"{label}: rows without ids must not change")
    return worst
