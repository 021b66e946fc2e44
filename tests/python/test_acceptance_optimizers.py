# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance cases of single optimizers: one row, one step, known numbers."""

import configs
import numpy as np
import optimizers
import pytest
import raw_ops
import requires
import steps
import tensorflow as tf
import tpuless
from tensorflow.core.protobuf.tpu import optimization_parameters_pb2

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)


def test_bias_corrected_learning_rate():
    """Acceptance case A7."""
    rates = [
        tpuless.bias_corrected_learning_rate(0.01, step, 0.9, 0.999)
        for step in (1, 2)
    ]

    # 1 - beta2 enters.
    steps.assert_close(rates, [0.00316228, 0.00235317], rtol=2e-5)


@both
def test_adam_with_a_corrected_rate_is_that_of_the_training_op(backend):
    """Acceptance case A7."""
    beta1, beta2 = 0.9, 0.999
    hyperparameters = {"beta1": beta1, "beta2": beta2, "epsilon": 1e-3}
    engine = steps.one_row(
        backend,
        1,
        0,
        0,
        optimizer="adam",
        hyperparameters=hyperparameters,
        tag=0,
    )
    variables = [tf.Variable([[value]]) for value in (1.0, 0.0, 0.0)]
    names = ("var", "m", "v")

    for step, gradient in enumerate([0.1, -0.3, 0.2, 0.4], 1):
        rate = tpuless.bias_corrected_learning_rate(0.01, step, beta1, beta2)
        steps.step(engine, [[0]], [[gradient]], [rate])
        tf.raw_ops.ResourceApplyAdam(
            **{n: v.handle for n, v in zip(names, variables)},
            beta1_power=beta1**step,
            beta2_power=beta2**step,
            lr=0.01,
            **hyperparameters,
            grad=[[gradient]],
        )

    expected = [variable.numpy() for variable in variables]
    steps.assert_variables(engine, *expected, rtol=2e-5)


def _row(optimizer, weight, *slots, gradient=1, form="", after, **numbers):
    """Returns one line of acceptance case A22; `after` has all variables."""
    return pytest.param(
        optimizer,
        numbers,
        [weight, *slots],
        gradient,
        after,
        id=f"{optimizer} {form}".strip(),
    )


_RMS = {"rho": 0.9, "momentum": 0.9, "epsilon": 1e-10}
_BOUNDED = {"max_accumulator": 5}
_LION = {"beta1": 0.9, "beta2": 0.99}


@pytest.mark.parametrize(
    ("optimizer", "hyperparameters", "before", "gradient", "after"),
    [
        _row(
            "rms_prop",
            *(1, 0.04, 0.2),
            **_RMS,
            after=[0.5488369, 0.136, 0.4511631],
        ),
        _row(
            "centered_rms_prop",
            *(1, 0.04, 0.2, 0.1),
            **_RMS,
            after=[0.5036140, 0.136, 0.4963860, 0.19],
        ),
        _row(
            "adadelta",
            *(1, 0.1, 0.2),
            rho=0.9,
            epsilon=1e-6,
            after=[0.8974022, 0.19, 0.2852631],
        ),
        _row(
            "proximal_adagrad", 0.5, 0.1, l1=0.5, l2=1, after=[0.3259066, 1.1]
        ),
        _row(
            "bounded_adagrad",
            *(0.5, 0.1),
            gradient=3,
            form="old accumulator",
            **_BOUNDED,
            after=[-0.4486833, 5],
        ),
        _row(
            "bounded_adagrad",
            *(0.5, 0.1),
            gradient=3,
            form="updated first",
            **_BOUNDED,
            update_accumulator_first=True,
            after=[0.3658359, 5],
        ),
        _row("lion", 1, 0.2, gradient=-1, **_LION, after=[0.9, 0.188]),
        _row(
            "lion", 1, 0.2, gradient=-3, form="-3", **_LION, after=[1.1, 0.168]
        ),
        _row("lion", 1, 0, gradient=0, form="0", **_LION, after=[1, 0]),
        _row("assign", 1, gradient=0.3, after=[0.3]),
    ],
)
@both
def test_one_row_after_one_step(
    backend, optimizer, hyperparameters, before, gradient, after
):
    """Acceptance case A22; the frequency estimator is with the updates."""
    variant = optimizers.Variant(optimizer, "", hyperparameters)
    engine = backend(
        configs.config(
            configs.table(
                vocabulary_size=1,
                dimension=1,
                optimizer=optimizer,
                hyperparameters=hyperparameters,
            ),
            batch_size=1,
        )
    )
    engine.load_whole([[np.float32([[value]]) for value in before]])

    steps.step(engine, [[0]], [[gradient]])

    (variables,) = engine.retrieve_whole([len(variant.slots)])
    steps.assert_close(np.ravel(variables), after)


_PARAMETERS = optimization_parameters_pb2.OptimizationParameters.DESCRIPTOR
_NAMES = [f.name for f in _PARAMETERS.oneofs_by_name["parameters"].fields]


@pytest.mark.parametrize("name", _NAMES)
@both
def test_every_optimizer_is_run_or_refused_by_name(backend, name):
    """Acceptance case A22."""
    numbers = {"step_counter": 0} if "aware" in name else {}
    table = configs.table(dimension=1, optimizer=name, hyperparameters=numbers)
    config = configs.config(table)

    if name in optimizers.SLOTS:
        backend(config, experimental_optimizers=True).close()
    else:
        with pytest.raises(Exception, match=f"table 't': .*{name}"):
            backend(config, experimental_optimizers=True)


def test_there_are_nineteen_optimizers():
    """Acceptance case A22."""
    # test_docs_optimizers.py knows what older ones lack.
    requires.optimizers("frequency_aware_adagrad")

    assert len(_NAMES) == 19
    assert len(optimizers.SLOTS) == 17
