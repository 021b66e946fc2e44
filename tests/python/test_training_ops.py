# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Training beside TensorFlow's own training ops, where it has the same one."""

import contextlib

import numpy as np
import optimizers
import pytest
import raw_ops
import steps
import tensorflow as tf
from optimizers import Variant

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)

_NUM_STEPS = 100
_NUM_ROWS = 7
_NUM_SAMPLES = 5
_RATE = 2.0**-5


def _dense(gradients, ids):
    """Returns the gradients of all rows, those without ids being 0."""
    return tf.scatter_nd(
        ids[:, np.newaxis],
        gradients,
        [_NUM_ROWS, gradients.shape[1]],
    )


def _gradient_descent(variables, gradients, ids, h):
    tf.raw_ops.ResourceApplyGradientDescent(
        var=variables[0].handle, alpha=_RATE, delta=_dense(gradients, ids)
    )


def _sparse_adagrad(variables, gradients, ids, h):
    tf.raw_ops.ResourceSparseApplyAdagrad(
        var=variables[0].handle,
        accum=variables[1].handle,
        lr=_RATE,
        grad=gradients,
        indices=ids,
    )


def _sparse_adagrad_v2(variables, gradients, ids, h):
    tf.raw_ops.ResourceSparseApplyAdagradV2(
        var=variables[0].handle,
        accum=variables[1].handle,
        lr=_RATE,
        epsilon=0.0,
        grad=gradients,
        indices=ids,
    )


def _adagrad(variables, gradients, ids, h):
    tf.raw_ops.ResourceApplyAdagrad(
        var=variables[0].handle,
        accum=variables[1].handle,
        lr=_RATE,
        grad=_dense(gradients, ids),
    )


def _adam(variables, gradients, ids, h):
    tf.raw_ops.ResourceApplyAdam(
        var=variables[0].handle,
        m=variables[1].handle,
        v=variables[2].handle,
        # The powers correct the bias: not at all, if they are 0.
        beta1_power=0.0,
        beta2_power=0.0,
        lr=_RATE,
        beta1=h["beta1"],
        beta2=h["beta2"],
        epsilon=h["epsilon"],
        grad=_dense(gradients, ids),
    )


def _sparse_ftrl(variables, gradients, ids, h):
    tf.raw_ops.ResourceSparseApplyFtrlV2(
        var=variables[0].handle,
        accum=variables[1].handle,
        linear=variables[2].handle,
        grad=gradients,
        indices=ids,
        lr=_RATE,
        l1=h["l1"],
        # The op has no beta: it adds to the divisor as an l2 does.
        l2=h["l2"] + h["beta"] / (2 * _RATE),
        l2_shrinkage=0.0,
        lr_power=h["lr_power"],
        multiply_linear_by_lr=h.get("multiply_linear_by_lr", False),
    )


def _sparse_momentum(variables, gradients, ids, h):
    tf.raw_ops.ResourceSparseApplyMomentum(
        var=variables[0].handle,
        accum=variables[1].handle,
        lr=_RATE,
        grad=gradients,
        indices=ids,
        momentum=h["momentum"],
        use_nesterov=h.get("use_nesterov", False),
    )


def _sparse_rms_prop(variables, gradients, ids, h):
    # Of rows without ids, neither this op nor the engine lets slots decay.
    tf.raw_ops.ResourceSparseApplyRMSProp(
        var=variables[0].handle,
        ms=variables[1].handle,
        mom=variables[2].handle,
        lr=_RATE,
        rho=h["rho"],
        momentum=h["momentum"],
        epsilon=h["epsilon"],
        grad=gradients,
        indices=ids,
    )


def _sparse_centered_rms_prop(variables, gradients, ids, h):
    tf.raw_ops.ResourceSparseApplyCenteredRMSProp(
        var=variables[0].handle,
        mg=variables[3].handle,
        ms=variables[1].handle,
        mom=variables[2].handle,
        lr=_RATE,
        rho=h["rho"],
        momentum=h["momentum"],
        epsilon=h["epsilon"],
        grad=gradients,
        indices=ids,
    )


def _sparse_adadelta(variables, gradients, ids, h):
    tf.raw_ops.ResourceSparseApplyAdadelta(
        var=variables[0].handle,
        accum=variables[1].handle,
        accum_update=variables[2].handle,
        lr=_RATE,
        rho=h["rho"],
        epsilon=h["epsilon"],
        grad=gradients,
        indices=ids,
    )


def _sparse_proximal_adagrad(variables, gradients, ids, h):
    tf.raw_ops.ResourceSparseApplyProximalAdagrad(
        var=variables[0].handle,
        accum=variables[1].handle,
        lr=_RATE,
        l1=h["l1"],
        l2=h["l2"],
        grad=gradients,
        indices=ids,
    )


def _ftrl(form, **hyperparameters):
    none = {"l1": 0.0, "l2": 0.0, "lr_power": -0.5, "beta": 0.0}
    return Variant("ftrl", form, {**none, **hyperparameters}), _sparse_ftrl


_ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3}
_RMS = {"rho": 0.9, "momentum": 0.9, "epsilon": 1e-3}

_CASES = [
    (Variant("stochastic_gradient_descent"), _gradient_descent),
    (Variant("adagrad"), _adagrad),
    (Variant("adagrad", "sparse"), _sparse_adagrad),
    (Variant("adagrad", "sparse V2"), _sparse_adagrad_v2),
    # Where it has neither bounds nor the old accumulator.
    (
        Variant("bounded_adagrad", "new", {"update_accumulator_first": True}),
        _sparse_adagrad_v2,
    ),
    # Without momentum, of which the op has no slot.
    (
        Variant("adagrad_momentum", "none", {"exponent": 2.0, "beta2": 1.0}),
        _sparse_adagrad_v2,
    ),
    (Variant("adam", "", {**_ADAM, "use_non_lazy_adam": True}), _adam),
    _ftrl("plain"),
    _ftrl("l1 l2", l1=0.5, l2=0.25),
    _ftrl("beta", beta=0.5),
    _ftrl("power", lr_power=-0.75, l1=0.125),
    _ftrl("multiplied", multiply_linear_by_lr=True),
    _ftrl(
        "multiplied l1 l2 beta",
        multiply_linear_by_lr=True,
        l1=0.5,
        l2=0.25,
        beta=0.5,
    ),
    (Variant("momentum", "none", {"momentum": 0.0}), _sparse_momentum),
    (Variant("momentum", "", {"momentum": 0.9}), _sparse_momentum),
    (
        Variant(
            "momentum", "Nesterov", {"momentum": 0.9, "use_nesterov": True}
        ),
        _sparse_momentum,
    ),
    (Variant("rms_prop", "", _RMS), _sparse_rms_prop),
    (
        Variant("rms_prop", "no momentum", {**_RMS, "momentum": 0.0}),
        _sparse_rms_prop,
    ),
    (Variant("centered_rms_prop", "", _RMS), _sparse_centered_rms_prop),
    (
        Variant("adadelta", "", {"rho": 0.9, "epsilon": 1e-3}),
        _sparse_adadelta,
    ),
    *(
        (
            Variant("proximal_adagrad", f"{l1} {l2}", {"l1": l1, "l2": l2}),
            _sparse_proximal_adagrad,
        )
        for l1 in (0.0, 0.125)
        for l2 in (0.0, 0.5)
    ),
]


def _batches(variant):
    """Returns ids of each sample, and gradients, of each step.

    Gradients are multiples of 1/8, so that the order of a sum does not matter.
    """
    rng = np.random.default_rng(9)
    dimension = optimizers.dimension_of(variant)
    for _ in range(_NUM_STEPS):
        rows = [
            rng.integers(0, _NUM_ROWS, rng.integers(0, 3)).tolist()
            for _ in range(_NUM_SAMPLES - 1)
        ]
        rows.append([int(rng.integers(_NUM_ROWS))])
        shape = [_NUM_SAMPLES, dimension]
        yield rows, (rng.integers(-8, 9, shape) / 8).astype(np.float32)


def _summed(rows, gradients):
    """Returns each row's gradient once, and the rows."""
    ids = np.unique([one for row in rows for one in row])
    sums = np.zeros([len(ids), gradients.shape[1]], np.float32)
    for row, gradient in zip(rows, gradients, strict=True):
        for one in row:
            sums[np.searchsorted(ids, one)] += gradient
    return sums, ids


@pytest.mark.parametrize(
    ("variant", "apply"),
    [pytest.param(*case, id=str(case[0])) for case in _CASES],
)
@both
def test_training_is_that_of_the_training_op(backend, variant, apply):
    initial = optimizers.variables(
        np.random.default_rng(10), variant, _NUM_ROWS
    )
    others = [tf.Variable(variable) for variable in initial]
    states = [initial]
    config = optimizers.config(
        variant, _NUM_ROWS, _NUM_SAMPLES, learning_rate=_RATE
    )

    with contextlib.closing(backend(config)) as engine:
        engine.load_whole([initial])
        for rows, gradients in _batches(variant):
            steps.step(engine, rows, gradients)
            states += engine.retrieve_whole([len(variant.slots)])
            apply(others, *_summed(rows, gradients), variant.hyperparameters)

    if variant.optimizer == "adagrad_momentum":
        del others[2]
    for k, other in enumerate(others):
        name = ["weights", *variant.slots][k]
        of_each_step = np.stack([np.float64(state[k]) for state in states])
        # Each of both may be off.
        bound = 2 * optimizers.rounding(of_each_step)
        assert (np.abs(of_each_step[-1] - other.numpy()) <= bound).all(), name
        assert (of_each_step[-1] != of_each_step[0]).any(), name
