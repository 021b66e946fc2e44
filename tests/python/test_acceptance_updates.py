# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance cases of the update: optimizers, limits, learning rates."""

import configs
import numpy as np
import pytest
import raw_ops
import steps
import tensorflow as tf
import tpuless
from steps import T3

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)


@pytest.mark.parametrize(
    ("rows", "gradients"),
    [([[1], [1]], [[1], [2]]), ([[1, 1], []], [[1.5], [0]])],
    ids=["two samples", "one sample"],
)
@both
def test_gradients_of_one_row_are_summed_first(backend, rows, gradients):
    """Acceptance case A6."""
    engine = steps.one_table(
        backend,
        [np.full([4, 1], 0.5), np.full([4, 1], 0.1)],
        2,
        optimizer="adagrad",
    )

    steps.step(engine, rows, gradients)

    steps.assert_variables(
        engine, [0.5, 0.400551, 0.5, 0.5], [0.1, 9.1, 0.1, 0.1]
    )


@both
def test_adagrad_of_zero_over_zero_changes_nothing(backend):
    """Acceptance case A6."""
    engine = steps.one_row(backend, 0.5, 0, optimizer="adagrad")

    steps.step(engine, [[0]], [[0]])

    np.testing.assert_array_equal(engine.retrieve(0), [[[0.5]], [[0]]])


_ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 0.1}


@pytest.mark.parametrize(
    ("inside", "expected"), [(False, 0.9990307), (True, 0.9990005)]
)
@both
def test_adam(backend, inside, expected):
    """Acceptance case A7."""
    engine = steps.one_row(
        backend,
        1,
        0,
        0,
        optimizer="adam",
        hyperparameters={**_ADAM, "use_sum_inside_sqrt": inside},
        learning_rate=0.01,
    )

    steps.step(engine, [[0]], [[0.1]])

    # 1 - beta2 enters, and the configuration holds beta2 as a float32.
    steps.assert_variables(engine, [expected], [0.01], [1e-5], rtol=2e-5)


@both
def test_lazy_adam_leaves_other_rows_as_they_are(backend):
    """Acceptance case A7."""
    rng = np.random.default_rng(5)
    variables = [rng.random([5, 3], np.float32) for _ in range(3)]
    engine = steps.one_table(
        backend, variables, optimizer="adam", hyperparameters=_ADAM
    )

    steps.step(engine, [[2]], [[1, 2, 3]])

    others = [0, 1, 3, 4]
    for before, after in zip(variables, engine.retrieve(0), strict=True):
        np.testing.assert_array_equal(after[others], before[others])
        assert (after[2] != before[2]).all()


_FTRL = {"lr_power": -0.5}


@pytest.mark.parametrize(
    ("hyperparameters", "weight", "linear"),
    [
        ({}, 0.2538981, -2.6629054),
        ({"beta": 1}, 0.1299733, -2.6629054),
        ({"l2": 5}, 0.1299733, -2.6629054),
        ({"l1": 3}, 0, -2.6629054),
        ({"multiply_linear_by_lr": True}, 0.2538981, -0.2662905),
    ],
    ids=str,
)
@both
def test_ftrl(backend, hyperparameters, weight, linear):
    """Acceptance case A9."""
    engine = steps.one_row(
        backend,
        0.5,
        0.1,
        0,
        optimizer="ftrl",
        hyperparameters={**_FTRL, **hyperparameters},
    )

    steps.step(engine, [[0]], [[1]])

    steps.assert_variables(engine, [weight], [1.1], [linear])


@both
def test_ftrl_rebuilds_the_weights_from_the_slots(backend):
    """Acceptance case A9: a row with gradient 0 becomes 0."""
    engine = steps.one_row(
        backend, 0.5, 0.1, 0, optimizer="ftrl", hyperparameters=_FTRL
    )

    steps.step(engine, [[0]], [[0]])

    steps.assert_variables(engine, [0], [0.1], [0])


@both
def test_weight_limits_act_on_the_rows_of_the_step(backend):
    """Acceptance case A10."""
    engine = steps.one_table(backend, [[[5], [5], [5]]], clip_weights=(None, 1))

    steps.step(engine, [[0]], [[0]])

    np.testing.assert_array_equal(engine.retrieve(0)[0], [[1], [5], [5]])


@pytest.mark.parametrize(
    ("limits", "expected"), [((0, None), 0), (None, -0.05)], ids=str
)
@both
def test_a_limit_of_zero_is_a_limit(backend, limits, expected):
    """Acceptance case A10."""
    engine = steps.one_row(backend, 0.05, clip_weights=limits)

    steps.step(engine, [[0]], [[1]])

    steps.assert_variables(engine, [expected])


@both
def test_gradient_limits_act_on_the_total_of_a_row(backend):
    """Acceptance case A15."""
    limits = (-0.5, 0.5)
    adagrad = {"optimizer": "adagrad", "clip_gradients": limits}
    engine = steps.one_row(backend, 1, 0.1, batch_size=2, **adagrad)

    steps.step(engine, [[0], [0]], [[1], [2]])

    steps.assert_variables(engine, [0.9154846], [0.35])


@both
def test_gradient_limits_do_not_act_on_each_occurrence(backend):
    """Acceptance case A15."""
    engine = steps.one_row(backend, 1, batch_size=2, clip_gradients=(-0.5, 0.5))

    steps.step(engine, [[0], [0]], [[1], [-0.8]])

    steps.assert_variables(engine, [0.98])


@both
def test_gradient_limits_need_accumulation(backend):
    """Acceptance case A15."""
    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "table 't': gradient_clipping_limits must not be set where "
        "gradient_accumulation_status is DISABLED",
    ):
        backend(
            configs.config(
                configs.table(clip_gradients=(-0.5, 0.5), accumulate=False)
            )
        )


@pytest.mark.parametrize(
    ("decay", "times_rate", "expected"),
    [(0, False, 0.98), (0.01, False, 0.97), (0.01, True, 0.979)],
)
@pytest.mark.parametrize("count", [1, 5])
@both
def test_weight_decay_acts_once_a_step(
    backend, decay, times_rate, expected, count
):
    """Acceptance case A16."""
    engine = steps.one_table(
        backend,
        [[[1], [1]]],
        weight_decay=decay,
        decay_times_learning_rate=times_rate,
    )

    steps.step(engine, [[0] * count], [[0.2 / count]])

    steps.assert_variables(engine, [expected, 1])


@pytest.mark.parametrize(
    ("rows", "gradient", "nesterov", "weight", "momentum"),
    [
        ([[0]], 0, False, 0.955, 0.45),
        ([[]], 0, False, 1, 0.5),
        ([[0]], 1, False, 0.855, 1.45),
        ([[0]], 1, True, 0.7695, 1.45),
    ],
)
@both
def test_momentum(backend, rows, gradient, nesterov, weight, momentum):
    """Acceptance case A17: a zero gradient is not "not touched"."""
    engine = steps.one_row(
        backend,
        1,
        0.5,
        optimizer="momentum",
        hyperparameters={"momentum": 0.9, "use_nesterov": nesterov},
    )

    steps.step(engine, rows, [[gradient]])

    steps.assert_variables(engine, [weight], [momentum])


@pytest.mark.parametrize(
    ("last", "now", "expected"), [(3, 5, 9.2), (3, 40, 37), (0, 500, 100)]
)
@both
def test_frequency_estimator(backend, last, now, expected):
    """Acceptance case A22."""
    engine = steps.one_row(
        backend,
        10,
        last,
        optimizer="frequency_estimator",
        hyperparameters={
            "tau": 0.1,
            "max_delta": 100,
            "outlier_threshold": 3,
        },
        tag=0,
    )

    steps.step(engine, [[0]], [[7]], [now])

    steps.assert_variables(engine, [expected], [now])


@both
def test_learning_rate_of_each_step(backend):
    """Acceptance case A30."""
    engine = steps.one_row(backend, 1, tag=0)
    weights = []

    for rate in (0, 0.1, 0.01):
        steps.step(engine, [[0]], [[1]], [rate])
        weights.append(engine.retrieve(0)[0][0, 0])

    steps.assert_close(weights, [1, 0.9, 0.89])


@pytest.mark.parametrize(
    "dtype", [tf.bfloat16, tf.float16, tf.float64, np.float64], ids=str
)
def test_wrapper_casts_gradients_and_rates(dtype):
    """Acceptance case A13."""
    engine = steps.one_row(raw_ops.RawOpsBackend, 1, tag=0)
    steps.enqueue(engine, [[0]])
    engine.receive()
    if isinstance(dtype, tf.DType):
        gradient, rate = tf.constant([[0.1]], dtype), tf.constant(1, dtype)
    else:
        gradient, rate = dtype([[0.1]]), dtype(1)
    # 0.1 in bfloat16 is 0.10009765625.
    expected = 1 - np.float64(np.float32(tf.cast(gradient, tf.float32)))

    tpuless.SendTPUEmbeddingGradients.create(
        tpuless.Ops.create().scope(), [gradient], [rate], engine.config
    )

    steps.assert_variables(engine, expected)
    if dtype == tf.bfloat16:
        steps.assert_variables(engine, [0.8999023])


@pytest.mark.parametrize(
    "rate",
    [
        0.1,
        np.float32(0.1),
        lambda: tf.Variable(0.1),
        lambda: tf.constant(0.1),
    ],
    ids=["float", "numpy scalar", "variable", "tensor"],
)
def test_learning_rate_in_any_scalar_form(rate):
    """Acceptance case A30."""
    engine = steps.one_row(raw_ops.RawOpsBackend, 1, tag=0)
    steps.enqueue(engine, [[0]])
    engine.receive()

    tf.raw_ops.SendTPUEmbeddingGradients(
        inputs=[tf.ones([1, 1])],
        learning_rates=[rate() if callable(rate) else rate],
        config=engine.config,
    )

    steps.assert_variables(engine, [0.9])


@both
def test_learning_rate_that_is_no_scalar_is_refused(backend):
    """Acceptance case A30."""
    engine = steps.one_row(backend, 1, tag=0)
    steps.enqueue(engine, [[0]])
    engine.receive()

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "learning_rates[0] must be a float32 scalar, got shape [1]",
    ):
        engine.send([np.float32([[1]])], [[0.1]])

    engine.send([np.float32([[1]])], [0.1])
    steps.assert_variables(engine, [0.9])


@both
def test_constant_learning_rate_takes_no_other(backend):
    """Acceptance case A30."""
    engine = steps.one_row(backend, 1)
    steps.enqueue(engine, [[0]])
    engine.receive()

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "must have 0 learning rates, one a dynamic tag, got 1",
    ):
        engine.send([np.float32([[1]])], [0.1])

    engine.send([np.float32([[1]])])
    steps.assert_variables(engine, [0.9])


@pytest.mark.parametrize(
    "shape", [(2,), (2, 3), (3, 2), (1, 2, 2), ()], ids=str
)
@both
def test_gradients_of_another_shape_are_refused(backend, shape):
    """Acceptance case A12."""
    engine = steps.one_table(backend, [T3], 2)
    steps.enqueue(engine, [[0], [1]])
    engine.receive()

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        f"table 't': gradients must have shape [2, 2], got {list(shape)}",
    ):
        engine.send([np.ones(shape, np.float32)])

    engine.send([np.ones([2, 2], np.float32)])
    steps.assert_variables(engine, T3 - np.float32([[0.1], [0.1], [0]]))


@pytest.mark.parametrize("count", [1, 3])
@both
def test_another_number_of_gradients_is_refused(backend, count):
    """Acceptance case A12."""
    config = configs.config(configs.table("a"), configs.table("b"))
    engine = backend(config)
    engine.load_whole([[T3], [T3]])
    engine.enqueue(
        "EnqueueTPUEmbeddingIntegerBatch", {"batch": [np.int32([0, 1])] * 2}
    )
    engine.receive()

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        f"must have 2 gradients, one a table, got {count}",
    ):
        engine.send([np.ones([2, 2], np.float32)] * count)

    engine.send([np.ones([2, 2], np.float32)] * 2)
    for table in range(2):
        steps.assert_close(
            engine.retrieve(table)[0], T3 - np.float32([[0.1], [0.1], [0]])
        )


def test_no_gradients_are_refused_by_tensorflow():
    """Acceptance case A12."""
    engine = steps.one_table(raw_ops.RawOpsBackend, [T3], 2)

    with pytest.raises(tf.errors.InvalidArgumentError, match="minimum 1"):
        engine.send([])


def test_double_gradients_are_refused_by_tensorflow():
    """Acceptance case A12: the op takes float32 and says so."""
    with pytest.raises(tf.errors.InvalidArgumentError, match="float"):
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[tf.ones([2, 2], tf.float64)], learning_rates=[], config=b""
        )


@pytest.mark.parametrize(
    "shape", [(2,), (2, 3), (3, 2), (1, 2, 2), ()], ids=str
)
def test_shapes_unknown_to_the_graph_are_refused_when_run(shape):
    """Acceptance case A12."""
    engine = steps.one_table(raw_ops.RawOpsBackend, [T3], 2)
    steps.enqueue(engine, [[0], [1]])
    engine.receive()

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def send(gradient):
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[gradient], learning_rates=[], config=engine.config
        )

    with pytest.raises(tf.errors.InvalidArgumentError) as info:
        send(tf.ones(shape))

    assert (
        f"table 't': gradients must have shape [2, 2], got {list(shape)}\n"
    ) in info.value.message


@both
def test_nan_in_a_gradient_touches_its_row_alone(backend):
    """Acceptance case A12."""
    engine = steps.one_table(backend, [T3], 2)

    steps.step(engine, [[0], [1]], [[np.nan, 1], [1, 1]])

    expected = np.float32([[np.nan, 1.9], [2.9, 3.9], [5, 6]])
    steps.assert_variables(engine, expected)
