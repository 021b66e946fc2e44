# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The mirror of TensorFlow Java's op factory where the op runs at once."""

from __future__ import annotations

import configs
import numpy as np
import pytest
import tensorflow as tf
import tpuless

OP = "SendTPUEmbeddingGradients"
Send = tpuless.SendTPUEmbeddingGradients

pytestmark = pytest.mark.timeout(60)


class Engine:
    """One table of ones, 3 x 2, SGD; samples 0 and 1 hold ids 0 and 1."""

    def __init__(self, **table):
        self.config = configs.config(configs.table(**table))
        tf.raw_ops.ConfigureTPUEmbedding(config=self.config)
        tf.raw_ops.LoadTPUEmbeddingStochasticGradientDescentParameters(
            parameters=tf.ones([3, 2]),
            num_shards=1,
            shard_id=0,
            table_name="t",
            config=self.config,
        )

    def receive(self):
        """Starts a step, up to the point where gradients are due."""
        tf.raw_ops.EnqueueTPUEmbeddingIntegerBatch(
            batch=[tf.constant([0, 1])],
            mode_override="unspecified",
            device_ordinal=0,
        )
        (activations,) = tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=self.config
        )
        return activations

    def weights(self):
        return (
            tf.raw_ops.RetrieveTPUEmbeddingStochasticGradientDescentParameters(
                num_shards=1, shard_id=0, table_name="t", config=self.config
            ).numpy()
        )


@pytest.fixture
def shutdown():
    tf.raw_ops.ShutdownDistributedTPU()
    yield
    tf.raw_ops.ShutdownDistributedTPU()


@pytest.fixture
def make_engine(shutdown):
    return Engine


@pytest.fixture
def engine(make_engine):
    return make_engine(learning_rate=0.5)


@pytest.fixture
def scope():
    return tpuless.Ops.create().scope()


GRADIENT = np.float32([[1, 2], [0, -1]])


def test_create_runs_the_op(engine, scope):
    engine.receive()

    Send.create(scope, [tf.constant(GRADIENT)], [], engine.config)

    np.testing.assert_array_equal(
        engine.weights(), np.float32([[0.5, 0], [1, 1.5], [1, 1]])
    )


def test_ops_run_the_op(engine):
    engine.receive()

    op = tpuless.Ops.create().tpu.send_tpu_embedding_gradients(
        [tf.constant(GRADIENT)], [], engine.config
    )

    assert isinstance(op, Send)
    assert engine.weights()[0, 0] == 0.5


def test_wrapper_holds_a_record(engine, scope):
    engine.receive()
    own = tpuless.Scope(scope.env()).with_sub_scope("sub")

    op = Send.create(own, [tf.constant(GRADIENT)], [], engine.config)

    assert str(op) == f"<{OP} 'sub/{OP}'>"
    assert op.op().name == f"sub/{OP}"
    assert op.op().type == OP
    assert op.env() is scope.env()
    assert Send(op.op()) == op
    assert hash(Send(op.op())) == hash(op)


def test_two_runs_are_two_operations(engine, scope):
    ops = []
    for _ in range(2):
        engine.receive()
        ops.append(
            Send.create(scope, [tf.constant(GRADIENT)], [], engine.config)
        )

    assert ops[0] != ops[1]
    assert ops[0].op().name != ops[1].op().name
    assert engine.weights()[0, 0] == 0


def test_inputs_refuse_the_record(engine, scope):
    engine.receive()
    op = Send.create(scope, [tf.constant(GRADIENT)], [], engine.config)

    with pytest.raises(TypeError, match="operation must be of a graph"):
        Send.Inputs(op.op())


@pytest.mark.usefixtures("shutdown")
def test_failing_kernel_makes_create_raise():
    scope = tpuless.Scope(tpuless.Ops.create().scope().env())

    with pytest.raises(tf.errors.FailedPreconditionError):
        Send.create(scope, [tf.constant(GRADIENT)], [], b"")

    assert scope.make_op_name(OP) == f"{OP}_1"


def test_gradient_of_wrong_shape_makes_create_raise(engine, scope):
    engine.receive()

    with pytest.raises(tf.errors.InvalidArgumentError):
        Send.create(scope, [tf.ones([2, 3])], [], engine.config)


@pytest.mark.parametrize(
    "dtype", [tf.bfloat16, tf.float16, tf.float64, tf.float32]
)
@pytest.mark.parametrize("numpy", [False, True])
def test_gradients_of_every_float_type_are_cast(
    make_engine, scope, dtype, numpy
):
    engine = make_engine(learning_rate=1.0)
    engine.receive()
    gradient = tf.cast(tf.fill([2, 2], 0.1), dtype)

    Send.create(
        scope, [gradient.numpy() if numpy else gradient], [], engine.config
    )

    expected = np.ones([3, 2], np.float32)
    expected[:2] -= tf.cast(gradient, tf.float32).numpy()
    np.testing.assert_array_equal(engine.weights(), expected)


def test_bfloat16_gradient_acts_as_its_value(make_engine, scope):
    engine = make_engine(learning_rate=1.0)
    engine.receive()
    gradient = tf.cast(tf.fill([2, 2], 0.1), tf.bfloat16)

    Send.create(scope, [gradient], [], engine.config)

    # 1 - 0.10009765625, which float32 holds exactly.
    np.testing.assert_array_equal(engine.weights()[:2], 0.89990234375)


@pytest.mark.parametrize(
    "make_rate",
    [
        float,
        np.float32,
        np.float64,
        np.float16,
        np.array,
        tf.Variable,
        tf.constant,
        lambda rate: tf.constant(rate, tf.float64),
        lambda rate: tf.constant(rate, tf.bfloat16),
    ],
)
def test_rate_is_fed_each_step(make_engine, scope, make_rate):
    engine = make_engine(tag=0)
    expected = np.float32(1)

    for rate in (0.0, 0.5, 0.25):
        engine.receive()
        Send.create(scope, [tf.ones([2, 2])], [make_rate(rate)], engine.config)
        expected -= np.float32(rate)
        np.testing.assert_array_equal(engine.weights()[:2], expected)


def test_python_rates_follow_the_formula(make_engine, scope):
    engine = make_engine(tag=0)

    for rate, weight in ((0.0, 1), (0.1, 0.9), (0.01, 0.89)):
        engine.receive()
        Send.create(scope, [tf.ones([2, 2])], [rate], engine.config)
        # One rounding a step, of values below 1.
        np.testing.assert_allclose(
            engine.weights()[:2], weight, rtol=0, atol=3 * 2**-24
        )


@pytest.mark.parametrize("make_rate", [list, np.float32, tf.Variable])
def test_rate_of_shape_1_is_refused(make_engine, scope, make_rate):
    engine = make_engine(tag=0)
    engine.receive()

    with pytest.raises(tf.errors.InvalidArgumentError):
        Send.create(scope, [tf.ones([2, 2])], [make_rate([0.1])], engine.config)


def test_rate_for_a_constant_one_is_refused(engine, scope):
    engine.receive()

    with pytest.raises(tf.errors.InvalidArgumentError, match="got 1"):
        Send.create(scope, [tf.ones([2, 2])], [0.1], engine.config)


def test_nn_is_checked_before_the_op_runs(engine, scope):
    engine.receive()

    with pytest.raises(ValueError) as error:
        Send.create(scope, [tf.ones([2, 2])], [], engine.config, Send.nn(2))
    Send.create(scope, [tf.ones([2, 2])], [], engine.config, nn=0)

    assert str(error.value) == "Inconsistent values for attr 'NN' 0 vs. 2"
    assert engine.weights()[0, 0] == 0.5


def test_message_is_a_config(engine, scope):
    engine.receive()

    Send.create(scope, [tf.ones([2, 2])], [], configs.parse(engine.config))

    assert engine.weights()[0, 0] == 0.5


def test_control_inputs_are_ignored(engine, scope):
    engine.receive()
    first = Send.create(scope, [tf.ones([2, 2])], [], engine.config)
    engine.receive()

    Send.create(
        scope.with_control_dependencies([first, first.op(), tf.ones([])]),
        [tf.ones([2, 2])],
        [],
        engine.config,
    )

    assert engine.weights()[0, 0] == 0


def test_device_replaces_that_of_the_surroundings(engine, scope):
    engine.receive()
    gradient = tf.ones([2, 2], tf.float64)

    with tf.device("/job:nowhere/cpu:7"):
        Send.create(scope.with_device("/cpu:0"), [gradient], [], engine.config)

    assert engine.weights()[0, 0] == 0.5


def test_init_scope_registers_nothing(engine, scope):
    engine.receive()
    scope = scope.with_init_scope()

    Send.create(scope, [tf.ones([2, 2])], [], engine.config)

    assert scope.initializers() == []


def test_no_inputs_are_refused(scope):
    with pytest.raises(ValueError) as error:
        Send.create(scope, [], [], b"")

    assert (
        str(error.value) == "Value for attr 'N' of 0 must be at least minimum 1"
    )


def test_graph_tensor_is_refused(scope):
    with tf.Graph().as_default():
        tensor = tf.ones([2, 2])

    with pytest.raises(ValueError) as error:
        Send.create(scope, [tensor], [], b"")

    assert str(error.value) == (
        f"inputs[0] must be an eager tensor, got {tensor!r}"
    )


def test_control_input_of_a_graph_is_refused(scope):
    with tf.Graph().as_default():
        control = tf.raw_ops.NoOp(name="c")

    with pytest.raises(ValueError) as error:
        scope.with_control_dependencies([control])

    assert str(error.value) == (
        "control input must be eager, got operation 'c' of a graph"
    )


def test_names_are_shared_by_all_eager_scopes():
    first = tpuless.Ops.create().scope().make_unique("eager")

    assert tpuless.Ops.create().scope().make_unique("eager") != first


def test_function_runs_the_op(make_engine):
    engine = make_engine(tag=0)
    rate = tf.Variable(0.5)

    @tf.function
    def step():
        activations = engine.receive()
        tpuless.Ops.create().tpu.send_tpu_embedding_gradients(
            [tf.ones_like(activations)], [rate], engine.config
        )

    step()
    rate.assign(0.25)
    step()

    np.testing.assert_array_equal(engine.weights()[:2], 0.25)


def test_graph_runs_in_a_session(make_engine):
    engine = make_engine(learning_rate=0.5)
    with tf.Graph().as_default() as graph:
        activations = engine.receive()
        scope = tpuless.Ops.create(graph).scope()
        op = Send.create(scope, [activations], [], engine.config)
        with tf.compat.v1.Session(graph=graph) as session:
            session.run(["EnqueueTPUEmbeddingIntegerBatch", op.op()])

    np.testing.assert_array_equal(engine.weights()[:2], 0.5)
