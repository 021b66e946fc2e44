# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Thousands of steps of every optimizer, against the oracle at each of them."""

import configs
import numpy as np
import optimizers
import pytest
import raw_ops
import steps
from reference_optimizers import TableUpdate

pytestmark = pytest.mark.timeout(120)

_NUM_STEPS = 2000
# No formula rounds more often in a step.
_ROUNDINGS = 16


def _gradients(rng, variant, initial):
    """Returns gradients of all steps, and changes `initial` to suit them.

    All are multiples of 1/8, none of them 0, and variables multiples of 1/16:
    squares of gradients, and what Yogi adds of them to its slot, are exact, so
    that no rounding decides the sign that it takes. Gradients of Lion, and
    weights of what takes their sign, stay on one side of zero.
    """
    for variable in initial:
        variable[:] = np.round(variable * 16) / 16
    shape = [_NUM_STEPS, *initial[0].shape]
    sign = rng.choice([-1, 1], shape)
    if variant.optimizer == "lion":
        sign = rng.choice([-1, 1], shape[1:])
        initial[1][:] = np.abs(initial[1]) * sign
    if "regularized" in variant.form:
        initial[0][:] = np.abs(initial[0]) + 1
    return (rng.integers(1, 17, shape) / 8 * sign).astype(np.float32)


def _config(variant):
    rate = variant.learning_rate
    return optimizers.config(
        variant,
        num_rows=2,
        batch_size=2,
        learning_rate=rate if rate > 1 else 2.0**-7,
        clip_weights=(0.25, 8.0) if "regularized" in variant.form else None,
    )


class _Oracle:
    """Takes steps in float64 from any state, a list of variables."""

    def __init__(self, config, variant):
        (table,) = configs.parse(config).table_descriptor
        self._update = TableUpdate(table.optimization_parameters)
        self._inputs = self._update.inputs(variant.inputs)

    def step(self, state, gradient):
        weights, slots = self._update(
            state[0], state[1:], np.float64(gradient), self._inputs
        )
        return [weights, *slots]


@pytest.mark.parametrize("variant", optimizers.VARIANTS, ids=str)
def test_errors_of_many_steps_stay_within_those_of_rounding(variant):
    """Each step alone, and all of them.

    A step rounds numbers that are no larger than X, the largest that the
    variable ever is: it adds an error of _ROUNDINGS * UNIT * X at most.

    Of all together, optimizers.rounding() speaks.
    """
    rng = np.random.default_rng(2)
    initial = optimizers.variables(rng, variant, 2)
    gradients = _gradients(rng, variant, initial)
    config = _config(variant)
    oracle = _Oracle(config, variant)
    engine = raw_ops.SimulatorBackend(
        config, num_threads=1, experimental_optimizers=True
    )
    engine.load_whole([initial])
    states = [[np.float64(variable) for variable in initial]]
    expected = [states[0]]

    for gradient in gradients:
        steps.step(engine, [[0], [1]], gradient, variant.inputs)
        states.append([np.float64(one) for one in engine.retrieve(0)])
        expected.append(oracle.step(expected[-1], gradient))
    engine.close()

    after_one = [
        oracle.step(state, gradient)
        for state, gradient in zip(states, gradients)
    ]
    for k, name in enumerate(["weights", *variant.slots]):
        actual = np.stack([state[k] for state in states])
        one = np.stack([state[k] for state in after_one])
        all_of_them = np.stack([state[k] for state in expected])
        largest = np.abs(all_of_them).max()
        np.testing.assert_allclose(
            actual[1:],
            one,
            rtol=0,
            atol=_ROUNDINGS * optimizers.UNIT * largest,
            err_msg=name,
        )
        error = np.abs(actual[-1] - all_of_them[-1])
        assert (error <= optimizers.rounding(all_of_them)).all(), name
