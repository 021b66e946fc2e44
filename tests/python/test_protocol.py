# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The step protocol where nothing fails: order, cores, pipelining, modes."""

import concurrent.futures
import random

import configs
import numpy as np
import pytest
import raw_ops
import steps
from reference import Reference, WouldWaitError
from steps import T3

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)

_ROWS, _DIMENSION, _BATCH = 6, 3, 3


def _config(cores, pipelined=False, **table):
    table = {"optimizer": "adagrad", "tag": 0, **table}
    return configs.config(
        configs.table("t", _ROWS, _DIMENSION, **table),
        batch_size=_BATCH,
        cores=cores,
        pipelined=pipelined,
    )


def _variables(rng):
    return [
        rng.standard_normal([_ROWS, _DIMENSION], np.float32),
        np.full([_ROWS, _DIMENSION], 0.5, np.float32),
    ]


class _Core:
    """Makes one core's calls to an engine and to the reference."""

    def __init__(self, engine, reference, core, rng, plan):
        self._engine = engine
        self._reference = reference
        self._core = core
        self._rng = rng
        # Modes of the batches, in order; indices into it of what is done.
        self._plan = plan
        self._enqueued = self._received = self._sent = 0

    def done(self):
        return (
            self._received == len(self._plan) and self._next_to_send() is None
        )

    def _next_to_send(self):
        for i in range(self._sent, self._received):
            if self._plan[i] == "train":
                return i
        return None

    def calls(self):
        """Returns what this core may do next, waiting or not."""
        calls = []
        if self._enqueued < len(self._plan):
            calls.append(self._enqueue)
        if self._received < self._enqueued:
            calls.append(self._receive)
        if self._next_to_send() is not None:
            calls.append(self._send)
        return calls

    def _enqueue(self):
        rows = [
            self._rng.integers(0, _ROWS, self._rng.integers(0, 4)).tolist()
            for _ in range(_BATCH)
        ]
        lists, attrs = steps.ragged(rows), {"table_ids": [0]}
        op = "EnqueueTPUEmbeddingRaggedTensorBatch"
        mode = self._plan[self._enqueued]
        self._reference.enqueue(op, lists, attrs, mode, self._core)
        self._engine.enqueue(op, lists, attrs, mode, self._core)
        self._enqueued += 1

    def _receive(self):
        expected = self._reference.receive(self._core)
        actual = self._engine.receive(self._core)
        self._received += 1
        np.testing.assert_allclose(actual[0], expected[0], rtol=2e-5, atol=2e-6)

    def _send(self):
        index = self._next_to_send()
        shape = [_BATCH, _DIMENSION]
        gradient = self._rng.standard_normal(shape, np.float32)
        step = self._plan[:index].count("train")
        rates = [0.1 / (1 + step)]
        self._reference.send([gradient], rates, self._core)
        self._engine.send([gradient], rates, self._core)
        self._sent = index + 1


def _interleave(engine, reference, cores, chooser):
    while not all(core.done() for core in cores):
        calls = [call for core in cores for call in core.calls()]
        chooser.shuffle(calls)
        for call in calls:
            try:
                call()
            except WouldWaitError:
                continue
            break
        else:
            raise AssertionError("every call would wait")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pipelined", [False, True], ids=["", "pipelined"])
@pytest.mark.parametrize("num_cores", [1, 2, 4])
@both
def test_any_order_of_calls_agrees_with_the_reference(
    backend, num_cores, pipelined, seed
):
    rng = np.random.default_rng(seed)
    chooser = random.Random(seed)
    # Every third time one update a contribution, in the order of the cores.
    config = _config(
        num_cores, pipelined, accumulate=seed % 3 != 0, weight_decay=0.125
    )
    engine, reference = backend(config, receive_timeout=10), Reference(config)
    variables = _variables(rng)
    engine.load(0, variables)
    reference.load(0, variables)
    plans = []
    for _ in range(num_cores):
        plan = ["train"] * 6 + ["inference"] * (2 * (seed % 2))
        chooser.shuffle(plan)
        plans.append(plan)
    cores = [
        _Core(engine, reference, core, rng, plan)
        for core, plan in enumerate(plans)
    ]

    _interleave(engine, reference, cores, chooser)

    for actual, expected in zip(
        engine.retrieve(0), reference.retrieve(0), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-6)
    assert engine.statistics().steps == 6
    assert engine.statistics().queued_batches == 0


def _train_all_at_once(engine, num_cores, num_steps):
    """Trains on all cores at the same time, each in a thread of its own."""
    rng = np.random.default_rng(3)
    ids = rng.integers(0, _ROWS, [num_cores, num_steps, _BATCH])
    gradients = rng.standard_normal(
        [num_cores, num_steps, _BATCH, _DIMENSION], np.float32
    )

    def train(core):
        activations = []
        for step in range(num_steps):
            rows = [[one] for one in ids[core, step]]
            steps.enqueue(engine, rows, core=core)
            activations += engine.receive(core)
            engine.send([gradients[core, step]], [0.1], core)
        return activations

    with concurrent.futures.ThreadPoolExecutor(num_cores) as pool:
        return list(pool.map(train, range(num_cores)))


@pytest.mark.parametrize("pipelined", [False, True], ids=["", "pipelined"])
@both
def test_gradients_are_summed_in_the_order_of_the_cores(backend, pipelined):
    config = _config(4, pipelined)
    variables = _variables(np.random.default_rng(2))
    results = []

    for _ in range(5):
        engine = backend(config, receive_timeout=30)
        engine.load(0, variables)
        activations = _train_all_at_once(engine, 4, 8)
        results.append([*np.ravel(activations), *np.ravel(engine.retrieve(0))])
        engine.close()

    # Bit by bit, whichever core came first.
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@both
def test_a_core_waits_for_the_gradients_of_the_others(backend):
    engine = backend(_config(2), receive_timeout=30)
    variables = _variables(np.random.default_rng(2))
    engine.load(0, variables)
    gradient = np.ones([_BATCH, _DIMENSION], np.float32)
    for core in (0, 1):
        steps.enqueue(engine, [[0], [1], [2]], core=core)
        engine.receive(core)
    engine.send([gradient], [1], 0)
    steps.enqueue(engine, [[0], [1], [2]], core=0)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        receive = pool.submit(engine.receive, 0)
        with pytest.raises(concurrent.futures.TimeoutError):
            receive.result(timeout=0.2)
        engine.send([gradient], [1], 1)
        (activations,) = receive.result()

    expected = variables[0][:3] - 2 / np.sqrt(0.5 + 4)
    np.testing.assert_allclose(activations, expected, rtol=2e-6, atol=2e-6)


@both
def test_a_receive_waits_for_its_batch(backend):
    engine = steps.one_table(backend, [T3])

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        receive = pool.submit(engine.receive)
        with pytest.raises(concurrent.futures.TimeoutError):
            receive.result(timeout=0.2)
        steps.enqueue(engine, [[1]])

        np.testing.assert_array_equal(receive.result()[0], [[3, 4]])


@both
def test_a_send_waits_for_its_receive(backend):
    engine = steps.one_table(backend, [T3], learning_rate=1)
    steps.enqueue(engine, [[1]])

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        send = pool.submit(engine.send, [np.ones([1, 2], np.float32)])
        with pytest.raises(concurrent.futures.TimeoutError):
            send.result(timeout=0.2)
        np.testing.assert_array_equal(engine.receive()[0], [[3, 4]])
        send.result()

    np.testing.assert_array_equal(
        engine.retrieve(0)[0], [[1, 2], [2, 3], [5, 6]]
    )


@both
def test_batches_are_received_in_the_order_of_their_enqueues(backend):
    engine = steps.one_table(backend, [T3])
    for row in (2, 0, 1):
        steps.enqueue(engine, [[row]])

    received = []
    for _ in range(3):
        received.append(engine.receive()[0])
        engine.send([np.zeros([1, 2], np.float32)])

    np.testing.assert_array_equal(np.concatenate(received), T3[[2, 0, 1]])


@pytest.mark.parametrize(
    ("pipelined", "expected"), [(False, [0, 1, 2, 3]), (True, [0, 0, 1, 2])]
)
@both
def test_pipelined_activations_are_one_step_old(backend, pipelined, expected):
    config = configs.config(
        configs.table("t", 1, 1, learning_rate=1),
        batch_size=1,
        pipelined=pipelined,
    )
    engine = backend(config)
    engine.load(0, [np.zeros([1, 1], np.float32)])

    activations = [steps.step(engine, [[0]], [[-1]])[0, 0] for _ in range(4)]

    assert activations == expected
    assert engine.retrieve(0)[0] == 4


def _parked(backend):
    """Returns an engine whose first step, from 0 to 1, is parked."""
    config = configs.config(
        configs.table("t", 1, 1, learning_rate=1),
        batch_size=1,
        pipelined=True,
    )
    engine = backend(config)
    engine.load(0, [np.zeros([1, 1], np.float32)])
    steps.step(engine, [[0]], [[-1]])
    return engine


@both
def test_an_inference_receive_sees_the_parked_step(backend):
    engine = _parked(backend)

    steps.enqueue(engine, [[0]], mode_override="inference")

    assert engine.receive()[0] == 1


@both
def test_retrieve_sees_the_parked_step(backend):
    engine = _parked(backend)

    assert engine.retrieve(0)[0] == 1


@both
def test_load_comes_after_the_parked_step(backend):
    engine = _parked(backend)

    engine.load(0, [np.float32([[5]])])

    assert engine.retrieve(0)[0] == 5


@both
def test_load_comes_before_the_gradients_of_an_open_step(backend):
    engine = steps.one_row(backend, 1, learning_rate=1)
    steps.enqueue(engine, [[0]])
    engine.receive()

    engine.load(0, [np.float32([[5]])])
    engine.send([np.float32([[-1]])])

    assert engine.retrieve(0)[0] == 6


@both
def test_retrieve_in_an_open_step_sees_the_steps_before(backend):
    engine = steps.one_row(backend, 1, learning_rate=1)
    steps.enqueue(engine, [[0]])
    engine.receive()

    assert engine.retrieve(0)[0] == 1

    engine.send([np.float32([[-1]])])
    assert engine.retrieve(0)[0] == 2


@both
def test_inference_between_training_batches_takes_no_gradient(backend):
    engine = steps.one_row(backend, 1, learning_rate=1)
    for mode in ("train", "inference", "train", "inference"):
        steps.enqueue(engine, [[0]], mode_override=mode)

    received = []
    for sends in (True, False, True, False):
        received.append(float(engine.receive()[0][0, 0]))
        if sends:
            engine.send([np.float32([[-1]])])

    assert received == [1, 2, 2, 3]


@both
def test_inference_waits_for_the_steps_received_before_it(backend):
    engine = steps.one_row(backend, 1, learning_rate=1)
    steps.enqueue(engine, [[0]])
    steps.enqueue(engine, [[0]], mode_override="inference")
    engine.receive()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        receive = pool.submit(engine.receive)
        with pytest.raises(concurrent.futures.TimeoutError):
            receive.result(timeout=0.2)
        engine.send([np.float32([[-1]])])

        assert receive.result()[0] == 2


@pytest.mark.parametrize("mode", ["train", "training"])
@both
def test_training_wins_over_an_inference_configuration(backend, mode):
    config = configs.config(
        configs.table("t", 1, 1, learning_rate=1),
        batch_size=1,
        mode=configs.INFERENCE,
    )
    engine = backend(config)
    engine.load(0, [np.float32([[1]])])

    steps.enqueue(engine, [[0]])
    engine.receive()
    steps.step(engine, [[0]], [[-1]], mode_override=mode)

    assert engine.retrieve(0)[0] == 2


@both
def test_backward_only_needs_no_receive(backend):
    engine = steps.one_row(backend, 1, learning_rate=1)

    steps.enqueue(engine, [[0]], mode_override="backward_pass_only")
    engine.send([np.float32([[-1]])])

    assert engine.retrieve(0)[0] == 2
    assert engine.statistics().receives == 0


@both
def test_receive_passes_over_a_backward_only_batch(backend):
    engine = steps.one_row(backend, 1, learning_rate=1)
    steps.enqueue(engine, [[0]], mode_override="backward_pass_only")
    steps.enqueue(engine, [[0]], mode_override="inference")

    assert engine.receive()[0] == 1

    engine.send([np.float32([[-1]])])
    assert engine.retrieve(0)[0] == 2


@both
def test_enqueue_waits_for_room_in_the_queue(backend):
    engine = backend(
        configs.config(batch_size=1), queue_limit=2, receive_timeout=30
    )
    engine.load(0, [T3])
    for row in (0, 1):
        steps.enqueue(engine, [[row]], mode_override="inference")

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        enqueue = pool.submit(
            steps.enqueue, engine, [[2]], mode_override="inference"
        )
        with pytest.raises(concurrent.futures.TimeoutError):
            enqueue.result(timeout=0.2)
        received = [engine.receive()[0]]
        enqueue.result()
        received += [engine.receive()[0] for _ in range(2)]

    np.testing.assert_array_equal(np.concatenate(received), T3)


@both
def test_a_queue_limit_of_zero_is_none(backend):
    engine = backend(configs.config(batch_size=1), queue_limit=0)

    for _ in range(1000):
        steps.enqueue(engine, [[0]])

    assert engine.statistics().queued_batches == 1000
