# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator's receive and send, and how they wait."""

import signal
import threading

import configs
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from raw_ops import refused
from steps import T3


def test_a_step_updates_the_rows_that_were_looked_up(movies):
    movies.enqueue({"watched": [[0, 2], [1]]})
    (activations,) = movies.receive()
    movies.send([np.float32([[1, 2], [3, 4]])])

    np.testing.assert_array_equal(activations, [[6, 8], [3, 4]])
    assert activations.dtype == np.float32
    np.testing.assert_allclose(
        movies.retrieve("movie")[0],
        [[0.9, 1.8], [2.7, 3.6], [4.9, 5.8]],
        rtol=2e-6,
    )


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.float32]
)
def test_gradients_are_cast_to_float32(dtype, simulate, movies_config):
    simulator = simulate(movies_config(learning_rate=1))
    simulator.load("movie", np.ones_like(T3))
    simulator.enqueue({"watched": [0, 1]})
    simulator.receive()
    gradient = np.full([2, 2], 0.1, dtype)

    simulator.send([gradient])

    expected = np.float32(1) - gradient.astype(np.float32)
    np.testing.assert_array_equal(simulator.retrieve("movie")[0][:2], expected)


def test_gradients_that_are_not_floats_are_refused(movies):
    movies.enqueue({"watched": [0, 1]})
    movies.receive()

    with refused(
        ValueError,
        "gradients[0] must have a dtype of 'float32', 'float64', 'float16', "
        "'bfloat16', got 'int32'",
    ):
        movies.send([np.ones([2, 2], np.int32)])

    movies.send([np.ones([2, 2])])  # The step is as it was.


def test_a_single_gradient_is_still_a_list(movies):
    with refused(
        ValueError, "gradients must be a list of arrays, got a single ndarray"
    ):
        movies.send(np.ones([2, 2]))


def test_gradients_of_another_shape_are_refused(movies):
    with refused(
        ValueError,
        "feature 'watched': gradients must have shape [2, 2], got [2, 3]",
    ):
        movies.send([np.ones([2, 3])])


def test_a_gradient_may_change_after_it_was_sent(simulate):
    config = configs.config(
        configs.table("movie", num_features=0, learning_rate=1),
        features=[("watched", 0, [2])],
        pipelined=True,
    )
    simulator = simulate(config)
    simulator.load("movie", T3)
    gradient = np.ones([2, 2], np.float32)
    simulator.enqueue({"watched": [0, 1]})
    simulator.receive()

    simulator.send([gradient])  # Parked until the next step's lookup.
    gradient[:] = np.nan

    np.testing.assert_array_equal(
        simulator.retrieve("movie")[0], [[0, 1], [2, 3], [5, 6]]
    )


@pytest.mark.parametrize(
    "rate",
    [
        0.5,
        np.float32(0.5),
        np.float64(0.5),
        np.array(0.5),
        tf.constant(0.5),
        tf.Variable(0.5),
    ],
    ids=lambda rate: type(rate).__name__,
)
def test_a_learning_rate_is_any_number(rate, simulate, movies_config):
    simulator = simulate(movies_config(tag=0))
    simulator.load("movie", T3)
    simulator.enqueue({"watched": [0, 1]})
    simulator.receive()

    simulator.send([np.ones([2, 2])], [rate])

    np.testing.assert_array_equal(
        simulator.retrieve("movie")[0], [[0.5, 1.5], [2.5, 3.5], [5, 6]]
    )


def test_a_learning_rate_is_a_scalar(simulate, movies_config):
    simulator = simulate(movies_config(tag=0))
    simulator.load("movie", T3)

    with refused(
        ValueError,
        "learning_rates[0] must be a float32 scalar, got shape [1]",
    ):
        simulator.send([np.ones([2, 2])], [[0.5]])


def test_learning_rates_are_as_many_as_tags(movies):
    with refused(
        ValueError, "must have 0 learning rates, one a dynamic tag, got 1"
    ):
        movies.send([np.ones([2, 2])], [0.5])


@pytest.mark.parametrize("num_threads", [2, 3, 8])
def test_any_number_of_threads_gives_the_same_bits(num_threads, simulate):
    config = configs.config(
        configs.table("a", 5000, 16, 0, optimizer="adagrad"),
        configs.table("b", 300, 7, 0, optimizer="adagrad"),
        features=[("x", 0, [512]), ("y", 1, [512]), ("z", 0, [512, 3])],
    )
    results = []

    for threads in (1, num_threads):
        rng = np.random.default_rng(5)
        simulator = simulate(config, num_threads=threads)
        for table, shape in (("a", (5000, 16)), ("b", (300, 7))):
            simulator.load(
                table,
                rng.standard_normal(shape, np.float32),
                np.full(shape, 0.1, np.float32),
            )
        for _ in range(3):
            simulator.enqueue(
                {
                    "x": rng.integers(5000, size=[512, 20]),
                    "y": rng.integers(300, size=[512, 9]),
                    "z": rng.integers(5000, size=[512, 3]),
                },
                combiners="mean",
            )
            simulator.receive()
            simulator.send(
                [
                    rng.standard_normal(shape, np.float32)
                    for shape in simulator.output_shapes
                ]
            )
        results.append(simulator.retrieve("a") + simulator.retrieve("b"))

    for one, several in zip(*results, strict=True):
        np.testing.assert_array_equal(one, several)


def test_receive_waits_for_another_thread_to_enqueue(simulate, movies_config):
    simulator = simulate(movies_config())
    simulator.load("movie", T3)
    received = []
    thread = threading.Thread(
        target=lambda: received.extend(simulator.receive())
    )

    thread.start()  # Waits without the GIL, or nobody would enqueue.
    simulator.enqueue({"watched": [0, 1]})
    thread.join()

    np.testing.assert_array_equal(received[0], T3[:2])


def test_cores_wait_for_each_other(simulate):
    config = configs.config(
        configs.table("movie", num_features=0, learning_rate=1),
        features=[("watched", 0, [1])],
        cores=2,
    )
    simulator = simulate(config)
    simulator.load("movie", np.zeros_like(T3))
    received = {}

    def train(core):
        for step in range(20):
            simulator.enqueue({"watched": [core]}, core=core)
            received[core, step] = simulator.receive(core)[0][0, 0]
            simulator.send([np.ones([1, 2])], core=core)

    threads = [threading.Thread(target=train, args=[core]) for core in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert received == {
        (core, step): -step for core in (0, 1) for step in range(20)
    }
    assert simulator.statistics().steps == 20


def test_waiting_in_vain_is_a_timeout_error(movies):
    with refused(
        TimeoutError,
        "receive: no enqueued batch after 0.1 s on core 0; an "
        "EnqueueTPUEmbedding op is missing",
    ):
        movies.receive()
    with refused(
        TimeoutError,
        "send: no received batch after 0.1 s on core 0; "
        "RecvTPUEmbeddingActivations is missing",
    ):
        movies.send([np.ones([2, 2])])


def test_an_interrupt_ends_a_call_that_waits(simulate, movies_config):
    simulator = simulate(movies_config())
    simulator.load("movie", T3)
    # The signal comes while the main thread waits, a moment later. What runs
    # in the background of a shell is started with this signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])

    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            simulator.receive()
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)

    # The call that was interrupted has taken nothing.
    simulator.enqueue({"watched": [0, 1]})
    np.testing.assert_array_equal(simulator.receive()[0], T3[:2])


def test_what_a_signal_handler_raises_ends_a_call(simulate, movies_config):
    simulator = simulate(movies_config())
    simulator.load("movie", T3)

    def handle(signum, frame):
        raise ZeroDivisionError("by the handler")

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with refused(ZeroDivisionError, "by the handler"):
            simulator.receive()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_signal_handler_that_returns_ends_nothing(simulate, movies_config):
    simulator = simulate(movies_config())
    simulator.load("movie", T3)

    def handle(signum, frame):
        simulator.enqueue({"watched": [0, 1]})

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        (activations,) = simulator.receive()
    finally:
        signal.signal(signal.SIGALRM, before)

    np.testing.assert_array_equal(activations, T3[:2])
