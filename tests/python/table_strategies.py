# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for tables and their optimizers.

All numbers are small multiples of powers of two, see strategies.py.
"""

from __future__ import annotations

import configs
import numpy as np
import requires
from hypothesis import strategies as st
from reference_optimizers import OPTIMIZERS

_RATES = st.sampled_from([0.0625, 0.125, 0.5])


def _rms_prop(epsilons):
    return st.fixed_dictionaries(
        {
            "rho": st.sampled_from([0.5, 0.875]),
            "momentum": st.sampled_from([0.0, 0.5]),
            "epsilon": st.sampled_from(epsilons),
        }
    )


AWARE = "frequency_aware_adagrad"

# Those that take the sign of what gradients add to.
_SIGN_TAKERS = {"lion", "online_yogi", "proximal_yogi"}

HYPERPARAMETERS = {
    "stochastic_gradient_descent": st.just({}),
    "adagrad": st.just({}),
    "adagrad_momentum": st.fixed_dictionaries(
        {
            "momentum": st.sampled_from([0.0, 0.5, 0.875]),
            "use_nesterov": st.booleans(),
            "exponent": st.sampled_from([1.0, 2.0, 3.0]),
            "beta2": st.sampled_from([0.5, 0.96875, 1.0]),
            "epsilon": st.sampled_from([0.0, 0.125]),
        }
    ),
    "bounded_adagrad": st.fixed_dictionaries(
        {
            "update_accumulator_first": st.booleans(),
            "max_var_update": st.sampled_from([0.0, 0.125]),
            "max_accumulator": st.sampled_from([0.0, 1.5]),
        }
    ),
    AWARE: st.fixed_dictionaries(
        {
            "l1_regularization_strength": st.sampled_from([0.0, 0.25]),
            "l2_regularization_strength": st.sampled_from([0.0, 0.5]),
            "probability_exponent": st.sampled_from([0.0, 0.25, 0.5, 1.0]),
            "max_lr_multiplier": st.sampled_from([1.5, 4.0]),
            "accumulator_decay": st.sampled_from([0.5, 1.0]),
            "initial_accumulator_value": st.sampled_from([0.125, 1.0]),
        }
    ),
    "adam": st.fixed_dictionaries(
        {
            "beta1": st.sampled_from([0.0, 0.5, 0.875]),
            "beta2": st.sampled_from([0.5, 0.96875]),
            "epsilon": st.sampled_from([0.125, 0.5]),
            "use_non_lazy_adam": st.booleans(),
            "use_sum_inside_sqrt": st.booleans(),
        }
    ),
    "ftrl": st.fixed_dictionaries(
        {
            "l1": st.sampled_from([0.0, 0.25]),
            "l2": st.sampled_from([0.0, 0.5]),
            "lr_power": st.sampled_from([-0.5, -0.25, 0.0]),
            "beta": st.sampled_from([0.0, 1.0]),
            "multiply_linear_by_lr": st.booleans(),
        }
    ),
    "lion": st.fixed_dictionaries(
        {
            "beta1": st.sampled_from([0.0, 0.5, 0.875]),
            "beta2": st.sampled_from([0.0, 0.5, 1.0]),
            "use_non_lazy_lion": st.booleans(),
        }
    ),
    "rms_prop": _rms_prop([0.0, 0.0625]),
    # Its root is of a difference, which may be small: by how much it is off
    # the epsilon must bound.
    "centered_rms_prop": _rms_prop([0.0625, 0.25]),
    "adadelta": st.fixed_dictionaries(
        {
            "rho": st.sampled_from([0.5, 0.875]),
            "epsilon": st.sampled_from([0.0, 0.0625]),
        }
    ),
    "proximal_adagrad": st.fixed_dictionaries(
        {
            "l1": st.sampled_from([0.0, 0.25]),
            "l2": st.sampled_from([0.0, 0.5]),
        }
    ),
    "online_yogi": st.fixed_dictionaries(
        {
            "l1": st.sampled_from([0.0, 0.25]),
            "l2": st.sampled_from([0.0, 0.5]),
            "beta2": st.sampled_from([0.5, 0.875]),
        }
    ),
    "proximal_yogi": st.fixed_dictionaries(
        {
            "l1": st.sampled_from([0.0, 0.25]),
            "l2": st.sampled_from([0.0, 0.5]),
            "beta1": st.sampled_from([0.0, 0.5, 0.875]),
            "beta2": st.sampled_from([0.5, 0.875]),
            "epsilon": st.sampled_from([0.125, 0.5]),
        }
    ),
    "assign": st.just({}),
    "momentum": st.fixed_dictionaries(
        {
            "momentum": st.sampled_from([0.0, 0.5, 0.875]),
            "use_nesterov": st.booleans(),
        }
    ),
    "frequency_estimator": st.fixed_dictionaries(
        {
            "tau": st.just(0.25),
            "max_delta": st.just(16.0),
            "outlier_threshold": st.just(2.0),
        }
    ),
}


def grid(rng, shape, low, high, parts=8):
    """Returns float32 numbers k / parts with low <= k <= high."""
    return (rng.integers(low, high + 1, shape) / parts).astype(np.float32)


def needs_exact_sums(table):
    """Returns whether a formula jumps where a gradient is a little off.

    If so, ids combine by 'sum': gradients of rows are multiples of 2^-5 then,
    and rounding decides nothing.
    """
    parameters = table.optimization_parameters
    return parameters.simulated_quantization.enabled or (
        parameters.WhichOneof("parameters") in _SIGN_TAKERS
    )


def _must_accumulate(hyperparameters):
    return (
        hyperparameters.get("use_non_lazy_adam", False)
        or hyperparameters.get("use_non_lazy_lion", False)
        # Each update by halves costs the momenta of Lion a bit.
        or (
            "use_non_lazy_lion" in hyperparameters
            and hyperparameters["beta2"] == 0.5
        )
    )


@st.composite
def tables(draw, name, num_features, rate_tag, step_tag):
    """Draws a table_descriptor.

    Args:
      draw: Hypothesis's.
      name: Of the table.
      num_features: Of the table.
      rate_tag: The tag of a dynamic learning rate, or None.
      step_tag: The tag of a step counter.
    """
    known = requires.OPTIMIZERS & {*HYPERPARAMETERS}
    optimizer = draw(st.sampled_from(sorted(known)))
    hyperparameters = draw(HYPERPARAMETERS[optimizer])
    dimension = draw(st.sampled_from([1, 2, 7, 8, 9, 17]))
    if optimizer == "frequency_estimator":
        dimension, rate_tag = 1, None
    accumulate = draw(st.booleans()) or _must_accumulate(hyperparameters)
    limits = st.sampled_from([None, (-0.5, 1.0), (None, 0.75), (-0.25, None)])
    clip_weights = draw(limits)
    clip_gradients = draw(limits) if accumulate else None
    if optimizer == AWARE:
        hyperparameters["step_counter"] = step_tag
        if hyperparameters["l1_regularization_strength"]:
            # It takes the sign of the weights: they stay above 0.
            clip_weights = (0.25, 8.0)
    if optimizer in ("online_yogi", "proximal_yogi") and accumulate:
        # Their squares stay exact, too: multiples of 2^-10 up to 1.
        clip_gradients = draw(st.sampled_from([(-0.5, 1.0), (-1.0, 0.75)]))
    quantization, weight_decay = None, draw(st.sampled_from([0.0, 0.125]))
    if optimizer in (configs.SGD, "assign") and not weight_decay:
        # Rounding to buckets jumps: only where the weights stay exact.
        quantization = draw(st.sampled_from([None, (-1.0, 1.0, 5)]))
    return configs.table(
        name,
        draw(st.integers(1, 12)),
        dimension,
        num_features,
        optimizer=optimizer,
        hyperparameters=hyperparameters,
        learning_rate=draw(_RATES),
        tag=rate_tag,
        clip_weights=clip_weights,
        clip_gradients=clip_gradients,
        weight_decay=weight_decay,
        decay_times_learning_rate=draw(st.booleans()),
        accumulate=accumulate,
        quantization=quantization,
    )


def variables(rng, table):
    """Returns a table's weights and slot variables."""
    parameters = table.optimization_parameters
    shape = [table.vocabulary_size, table.dimension]
    slots, _ = OPTIMIZERS[parameters.WhichOneof("parameters")]
    positive = parameters.clipping_limits.lower.value > 0
    # Slots of 0.5 to 2: as an accumulator, far from a division by 0. The mean
    # of gradients is small enough for the mean of their squares.
    return [grid(rng, shape, 2 if positive else -16, 16)] + [
        grid(rng, shape, *((-4, 4) if slot == "mg" else (4, 16)))
        for slot in slots
    ]
