# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""statistics, reset and abandon_step, as functions and as ops."""

import doctest

import configs
import numpy as np
import pytest
import raw_ops
import steps
import tensorflow as tf
import tpuless
from steps import T3
from tpuless import _control

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_COUNTERS = (
    "enqueues",
    "receives",
    "sends",
    "steps",
    "abandoned_steps",
    "ids",
    "unique_rows",
    "queued_batches",
)


def _t3():
    return steps.one_table(raw_ops.RawOpsBackend, [T3])


def _counters(message):
    return {name: getattr(message, name) for name in _COUNTERS}


def _expected(**counters):
    return {**dict.fromkeys(_COUNTERS, 0), **counters}


def test_statistics_without_an_engine_are_zero():
    assert tpuless.statistics() == tpuless.Statistics()


def test_statistics_count_calls_and_rows():
    engine = _t3()
    steps.step(engine, [[0, 0, 2]], [[1, 1]])
    steps.step(engine, [[1]], [[1, 1]])
    steps.enqueue(engine, [[0]])

    statistics = tpuless.statistics()

    assert _counters(statistics) == _expected(
        enqueues=3,
        receives=2,
        sends=2,
        steps=2,
        ids=5,
        unique_rows=3,
        queued_batches=1,
    )
    assert [*statistics.tables] == [
        tpuless.TableStatistics(
            name="t", vocabulary_size=3, dimension=2, bytes=24, loaded=True
        )
    ]


def test_statistics_know_tables_that_are_not_loaded():
    config = configs.config(
        configs.table("a", 2**20, 8, optimizer="adagrad"),
        configs.table("b", 5, 4),
    )
    raw_ops.RawOpsBackend(config)

    statistics = tpuless.statistics()

    assert [*statistics.tables] == [
        tpuless.TableStatistics(
            name="a", vocabulary_size=2**20, dimension=8, bytes=2**26
        ),
        tpuless.TableStatistics(
            name="b", vocabulary_size=5, dimension=4, bytes=80
        ),
    ]


def test_statistics_in_a_graph_are_tensors():
    engine = _t3()
    steps.step(engine, [[0]], [[1, 1]])

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tensors = tpuless.statistics()
        fetched = session.run(tensors)

    assert isinstance(tensors, tpuless.StatisticsTensors)
    assert all(isinstance(tensor, tf.Tensor) for tensor in tensors)
    assert isinstance(fetched, tpuless.StatisticsTensors)
    # A session in this process is of the same task.
    assert fetched.message() == tpuless.statistics()


def test_statistics_in_a_function_are_those_of_each_call():
    engine = _t3()

    @tf.function
    def statistics():
        return tpuless.statistics()

    before = statistics().message()
    steps.step(engine, [[0]], [[1, 1]])
    after = statistics().message()

    assert _counters(before) == _expected()
    assert after == tpuless.statistics()
    assert after.steps == 1


def test_reset_drops_the_engine():
    _t3()

    result = tpuless.reset()

    assert result is None
    assert tpuless.statistics() == tpuless.Statistics()
    with raw_ops.refused(
        tf.errors.FailedPreconditionError,
        "no engine is configured; run ConfigureTPUEmbedding first",
    ):
        tf.raw_ops.RetrieveTPUEmbeddingStochasticGradientDescentParameters(
            table_id=0, num_shards=1, shard_id=0
        )
    _t3()


def test_reset_without_an_engine_does_nothing():
    tpuless.reset()
    tpuless.reset()


def test_reset_in_a_graph_is_an_operation():
    _t3()

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        operation = tpuless.reset()
        assert isinstance(operation, tf.Operation)
        session.run(operation)

    assert tpuless.statistics() == tpuless.Statistics()


def test_reset_in_a_function_happens_at_each_call():
    reset = tf.function(tpuless.reset)

    for _ in range(2):
        _t3()
        reset()
        assert tpuless.statistics() == tpuless.Statistics()


def test_abandon_step_drops_a_step_that_was_received():
    engine = _t3()
    steps.enqueue(engine, [[0]])
    engine.receive()

    result = tpuless.abandon_step()

    assert result is None
    assert tpuless.statistics().abandoned_steps == 1
    steps.step(engine, [[2]], [[1, 1]])
    np.testing.assert_array_equal(
        engine.retrieve(0)[0], np.float32([[1, 2], [3, 4], [4.9, 5.9]])
    )


def test_abandon_step_without_a_step_is_refused():
    _t3()

    with raw_ops.refused(
        tf.errors.NotFoundError, "no step is open, so none can be abandoned"
    ):
        tpuless.abandon_step()


def test_abandon_step_without_an_engine_is_refused():
    with raw_ops.refused(
        tf.errors.FailedPreconditionError,
        "no engine is configured; run ConfigureTPUEmbedding first",
    ):
        tpuless.abandon_step()


def test_abandon_step_in_a_graph_is_an_operation():
    engine = _t3()
    steps.enqueue(engine, [[0]])
    engine.receive()

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        operation = tpuless.abandon_step()
        assert isinstance(operation, tf.Operation)
        session.run(operation)

    assert tpuless.statistics().abandoned_steps == 1


def test_a_device_scope_chooses_the_task():
    cluster = tf.train.ClusterSpec({"worker": ["localhost:0"]})
    server = tf.distribute.Server(cluster, "worker", 0)
    _t3()

    with (
        tf.Graph().as_default(),
        tf.device("/job:worker/task:0"),
        tf.compat.v1.Session(server.target) as session,
    ):
        fetched = session.run(tpuless.statistics())

    # Another task, in which nothing is configured.
    assert fetched.message() == tpuless.Statistics()
    assert len(tpuless.statistics().tables) == 1


def test_the_embedding_ops_run_on_this_package():
    assert tpuless.is_active()


def test_examples_in_docstrings_are_true():
    results = doctest.testmod(_control)

    assert results.attempted > 5
    assert results.failed == 0
