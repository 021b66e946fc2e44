# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Every optimizer in its forms, and steps of one table with it."""

from __future__ import annotations

import contextlib
import dataclasses

import configs
import numpy as np
import steps
from reference import Reference
from tpuless import _engine

# A float32 is off by at most this part of itself when it is rounded.
UNIT = 2.0**-24

# Name -> slot variables, in load order.
SLOTS = {o["name"]: o["slots"] for o in _engine.optimizers()}

# What slots may hold: the others are sums of squares and the like.
_SIGNED = {"momenta", "linears", "mom", "m"}
# The squared mean of gradients is below the mean of their squares.
_MEAN = "mg"


@dataclasses.dataclass(frozen=True)
class Variant:
    """An optimizer with hyperparameters."""

    optimizer: str
    form: str = ""
    hyperparameters: dict = dataclasses.field(default_factory=dict)

    def __str__(self):
        return f"{self.optimizer} {self.form}".strip()

    @property
    def slots(self) -> list[str]:
        """The names of the slot variables."""
        return SLOTS[self.optimizer]

    @property
    def learning_rate(self) -> float:
        """A constant one that suits the optimizer; it may be a step."""
        return 20.0 if self.optimizer == "frequency_estimator" else 0.125

    @property
    def inputs(self) -> list[float]:
        """Values of dynamic inputs, as Send takes them."""
        return [7.0] if "step_counter" in self.hyperparameters else []

    @property
    def is_lazy(self) -> bool:
        """Whether a step leaves rows alone that it has no ids of."""
        return not any("non_lazy" in name for name in self.hyperparameters)

    def with_form(self, **hyperparameters) -> Variant:
        """Returns this with other hyperparameters."""
        merged = {**self.hyperparameters, **hyperparameters}
        return dataclasses.replace(self, hyperparameters=merged)


_MOMENTUM = {"momentum": 0.875, "exponent": 2.0, "beta2": 1.0, "epsilon": 0.25}
_FTRL = {"l1": 0.0625, "l2": 0.5, "lr_power": -0.5, "beta": 1.0}
_ADAM = {"beta1": 0.875, "beta2": 0.96875, "epsilon": 0.125}
_LION = {"beta1": 0.875, "beta2": 0.96875}
_RMS = {"rho": 0.875, "momentum": 0.5, "epsilon": 0.0625}
_PROXIMAL = {"l1": 0.0625, "l2": 0.5}
_AWARE = {
    "probability_exponent": 0.5,
    "max_lr_multiplier": 1.75,
    "accumulator_decay": 0.875,
    "initial_accumulator_value": 0.125,
    "step_counter": 0,
}

VARIANTS = [
    Variant("stochastic_gradient_descent"),
    Variant("adagrad"),
    Variant("adagrad_momentum", "", _MOMENTUM),
    Variant(
        "adagrad_momentum",
        "decaying Nesterov",
        {**_MOMENTUM, "exponent": 3.0, "beta2": 0.875, "use_nesterov": True},
    ),
    Variant("bounded_adagrad"),
    Variant(
        "bounded_adagrad",
        "bounded",
        {
            "max_accumulator": 1.5,
            "max_var_update": 0.0625,
            "update_accumulator_first": True,
        },
    ),
    Variant("frequency_aware_adagrad", "", _AWARE),
    Variant(
        "frequency_aware_adagrad",
        "regularized",
        {
            **_AWARE,
            "l1_regularization_strength": 0.25,
            "l2_regularization_strength": 0.5,
        },
    ),
    Variant("proximal_adagrad"),
    Variant("proximal_adagrad", "l1 l2", _PROXIMAL),
    Variant("ftrl", "", _FTRL),
    Variant("ftrl", "multiplied", {**_FTRL, "multiply_linear_by_lr": True}),
    Variant("ftrl", "power", {**_FTRL, "lr_power": -0.25}),
    Variant("adam", "", _ADAM),
    Variant("adam", "sum inside", {**_ADAM, "use_sum_inside_sqrt": True}),
    Variant("adam", "non-lazy", {**_ADAM, "use_non_lazy_adam": True}),
    Variant("online_yogi", "", {**_PROXIMAL, "beta2": 0.875}),
    Variant("proximal_yogi", "", _ADAM),
    Variant("proximal_yogi", "l1 l2", {**_ADAM, **_PROXIMAL}),
    Variant("lion", "", _LION),
    Variant("lion", "non-lazy", {**_LION, "use_non_lazy_lion": True}),
    Variant("momentum", "", {"momentum": 0.875}),
    Variant("momentum", "Nesterov", {"momentum": 0.875, "use_nesterov": True}),
    Variant("rms_prop", "", _RMS),
    Variant("centered_rms_prop", "", _RMS),
    Variant("adadelta", "", {"rho": 0.875, "epsilon": 0.0625}),
    Variant(
        "frequency_estimator",
        "",
        {"tau": 0.25, "max_delta": 16.0, "outlier_threshold": 2.0},
    ),
    Variant("assign"),
]


def dimension_of(variant) -> int:
    """Returns one that needs vectors of all lengths, where that is allowed."""
    return 1 if variant.optimizer == "frequency_estimator" else 29


def variables(rng, variant, num_rows):
    """Returns weights and slot variables with which formulas are harmless."""
    shape = [num_rows, dimension_of(variant)]
    result = [rng.standard_normal(shape, np.float32)]
    for slot in variant.slots:
        values = rng.uniform(0.5, 2, shape)
        if slot in _SIGNED:
            values *= rng.choice([-1, 1], shape)
        elif slot == _MEAN:
            values = rng.uniform(-0.5, 0.5, shape)
        result.append(values.astype(np.float32))
    return result


NUM_ROWS = 9
# Ids of five samples, and which rows those are.
ROWS = [[1], [8, 4], [], [6], [0]]
TOUCHED = [0, 1, 4, 6, 8]
OTHERS = [2, 3, 5, 7]


def draw(variant, seed=3, rows=ROWS):
    """Returns variables of a table, and gradients, none of them 0."""
    rng = np.random.default_rng(seed)
    shape = [len(rows), dimension_of(variant)]
    gradients = rng.uniform(0.25, 2, shape) * rng.choice([-1, 1], shape)
    return (
        variables(rng, variant, NUM_ROWS),
        gradients.astype(np.float32),
    )


def config(variant, num_rows, batch_size, **table):
    """Returns a configuration of one table; `table` as of configs.table()."""
    return configs.config(
        configs.table(
            vocabulary_size=num_rows,
            dimension=dimension_of(variant),
            optimizer=variant.optimizer,
            hyperparameters=variant.hyperparameters,
            **{"learning_rate": variant.learning_rate, **table},
        ),
        batch_size=batch_size,
    )


def run(backend, variant, initial, rows, *gradients, **table):
    """Returns a table's variables after steps on the same ids.

    Args:
      backend: The class of the engine.
      variant: The optimizer.
      initial: Weights, then slot variables.
      rows: The ids of each sample.
      *gradients: Of each step.
      **table: More arguments of configs.table().
    """
    serialized = config(variant, len(initial[0]), len(rows), **table)
    with contextlib.closing(
        backend(serialized, experimental_optimizers=True)
    ) as engine:
        engine.load_whole([initial])
        for gradient in gradients:
            steps.step(engine, rows, gradient, variant.inputs)
        (result,) = engine.retrieve_whole([len(variant.slots)])
    return result


def run_reference(variant, initial, rows, *gradients, **table):
    """Returns what run() does, in float64."""
    engine = Reference(config(variant, len(initial[0]), len(rows), **table))
    engine.load(0, initial)
    for gradient in gradients:
        steps.step(engine, rows, gradient, variant.inputs)
    return engine.retrieve(0)


def assert_same_bits(actual, expected):
    """Compares lists of variables, bit for bit."""
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one.view("i4"), other.view("i4"))


def rounding(states):
    """Returns how far a float32 engine may be off after many steps.

    Slots are sums or decaying means: an old error stays as it is, or shrinks.
    Each of n steps rounds in at most four operations what is of a variable's
    own size X (a product, one more in a mean, the sum, and in what is rebuilt
    the division), all else being part of its change. So a variable is off by
    4 n X units, and that part of the slots, at most n units after a root, is
    also a part by which the steps' changes are off: n P units for the path of
    length P that they make.

    Args:
      states: The variable before all steps, and after each of them.
    """
    largest = np.abs(states).max()
    path = np.abs(np.diff(states, axis=0)).sum(0)
    return (len(states) - 1) * UNIT * (4 * largest + path)
