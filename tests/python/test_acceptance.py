# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance cases of the lookup: samples, combiners, ids, shapes."""

import subprocess
import sys

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


def _t3(backend, batch_size=1, **table):
    return steps.one_table(backend, [T3], batch_size, **table)


def test_without_the_import_the_ops_have_no_kernels():
    """Acceptance case A1: it is the package that makes the difference."""
    script = """if True:
        import tensorflow as tf
        try:
            tf.raw_ops.RecvTPUEmbeddingActivations(num_outputs=1, config=b"")
        except tf.errors.NotFoundError as error:
            print("not found:", error.message)
    """

    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
    )

    assert result.stdout.startswith("not found: Could not find device")
    assert "RecvTPUEmbeddingActivations" in result.stdout


@both
def test_ragged_batch_of_the_wrong_size_is_refused(backend):
    """Acceptance case A2."""
    engine = _t3(backend, batch_size=2)

    for rows in ([[0], [1], [2]], [[0]]):
        with raw_ops.refused(
            backend.error("INVALID_ARGUMENT"),
            "input 0 (table 't'): row splits must be those of 2 samples, "
            f"got {len(rows)}",
        ):
            steps.enqueue(engine, rows)

    activations = steps.step(engine, [[0], [2]], np.zeros([2, 2]))
    np.testing.assert_array_equal(activations, T3[[0, 2]])


@both
def test_dense_batch_of_the_wrong_size_is_refused(backend):
    """Acceptance case A2."""
    engine = _t3(backend, batch_size=2)

    for ids in ([0, 1, 2], [0]):
        with raw_ops.refused(
            backend.error("INVALID_ARGUMENT"),
            f"table 't': must have 2 ids, one a sample, got {len(ids)}",
        ):
            engine.enqueue(
                "EnqueueTPUEmbeddingIntegerBatch", {"batch": [np.int32(ids)]}
            )

    engine.enqueue(
        "EnqueueTPUEmbeddingIntegerBatch", {"batch": [np.int32([2, 1])]}
    )
    np.testing.assert_array_equal(engine.receive()[0], T3[[2, 1]])


def _enqueue_sparse(engine, samples, ids):
    engine.enqueue(
        "EnqueueTPUEmbeddingSparseTensorBatch",
        {
            "sample_indices": [np.int32([[s, 0] for s in samples])],
            "embedding_indices": [np.int32(ids)],
            "aggregation_weights": [np.float32([])],
        },
        {"table_ids": [0]},
    )


@both
def test_sparse_batch_may_lack_samples_but_not_have_more(backend):
    """Acceptance case A2."""
    engine = _t3(backend, batch_size=2)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "input 0 (table 't'): sample index 2 of id 2 must be >= 0 and < 2",
    ):
        _enqueue_sparse(engine, [0, 1, 2], [0, 1, 2])

    _enqueue_sparse(engine, [1], [2])
    np.testing.assert_array_equal(engine.receive()[0], [[0, 0], [5, 6]])


@both
def test_samples_without_ids_are_zeros(backend):
    """Acceptance case A3."""
    engine = _t3(backend, batch_size=3)

    steps.enqueue(engine, [[2], [], []], mode_override="inference")
    some = engine.receive()[0]
    steps.enqueue(engine, [[], [], []], mode_override="inference")
    none = engine.receive()[0]

    np.testing.assert_array_equal(some, [[5, 6], [0, 0], [0, 0]])
    np.testing.assert_array_equal(none, np.zeros([3, 2]))


@pytest.mark.parametrize(
    ("optimizer", "num_slots"), [(configs.SGD, 0), ("adagrad", 1), ("adam", 2)]
)
@both
def test_a_batch_without_ids_changes_nothing(backend, optimizer, num_slots):
    """Acceptance case A3."""
    variables = [T3, *([T3 / 8] * num_slots)]
    engine = steps.one_table(backend, variables, 3, optimizer=optimizer)

    activations = steps.step(engine, [[], [], []], np.ones([3, 2]))

    np.testing.assert_array_equal(activations, np.zeros([3, 2]))
    for actual, expected in zip(engine.retrieve(0), variables, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("combiner", "weighted", "unweighted"),
    [
        ("sum", [7, 10], [6, 8]),
        ("mean", [2.333333, 3.333333], [3, 4]),
        ("sqrtn", [3.130495, 4.472136], [4.242641, 5.656854]),
    ],
)
@both
def test_combiners_and_weights(backend, combiner, weighted, unweighted):
    """Acceptance case A4."""
    engine = _t3(backend)

    steps.enqueue(engine, [[0, 2]], [[2, 1]], combiner, "inference")
    with_weights = engine.receive()[0]
    steps.enqueue(engine, [[0, 2]], None, combiner, "inference")
    without_weights = engine.receive()[0]

    steps.assert_close(with_weights, [weighted])
    steps.assert_close(without_weights, [unweighted])


@both
def test_weights_of_another_length_are_refused(backend):
    """Acceptance case A4."""
    engine = _t3(backend)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "input 0 (table 't'): aggregation_weights must be empty or one an id "
        "(2), got 3",
    ):
        steps.enqueue(engine, [[0, 2]], [[1, 2, 3]])

    steps.enqueue(engine, [[0, 2]])
    np.testing.assert_array_equal(engine.receive()[0], [[6, 8]])


@both
def test_unknown_combiner_is_refused(backend):
    """Acceptance case A4."""
    engine = _t3(backend)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "unknown combiner 'max', expected one of 'sum', 'mean', 'sqrtn'",
    ):
        steps.enqueue(engine, [[0, 2]], combiner="max")

    steps.enqueue(engine, [[0, 2]])
    np.testing.assert_array_equal(engine.receive()[0], [[6, 8]])


@pytest.mark.parametrize("ids", [[-1], [3], [0, 3]], ids=str)
@both
def test_ids_outside_of_the_table_are_refused(backend, ids):
    """Acceptance case A5."""
    engine = _t3(backend, batch_size=2)
    before = engine.statistics()

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        f"input 0 (table 't'): id {ids[-1]} of sample 1 "
        f"(embedding_indices[{len(ids)}]) must be >= 0 and < vocabulary_size "
        "(3)",
    ):
        steps.enqueue(engine, [[1], ids])

    assert engine.statistics() == before
    activations = steps.step(engine, [[1], [2]], np.zeros([2, 2]))
    np.testing.assert_array_equal(activations, T3[[1, 2]])


@both
def test_ids_outside_of_the_table_can_be_skipped(backend):
    """Acceptance case A5: their weights are skipped as well."""
    engine = backend(
        configs.config(configs.table(), batch_size=1),
        out_of_range_ids="skip",
    )
    engine.load(0, [T3])

    for combiner in ("sum", "mean", "sqrtn"):
        steps.enqueue(engine, [[-1, 2]], [[9, 1]], combiner)
        np.testing.assert_array_equal(engine.receive()[0], [[5, 6]])
        engine.send([np.zeros([1, 2], np.float32)])


@both
def test_sequence_longer_than_its_maximum_is_cut(backend):
    """Acceptance case A8: what is cut off is not trained."""
    config = configs.config(
        configs.table(
            vocabulary_size=10, dimension=1, num_features=2, learning_rate=1
        )
    )
    rows = np.arange(10, dtype=np.float32)[:, np.newaxis]
    engine = backend(config)
    engine.load(0, [rows])

    engine.enqueue(
        "EnqueueTPUEmbeddingRaggedTensorBatch",
        steps.ragged([[7, 8, 9], [1]]),
        {"table_ids": [0], "max_sequence_lengths": [2]},
    )
    (activations,) = engine.receive()
    engine.send([np.ones([4, 1], np.float32)])

    np.testing.assert_array_equal(
        activations.reshape(2, 2, 1), [[[7], [8]], [[1], [0]]]
    )
    expected = rows.copy()
    expected[[7, 8, 1]] -= 1
    np.testing.assert_array_equal(engine.retrieve(0)[0], expected)


@both
def test_weight_of_a_sequence_position_scales_it(backend):
    """Acceptance case A8."""
    engine = steps.one_table(backend, [T3], num_features=2)

    engine.enqueue(
        "EnqueueTPUEmbeddingRaggedTensorBatch",
        steps.ragged([[0, 2]], [[2, 0.5]]),
        {"table_ids": [0], "max_sequence_lengths": [2]},
    )

    np.testing.assert_array_equal(engine.receive()[0], [[2, 4], [2.5, 3]])


@both
def test_shapes_of_feature_descriptors(backend):
    """Acceptance case A14."""
    shapes = [(100, 5), (200, 5, 20), (50,), (100, 2, 3)]
    tables = (0, 1, 0, 0)
    config = configs.config(
        configs.table("a", 30, 10, 0),
        configs.table("b", 40, 20, 0),
        features=[
            (f"f{i}", table, shape)
            for i, (table, shape) in enumerate(zip(tables, shapes))
        ],
    )
    rng = np.random.default_rng(1)
    weights = [
        rng.standard_normal([30, 10], np.float32),
        rng.standard_normal([40, 20], np.float32),
    ]
    engine = backend(config)
    for table, variable in enumerate(weights):
        engine.load(table, [variable])
    ids = [rng.integers(0, 30, shape) for shape in shapes]

    engine.enqueue(
        "EnqueueTPUEmbeddingArbitraryTensorBatch",
        {
            "sample_indices_or_row_splits": [np.int32([])] * 4,
            "embedding_indices": [one.reshape(-1) for one in ids],
            "aggregation_weights": [np.float32([])] * 4,
        },
    )
    activations = engine.receive()

    assert [a.shape for a in activations] == [
        (100, 5, 10),
        (200, 5, 20, 20),
        (50, 10),
        (100, 2, 3, 10),
    ]
    for table, one, actual in zip(tables, ids, activations, strict=True):
        np.testing.assert_array_equal(actual, weights[table][one])


@both
def test_shape_without_feature_descriptors(backend):
    """Acceptance case A14."""
    engine = backend(configs.config(configs.table("t", 5, 4, 3), batch_size=8))
    engine.load(0, [np.zeros([5, 4], np.float32)])

    engine.enqueue(
        "EnqueueTPUEmbeddingIntegerBatch", {"batch": [np.zeros(24, np.int32)]}
    )

    assert engine.receive()[0].shape == (24, 4)


def test_another_number_of_outputs_is_refused():
    """Acceptance case A14."""
    config = configs.config(configs.table("t", 5, 4, 3), batch_size=8)
    engine = raw_ops.RawOpsBackend(config)
    engine.load(0, [np.zeros([5, 4], np.float32)])

    with raw_ops.refused(
        tf.errors.InvalidArgumentError, "num_outputs must be 1, got 2"
    ):
        tf.raw_ops.RecvTPUEmbeddingActivations(num_outputs=2, config=config)


@both
def test_lookups_see_simulated_quantization(backend):
    """Acceptance case A23."""
    values = np.float32([[-2], [-0.26], [-0.24], [0.25], [0.74], [0.76], [3]])
    engine = steps.one_table(
        backend, [values], 7, learning_rate=1, quantization=(-1, 1, 5)
    )

    activations = steps.step(
        engine, [[row] for row in range(7)], np.full([7, 1], 0.125)
    )

    np.testing.assert_array_equal(
        activations[:, 0], [-1, -0.5, 0, 0.5, 0.5, 1, 1]
    )
    np.testing.assert_array_equal(engine.retrieve(0)[0], values - 0.125)
