# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""set_options, as a function and as an op."""

import math

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


def _t3():
    return steps.one_table(raw_ops.RawOpsBackend, [T3])


def test_a_receive_timeout_is_obeyed():
    engine = _t3()

    tpuless.set_options(receive_timeout=0.05)

    with raw_ops.refused(
        tf.errors.DeadlineExceededError,
        "receive: no enqueued batch after 0.05 s on core 0; "
        "an EnqueueTPUEmbedding op is missing",
    ):
        engine.receive()


def test_a_queue_limit_is_obeyed():
    engine = _t3()

    tpuless.set_options(receive_timeout=0.05, queue_limit=1)

    steps.enqueue(engine, [[0]])
    with raw_ops.refused(
        tf.errors.DeadlineExceededError,
        "enqueue: no room in the queue of 1 batches after 0.05 s on core 0; "
        "RecvTPUEmbeddingActivations is missing",
    ):
        steps.enqueue(engine, [[0]])


def test_ids_out_of_range_are_skipped_if_asked_for():
    engine = _t3()

    tpuless.set_options(out_of_range_ids="skip")
    steps.enqueue(engine, [[-1, 2]], [[9, 1]])

    np.testing.assert_array_equal(engine.receive()[0], [[5, 6]])


def test_an_option_that_is_not_given_stays():
    engine = _t3()

    tpuless.set_options(out_of_range_ids="skip")
    tpuless.set_options(receive_timeout=30)
    tpuless.set_options()
    steps.enqueue(engine, [[-1, 2]])

    np.testing.assert_array_equal(engine.receive()[0], [[5, 6]])


def test_options_outlive_a_reset():
    tpuless.set_options(out_of_range_ids="skip")
    tpuless.reset()
    engine = _t3()
    steps.enqueue(engine, [[7]])

    np.testing.assert_array_equal(engine.receive()[0], [[0, 0]])


def test_options_are_set_by_a_graph():
    engine = _t3()

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        operation = tpuless.set_options(out_of_range_ids="skip")
        assert isinstance(operation, tf.Operation)
        session.run(operation)
    steps.enqueue(engine, [[7]])

    np.testing.assert_array_equal(engine.receive()[0], [[0, 0]])


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            "receive_timeout",
            0,
            "receive_timeout must be > 0 and <= 1e+09 seconds, got 0",
        ),
        (
            "receive_timeout",
            -1.5,
            "receive_timeout must be > 0 and <= 1e+09 seconds, got -1.5",
        ),
        (
            "receive_timeout",
            math.inf,
            "receive_timeout must be > 0 and <= 1e+09 seconds, got inf",
        ),
        (
            "receive_timeout",
            math.nan,
            "receive_timeout must be > 0 and <= 1e+09 seconds, got nan",
        ),
        ("queue_limit", -1, "queue_limit must be >= 0, got -1"),
        (
            "experimental_optimizers",
            "False",
            "experimental_optimizers must be True or False, got 'False'",
        ),
        (
            "experimental_optimizers",
            1,
            "experimental_optimizers must be True or False, got 1",
        ),
        (
            "out_of_range_ids",
            "drop",
            "unknown out_of_range_ids 'drop', expected one of 'error', 'skip'",
        ),
    ],
)
def test_an_option_out_of_its_range_is_refused(option, value, message):
    with raw_ops.refused(ValueError, message):
        tpuless.set_options(**{option: value})


def test_an_unknown_option_is_refused():
    with raw_ops.refused(
        TypeError,
        "set_options() got an unexpected keyword argument 'timeout'",
    ):
        tpuless.set_options(timeout=3)


def test_a_queue_limit_is_a_whole_number():
    with raw_ops.refused(
        TypeError, "'float' object cannot be interpreted as an integer"
    ):
        tpuless.set_options(queue_limit=1.5)
