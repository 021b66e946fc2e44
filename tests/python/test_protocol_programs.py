# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The step protocol in functions and sessions, and where they fail."""

import contextlib
import signal

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


def _engine(cores=1, **kwargs):
    """Returns an engine with table T3, one sample a core, SGD rate 1."""
    config = configs.config(
        configs.table(learning_rate=1), batch_size=1, cores=cores, **kwargs
    )
    engine = raw_ops.RawOpsBackend(config, receive_timeout=10)
    engine.load(0, [T3])
    return engine


def _core_step(engine, core, row, bad):
    """Builds one core's step; it fails in between if `bad`."""
    raw_ops.enqueue_op(
        "EnqueueTPUEmbeddingIntegerBatch",
        {"batch": [tf.reshape(tf.cast(row, tf.int32), [1])]},
        {},
        core=core,
    )
    with tf.device(f"/device:CPU:{core}"):
        (activations,) = tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=engine.config
        )
        check = tf.debugging.Assert(tf.logical_not(bad), ["the model failed"])
        with tf.control_dependencies([check]):
            gradient = tf.ones_like(activations)
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[gradient], learning_rates=[], config=engine.config
        )
    return activations


def _function(engine, num_cores):
    @tf.function(
        input_signature=[
            tf.TensorSpec([num_cores], tf.int32),
            tf.TensorSpec([num_cores], tf.bool),
        ]
    )
    def step(rows, bad):
        return [
            _core_step(engine, core, rows[core], bad[core])
            for core in range(num_cores)
        ]

    return step


def _good(num_cores):
    return tf.zeros([num_cores], tf.bool)


@pytest.mark.parametrize("pipelined", [False, True], ids=["", "pipelined"])
def test_all_cores_in_one_function(pipelined):
    engine = _engine(4, pipelined=pipelined)
    step = _function(engine, 4)

    first = step(tf.constant([0, 1, 1, 2]), _good(4))
    second = step(tf.constant([1, 1, 1, 1]), _good(4))

    np.testing.assert_array_equal(first, T3[[[0], [1], [1], [2]]])
    seen = T3[1] if pipelined else T3[1] - 2
    np.testing.assert_array_equal(second, [[seen]] * 4)
    np.testing.assert_array_equal(
        engine.retrieve(0)[0], T3 - np.float32([[1], [6], [1]])
    )


@pytest.mark.parametrize("failing", range(3))
def test_a_core_whose_model_fails_gives_the_step_up(failing):
    engine = _engine(3)
    step = _function(engine, 3)
    bad = tf.constant([core == failing for core in range(3)])

    with pytest.raises(tf.errors.InvalidArgumentError, match="the model"):
        step(tf.constant([0, 1, 2]), bad)

    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    assert engine.statistics().queued_batches == 0
    step(tf.constant([0, 1, 2]), _good(3))
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3 - 1)


@pytest.mark.parametrize("failing", range(3))
def test_a_core_whose_enqueue_is_refused_gives_the_step_up(failing):
    engine = _engine(3)
    step = _function(engine, 3)
    rows = [0, 1, 2]
    rows[failing] = 3

    with pytest.raises(tf.errors.OpError) as info:
        step(tf.constant(rows), _good(3))

    assert "id 3 of sample 0" in info.value.message
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    assert engine.statistics().queued_batches == 0
    step(tf.constant([0, 1, 2]), _good(3))
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3 - 1)


def test_a_loop_that_fails_keeps_its_complete_steps():
    engine = _engine()

    @tf.function
    def train(last):
        for k in tf.range(4):
            _core_step(engine, 0, k % 3, tf.equal(k, last))

    with pytest.raises(tf.errors.InvalidArgumentError, match="the model"):
        train(tf.constant(2))

    np.testing.assert_array_equal(
        engine.retrieve(0)[0], T3 - np.float32([[1], [1], [0]])
    )
    train(tf.constant(-1))
    np.testing.assert_array_equal(
        engine.retrieve(0)[0], T3 - np.float32([[3], [2], [1]])
    )


def test_a_failed_run_of_a_session_gives_its_step_up():
    engine = _engine()
    graph = tf.Graph()
    with graph.as_default():
        bad = tf.compat.v1.placeholder(tf.bool, [])
        enqueue = raw_ops.enqueue_op(
            "EnqueueTPUEmbeddingIntegerBatch", {"batch": [np.int32([1])]}, {}
        )
        (activations,) = tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=engine.config
        )
        check = tf.debugging.Assert(tf.logical_not(bad), [activations])
        with tf.control_dependencies([check]):
            gradient = tf.ones_like(activations)
        send = tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[gradient], learning_rates=[], config=engine.config
        )

    # Not as a context: eager calls stay eager.
    with contextlib.closing(tf.compat.v1.Session(graph=graph)) as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([enqueue, send], {bad: True})
        np.testing.assert_array_equal(engine.retrieve(0)[0], T3)

        session.run([enqueue, send], {bad: False})

    np.testing.assert_array_equal(engine.retrieve(0)[0][1], [2, 3])
    assert engine.statistics().abandoned_steps == 1


def test_a_function_that_only_receives_leaves_its_step_open():
    """What succeeds is no failure: the Send may come from elsewhere."""
    engine = _engine()

    @tf.function
    def receive():
        return tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=engine.config
        )

    steps.enqueue(engine, [[1]])
    np.testing.assert_array_equal(receive()[0], [[3, 4]])
    engine.send([np.ones([1, 2], np.float32)])

    np.testing.assert_array_equal(engine.retrieve(0)[0][1], [2, 3])


def test_a_waiting_simulator_can_be_interrupted():
    simulator = tpuless.Simulator(configs.config())
    simulator.load(0, T3)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            simulator.receive()
    finally:
        signal.signal(signal.SIGALRM, before)

    simulator.enqueue([[0, 2]])
    np.testing.assert_array_equal(simulator.receive()[0], T3[[0, 2]])
    simulator.close()
