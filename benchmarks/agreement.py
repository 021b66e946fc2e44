# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers in float64, and how far float32 may be from them.

The bounds are those of rounding errors, to first order: every operation adds U
times its result to what its operands' errors make of it, and a sum of n numbers
in any order at most (n - 1) * U times the sum of their magnitudes.
"""

from __future__ import annotations

import numpy as np
import workloads
from workloads import ADAGRAD_INIT, ADAM_EPSILON, BETA1, BETA2, L1, L2, LR

U = 2.0**-24
# What the bounds leave out: second order terms, and a library's own order of a
# formula's products and quotients, which may round once more than ours.
SLACK = 2.0


class Rounded:
    """float64 values that a float32 computation has but for some error."""

    def __init__(self, value: np.ndarray, error: np.ndarray | float = 0.0):
        """Takes values and the bounds of their errors."""
        self.value = np.asarray(value, np.float64)
        self.error = np.broadcast_to(
            np.asarray(error, np.float64), self.value.shape
        )

    def __getitem__(self, rows: np.ndarray) -> Rounded:
        """Returns some rows."""
        return Rounded(self.value[rows], self.error[rows])

    def __add__(self, other: Rounded) -> Rounded:
        """Adds, and rounds."""
        return _rounded(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Rounded) -> Rounded:
        """Subtracts, and rounds."""
        return _rounded(self.value - other.value, self.error + other.error)

    def __mul__(self, other: Rounded) -> Rounded:
        """Multiplies, and rounds."""
        return _rounded(
            self.value * other.value,
            self.error * np.abs(other.value) + other.error * np.abs(self.value),
        )

    def __truediv__(self, other: Rounded) -> Rounded:
        """Divides, and rounds; other values must not be 0."""
        quotient = self.value / other.value
        error = self.error + other.error * np.abs(quotient)
        return _rounded(quotient, error / np.abs(other.value))

    def sqrt(self) -> Rounded:
        """Returns the rounded root of values > 0, or of exact zeros."""
        root = np.sqrt(self.value)
        safe = np.where(root > 0, root, 1.0)
        return _rounded(root, self.error / (2 * safe))

    def clip(self, limit: float) -> Rounded:
        """Returns what is between -limit and limit; that rounds nothing."""
        return Rounded(np.clip(self.value, -limit, limit), self.error)


def _rounded(value: np.ndarray, error: np.ndarray) -> Rounded:
    return Rounded(value, error + U * np.abs(value))


def _float(value: float) -> Rounded:
    """Returns a hyperparameter, which is a float32 everywhere."""
    return Rounded(np.float64(np.float32(value)))


def update(
    optimizer: str, step: int, g: Rounded, w: Rounded, slots: list[Rounded]
) -> tuple[Rounded, list[Rounded]]:
    """Returns weights and slots after an update.

    The formulas are those of the TPU embedding's optimizers: Adagrad without
    epsilon, lazy Adam with the bias correction in the learning rate.

    Args:
      optimizer: As `workloads.SLOTS` has it.
      step: The number of the step, from 0.
      g: Gradients of some rows.
      w: Their weights.
      slots: Their slot variables.
    """
    rate = _float(LR)
    if optimizer == "sgd":
        return w - rate * g, []
    if optimizer == "adagrad":
        a = slots[0] + g * g
        return w - rate * g / a.sqrt(), [a]
    if optimizer == "adam":
        m = _float(BETA1) * slots[0] + _float(1 - BETA1) * g
        v = _float(BETA2) * slots[1] + _float(1 - BETA2) * g * g
        t = step + 1
        # Powers, a root, a product and a quotient of floats; the powers' errors
        # weigh more the nearer they are to 1.
        exact = LR * np.sqrt(1 - BETA2**t) / (1 - BETA1**t)
        weight = 4 + 2 * BETA2**t / (1 - BETA2**t)
        rate = Rounded(exact, weight * U * exact)
        return w - rate * m / (v.sqrt() + _float(ADAM_EPSILON)), [m, v]
    a, linear = slots
    new = a + g * g
    linear = linear + (g - (new.sqrt() - a.sqrt()) / rate * w)
    divisor = new.sqrt() / rate + _float(2 * L2)
    limit = float(np.float32(L1))
    return (linear.clip(limit) - linear) / divisor, [new, linear]


INITIAL_SLOTS = {
    "sgd": [],
    "adagrad": [ADAGRAD_INIT],
    "adam": [0.0, 0.0],
    "ftrl": [ADAGRAD_INIT, 0.0],
}


class Expected:
    """The rows of one table that some batches touch."""

    def __init__(
        self, optimizer: str, weights: np.ndarray, batches: list[np.ndarray]
    ) -> None:
        """Takes the rows from the initial weights of the whole table."""
        self.optimizer = optimizer
        self.rows = np.unique(np.concatenate(batches))
        self.num_steps = 0
        self.weights = Rounded(weights[self.rows])
        self.slots = [
            Rounded(np.full(self.weights.value.shape, np.float32(value)))
            for value in INITIAL_SLOTS[optimizer]
        ]

    def activations(self, ids: np.ndarray, ids_per_sample: int) -> Rounded:
        """Returns the sums over each sample's ids."""
        where = np.searchsorted(self.rows, ids).reshape(-1, ids_per_sample)
        each = self.weights[where]
        error = (ids_per_sample - 1) * U * np.abs(each.value).sum(1)
        return Rounded(each.value.sum(1), each.error.sum(1) + error)

    def step(self, ids: np.ndarray, gradients: np.ndarray) -> None:
        """Makes one step with the gradients of the activations."""
        order = np.argsort(ids, kind="stable")
        rows, starts, counts = np.unique(
            ids[order], return_index=True, return_counts=True
        )
        sample = order // (len(ids) // len(gradients))
        parts = gradients.astype(np.float64)[sample]
        error = (counts - 1)[:, None] * U
        error = error * np.add.reduceat(np.abs(parts), starts)
        g = Rounded(np.add.reduceat(parts, starts), error)
        at = np.searchsorted(self.rows, rows)
        weights, slots = update(
            self.optimizer,
            self.num_steps,
            g,
            self.weights[at],
            [slot[at] for slot in self.slots],
        )
        self.weights = _replaced(self.weights, at, weights)
        self.slots = [
            _replaced(old, at, new)
            for old, new in zip(self.slots, slots, strict=True)
        ]
        self.num_steps += 1


def _replaced(old: Rounded, at: np.ndarray, new: Rounded) -> Rounded:
    value, error = old.value.copy(), old.error.copy()
    value[at], error[at] = new.value, new.error
    return Rounded(value, error)


def excess(got: np.ndarray, expected: Rounded) -> float:
    """Returns the largest error as a part of its bound."""
    # Where nothing rounds, the bound is 0, and so is the error.
    bound = np.maximum(SLACK * expected.error, 1e-45)
    return float(np.max(np.abs(got - expected.value) / bound))


def check_steps(
    side, optimizer: str, batches: list[list[np.ndarray]]
) -> dict[str, float]:
    """Trains on some batches and compares all that comes out.

    Args:
      side: A fresh `peers.Side`; it has trained when this returns.
      optimizer: What it trains with.
      batches: As `workloads.make_batches` makes them.

    Returns:
      The largest error of activations and of weights as a part of its bound,
      which is 1 at most where the side computes what it should. Rows that no
      batch touches count as infinitely wrong unless they are as they were.
    """
    shape = side.shape
    initial = list(workloads.make_tables(shape))
    expected = [
        Expected(optimizer, weights, [batch[t] for batch in batches])
        for t, weights in enumerate(initial)
    ]
    gradients = workloads.make_grads(shape)
    worst = {"activations": 0.0, "weights": 0.0}
    for batch in batches:
        out = side.step(side.prepare(batch))
        for t, each in enumerate(expected):
            want = each.activations(batch[t], shape.ids_per_sample)
            worst["activations"] = max(
                worst["activations"], excess(np.asarray(out[t]), want)
            )
            each.step(batch[t], gradients[t])
    for t, each in enumerate(expected):
        weights = side.table(t)
        error = excess(weights[each.rows], each.weights)
        untouched = np.ones(len(weights), bool)
        untouched[each.rows] = False
        if not np.array_equal(weights[untouched], initial[t][untouched]):
            error = float("inf")
        worst["weights"] = max(worst["weights"], error)
    return worst
