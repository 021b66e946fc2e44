# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The step protocol where something fails: waits, refusals, given up steps."""

import concurrent.futures
import contextlib
import re

import configs
import numpy as np
import pytest
import raw_ops
import steps
import tensorflow as tf
from steps import T3

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)

_ONE = np.float32([[1, 1]])
_BAD_SHAPE = "table 't': gradients must have shape [1, 2], got [1, 1]"


def _engine(backend, cores=1, pipelined=False, tag=None, **options):
    """Returns an engine with table T3, one sample a core, SGD rate 1."""
    config = configs.config(
        configs.table(learning_rate=1, tag=tag),
        batch_size=1,
        cores=cores,
        pipelined=pipelined,
    )
    engine = backend(config, **{"receive_timeout": 30, **options})
    engine.load(0, [T3])
    return engine


def _assert_steps_work(engine, num_cores, rates=()):
    """Runs two steps in which each core looks up row 1 of a new T3."""
    engine.load(0, [T3])
    for step in range(2):
        for core in range(num_cores):
            steps.enqueue(engine, [[1]], core=core)
        for core in range(num_cores):
            np.testing.assert_array_equal(
                engine.receive(core)[0], T3[[1]] - step * num_cores
            )
        for core in range(num_cores):
            engine.send([_ONE], rates, core)
    expected = T3.copy()
    expected[1] -= 2 * num_cores
    np.testing.assert_array_equal(engine.retrieve(0)[0], expected)


@contextlib.contextmanager
def _waiting(function, *args):
    """Runs a call that waits, in a thread, and yields its future."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(function, *args)
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(timeout=0.2)
        yield future


@both
def test_receive_without_a_batch_times_out(backend):
    engine = _engine(backend, receive_timeout=0.1)
    before = engine.statistics()

    with raw_ops.refused(
        backend.error("DEADLINE_EXCEEDED"),
        "receive: no enqueued batch after 0.1 s on core 0; an "
        "EnqueueTPUEmbedding op is missing",
    ):
        engine.receive()

    assert engine.statistics() == before
    _assert_steps_work(engine, 1)


@both
def test_send_without_a_batch_times_out(backend):
    engine = _engine(backend, receive_timeout=0.1)
    before = engine.statistics()

    with raw_ops.refused(
        backend.error("DEADLINE_EXCEEDED"),
        "send: no received batch after 0.1 s on core 0; "
        "RecvTPUEmbeddingActivations is missing",
    ):
        engine.send([_ONE])

    assert engine.statistics() == before
    _assert_steps_work(engine, 1)


@both
def test_send_without_a_receive_times_out(backend):
    engine = _engine(backend, receive_timeout=0.1)
    steps.enqueue(engine, [[1]])
    before = engine.statistics()

    with raw_ops.refused(
        backend.error("DEADLINE_EXCEEDED"),
        "send: no received batch after 0.1 s on core 0; "
        "RecvTPUEmbeddingActivations is missing",
    ):
        engine.send([_ONE])

    assert engine.statistics() == before
    np.testing.assert_array_equal(engine.receive()[0], [[3, 4]])
    engine.send([_ONE])
    _assert_steps_work(engine, 1)


@both
def test_receive_of_the_next_step_without_a_send_times_out(backend):
    engine = _engine(backend, receive_timeout=0.1)
    steps.enqueue(engine, [[1]])
    engine.receive()
    steps.enqueue(engine, [[1]])

    with pytest.raises(
        backend.error("DEADLINE_EXCEEDED"),
        match=re.escape(
            "receive: step 1 is not complete after 0.1 s on core 0; "
            "SendTPUEmbeddingGradients of core 0 is missing "
            "(tpuless.abandon_step() gives the step up)"
        ),
    ):
        engine.receive()


@both
def test_receive_names_the_core_whose_send_is_missing(backend):
    engine = _engine(backend, 2, receive_timeout=0.1)
    for core in (0, 1):
        steps.enqueue(engine, [[1]], core=core)
        engine.receive(core)
    engine.send([_ONE], core=0)
    steps.enqueue(engine, [[1]], core=0)

    with pytest.raises(
        backend.error("DEADLINE_EXCEEDED"),
        match=re.escape(
            "receive: step 1 is not complete after 0.1 s on core 0; "
            "SendTPUEmbeddingGradients of core 1 is missing "
            "(tpuless.abandon_step() gives the step up)"
        ),
    ):
        engine.receive(0)


@both
def test_enqueue_into_a_full_queue_times_out(backend):
    engine = _engine(backend, queue_limit=1, receive_timeout=0.1)
    steps.enqueue(engine, [[1]])
    before = engine.statistics()

    with raw_ops.refused(
        backend.error("DEADLINE_EXCEEDED"),
        "enqueue: no room in the queue of 1 batches after 0.1 s on core 0; "
        "RecvTPUEmbeddingActivations is missing",
    ):
        steps.enqueue(engine, [[2]])

    assert engine.statistics() == before
    np.testing.assert_array_equal(engine.receive()[0], [[3, 4]])
    engine.send([_ONE])
    _assert_steps_work(engine, 1)


@both
def test_a_refused_call_leaves_a_waiting_one_alone(backend):
    engine = _engine(backend)
    steps.enqueue(engine, [[1]])
    engine.receive()

    with _waiting(engine.receive) as receive:
        with raw_ops.refused(backend.error("INVALID_ARGUMENT"), _BAD_SHAPE):
            engine.send([_ONE[:, :1]])
        engine.send([_ONE])
        steps.enqueue(engine, [[1]])
        np.testing.assert_array_equal(receive.result()[0], [[2, 3]])

    assert engine.statistics().abandoned_steps == 0
    engine.send([_ONE])
    np.testing.assert_array_equal(engine.retrieve(0)[0][1], [1, 2])


@both
def test_learning_rates_must_be_those_of_the_other_cores(backend):
    engine = _engine(backend, 2, tag=0)
    for core in (0, 1):
        steps.enqueue(engine, [[1]], core=core)
        engine.receive(core)
    engine.send([_ONE], [0.5], 0)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "learning_rates[0] must be the same on all cores of step 1, got 0.25 "
        "on core 1 but 0.5 before",
    ):
        engine.send([_ONE], [0.25], 1)

    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    assert engine.statistics().abandoned_steps == 1
    _assert_steps_work(engine, 2, [1])


@both
def test_a_refused_send_gives_the_step_up_on_all_cores(backend):
    engine = _engine(backend, 2)
    for core in (0, 1):
        steps.enqueue(engine, [[1]], core=core)
        engine.receive(core)
    engine.send([_ONE], core=0)

    with raw_ops.refused(backend.error("INVALID_ARGUMENT"), _BAD_SHAPE):
        engine.send([_ONE[:, :1]], core=1)

    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    assert engine.statistics().abandoned_steps == 1
    _assert_steps_work(engine, 2)


@both
def test_a_receive_of_a_given_up_step_is_aborted(backend):
    engine = _engine(backend, 2)
    steps.enqueue(engine, [[1]], core=0)
    engine.receive(0)

    with _waiting(engine.receive, 1) as receive:
        with raw_ops.refused(backend.error("INVALID_ARGUMENT"), _BAD_SHAPE):
            engine.send([_ONE[:, :1]], core=0)
        with raw_ops.refused(
            backend.error("ABORTED"), f"step 1 was given up: {_BAD_SHAPE}"
        ):
            receive.result()

    _assert_steps_work(engine, 2)


@both
def test_a_send_of_a_given_up_step_is_aborted(backend):
    engine = _engine(backend, 2)
    for core in (0, 1):
        steps.enqueue(engine, [[1]], core=core)
    engine.receive(0)

    with _waiting(engine.send, [_ONE], (), 1) as send:
        with raw_ops.refused(backend.error("INVALID_ARGUMENT"), _BAD_SHAPE):
            engine.send([_ONE[:, :1]], core=0)
        with raw_ops.refused(
            backend.error("ABORTED"), f"step 1 was given up: {_BAD_SHAPE}"
        ):
            send.result()

    assert engine.statistics().queued_batches == 0
    _assert_steps_work(engine, 2)


@both
def test_a_receive_of_the_step_after_a_given_up_one_goes_on(backend):
    engine = _engine(backend, 2)
    for core in (0, 1):
        steps.enqueue(engine, [[1]], core=core)
        engine.receive(core)
    engine.send([_ONE], core=0)
    steps.enqueue(engine, [[1]], core=0)

    with _waiting(engine.receive, 0) as receive:
        with raw_ops.refused(backend.error("INVALID_ARGUMENT"), _BAD_SHAPE):
            engine.send([_ONE[:, :1]], core=1)

        # Nothing of the step before it is in the table.
        np.testing.assert_array_equal(receive.result()[0], [[3, 4]])

    steps.enqueue(engine, [[1]], core=1)
    engine.receive(1)
    for core in (0, 1):
        engine.send([_ONE], core=core)
    np.testing.assert_array_equal(engine.retrieve(0)[0][1], [1, 2])


@both
def test_a_refused_enqueue_gives_the_step_up_on_all_cores(backend):
    engine = _engine(backend, 2)
    steps.enqueue(engine, [[1]], core=0)
    engine.receive(0)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "input 0 (table 't'): id 3 of sample 0 (embedding_indices[0]) must be "
        ">= 0 and < vocabulary_size (3)",
    ):
        steps.enqueue(engine, [[3]], core=1)

    assert engine.statistics().abandoned_steps == 1
    assert engine.statistics().queued_batches == 0
    _assert_steps_work(engine, 2)


@both
def test_a_refused_first_enqueue_gives_nothing_up(backend):
    engine = _engine(backend, 2)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "input 0 (table 't'): id 3 of sample 0 (embedding_indices[0]) must be "
        ">= 0 and < vocabulary_size (3)",
    ):
        steps.enqueue(engine, [[3]], core=0)

    assert engine.statistics().abandoned_steps == 0
    _assert_steps_work(engine, 2)


@pytest.mark.parametrize(
    ("mode", "mode_override"),
    [(configs.TRAINING, "inference"), (configs.INFERENCE, "unspecified")],
)
@both
def test_a_refused_inference_enqueue_gives_nothing_up(
    backend, mode, mode_override
):
    """It belongs to no step."""
    config = configs.config(
        configs.table(learning_rate=1), batch_size=1, cores=2, mode=mode
    )
    engine = backend(config, receive_timeout=30)
    engine.load(0, [T3])
    steps.enqueue(engine, [[1]], core=0, mode_override="train")
    engine.receive(0)

    with pytest.raises(backend.error("INVALID_ARGUMENT")):
        steps.enqueue(engine, [[3]], core=1, mode_override=mode_override)

    assert engine.statistics().abandoned_steps == 0
    steps.enqueue(engine, [[1]], core=1, mode_override="train")
    engine.receive(1)
    for core in (0, 1):
        engine.send([_ONE], core=core)
    np.testing.assert_array_equal(engine.retrieve(0)[0][1], [1, 2])


@both
def test_a_step_can_be_abandoned(backend):
    engine = _engine(backend)
    steps.enqueue(engine, [[1]])
    engine.receive()

    engine.abandon_step()

    assert engine.statistics().abandoned_steps == 1
    assert engine.statistics().steps == 0
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    _assert_steps_work(engine, 1)


@both
def test_abandoning_a_step_ends_its_waiting_calls(backend):
    engine = _engine(backend, 2)
    steps.enqueue(engine, [[1]], core=0)

    with _waiting(engine.receive, 1) as receive:
        engine.abandon_step()
        with raw_ops.refused(
            backend.error("ABORTED"),
            "step 1 was given up: abandoned by hand",
        ):
            receive.result()

    _assert_steps_work(engine, 2)


@both
def test_abandoning_without_a_step_is_refused(backend):
    engine = _engine(backend)

    with raw_ops.refused(
        backend.error("NOT_FOUND"), "no step is open, so none can be abandoned"
    ):
        engine.abandon_step()


@both
def test_a_given_up_pipelined_step_leaves_the_parked_one(backend):
    engine = _engine(backend, pipelined=True)
    steps.step(engine, [[1]], _ONE)
    steps.enqueue(engine, [[1]])
    engine.receive()

    engine.abandon_step()

    expected = T3.copy()
    expected[1] -= 1
    np.testing.assert_array_equal(engine.retrieve(0)[0], expected)


def test_reset_ends_waiting_calls():
    engine = _engine(raw_ops.RawOpsBackend)

    with _waiting(engine.receive) as receive:
        engine.close()
        with raw_ops.refused(
            tf.errors.AbortedError, "the engine was shut down"
        ):
            receive.result()


def test_a_program_that_fails_after_receive_gives_its_step_up():
    engine = _engine(raw_ops.RawOpsBackend)

    @tf.function
    def step(bad):
        raw_ops.enqueue_op(
            "EnqueueTPUEmbeddingRaggedTensorBatch",
            steps.ragged([[1]]),
            {"table_ids": [0]},
        )
        (activations,) = tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=engine.config
        )
        with tf.control_dependencies(
            [tf.debugging.Assert(tf.logical_not(bad), ["the model failed"])]
        ):
            gradient = tf.ones_like(activations)
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[gradient], learning_rates=[], config=engine.config
        )
        return activations

    with pytest.raises(tf.errors.InvalidArgumentError, match="the model"):
        step(tf.constant(True))

    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    np.testing.assert_array_equal(step(tf.constant(False)), [[3, 4]])
    np.testing.assert_array_equal(
        engine.retrieve(0)[0], [[1, 2], [2, 3], [5, 6]]
    )
    _assert_steps_work(engine, 1)


def _session(build):
    """Returns a TF1 session and what `build` returned in its graph."""
    graph = tf.Graph()
    with graph.as_default():
        result = build()
    return tf.compat.v1.Session(graph=graph), result


def test_a_cancelled_receive_takes_no_batch():
    engine = _engine(raw_ops.RawOpsBackend)
    session, (receive,) = _session(
        lambda: tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=engine.config
        )
    )

    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(receive, options=tf.compat.v1.RunOptions(timeout_in_ms=200))

    steps.enqueue(engine, [[1]])
    np.testing.assert_array_equal(session.run(receive), [[3, 4]])
    session.close()


def test_a_cancelled_send_keeps_nothing_waiting():
    engine = _engine(raw_ops.RawOpsBackend)
    session, send = _session(
        lambda: tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[tf.ones([1, 2])], learning_rates=[], config=engine.config
        )
    )
    steps.enqueue(engine, [[1]])

    with pytest.raises(tf.errors.DeadlineExceededError):
        session.run(send, options=tf.compat.v1.RunOptions(timeout_in_ms=200))

    # It would act on this step if it were still there.
    engine.receive()
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    engine.send([_ONE])
    np.testing.assert_array_equal(engine.retrieve(0)[0][1], [2, 3])
    session.close()
