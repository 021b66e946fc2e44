# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The forms in which the simulator takes a batch of ids."""

import configs
import numpy as np
import pytest
import tensorflow as tf
from lookups import ROWS, first_columns, one_feature, three_features
from raw_ops import refused


@pytest.fixture
def receive(simulate):
    """Returns what enqueues one feature of a shape, and its activations."""

    def enqueue_and_receive(shape, ids, weights=None, **options):
        simulator = one_feature(simulate, shape)
        simulator.enqueue(
            {"watched": ids},
            None if weights is None else {"watched": weights},
            **options,
        )
        (activations,) = simulator.receive()
        assert activations.shape == (*shape, 2)
        # The second column of a row says nothing new.
        np.testing.assert_allclose(
            activations[..., 1], 100 * activations[..., 0], rtol=1e-6
        )
        return activations[..., 0].tolist()

    return enqueue_and_receive


# One id an element.


@pytest.mark.parametrize(
    "ids",
    [
        [3, 4],
        (3, 4),
        np.int32([3, 4]),
        np.int64([3, 4]),
        np.array([3, 4], ">i8"),
        np.int64([[3], [4]]),
        np.arange(10)[3:5],
        np.int32([4, 3])[::-1],
        tf.constant([3, 4]),
        [np.int32(3), np.int32(4)],
    ],
)
def test_an_array_has_one_id_an_element(ids, receive):
    assert receive([2], ids) == [3, 4]


@pytest.mark.parametrize(
    "ids",
    [
        [[1, 2, 3], [4, 5, 6]],
        np.int32([[1, 2, 3], [4, 5, 6]]),
        np.asfortranarray([[1, 2, 3], [4, 5, 6]]),
        np.arange(1, 7),
        np.arange(1, 7).reshape([2, 3, 1]),
    ],
)
def test_an_array_has_the_shape_of_its_feature(ids, receive):
    assert receive([2, 3], ids) == [[1, 2, 3], [4, 5, 6]]


def test_weights_of_an_array_are_an_array(receive):
    assert receive([2], [3, 4], [2, 0.5]) == [6, 2]
    assert receive([2], np.int32([3, 4]), np.float64([2, 0.5])) == [6, 2]


# Several ids an element.


@pytest.mark.parametrize(
    "ids",
    [
        [[1, 2], [3, 4]],
        np.int64([[1, 2], [3, 4]]),
        [np.int32([1, 2]), np.int64([3, 4])],
        tf.constant([[1, 2], [3, 4]]),
    ],
)
def test_one_more_axis_is_combined(ids, receive):
    assert receive([2], ids) == [3, 7]
    assert receive([2], ids, combiners="mean") == [1.5, 3.5]
    assert receive([2], ids, [[1, 0], [0, 2]]) == [1, 8]


def test_one_more_axis_may_be_empty(receive):
    assert receive([2], np.zeros([2, 0], np.int64)) == [0, 0]


def test_one_more_axis_of_an_array_of_features_is_combined(receive):
    assert receive([2, 2], np.arange(8).reshape([2, 2, 2])) == [[1, 5], [9, 13]]


def test_rows_may_differ_in_length(receive):
    ids = [[7, 8, 9], [], [1]]

    assert receive([3], ids) == [24, 0, 1]
    assert receive([3], ids, [[1, 2, 3], [], [4]]) == [50, 0, 4]
    assert receive([3], ids, combiners="mean") == [8, 0, 1]


def test_all_rows_may_be_empty(receive):
    assert receive([2], [[], []]) == [0, 0]


def test_rows_of_a_sequence_follow_each_other(receive):
    # The acceptance case of sequence features: what is too long is dropped.
    assert receive([2, 2], [[7, 8, 9], [1]]) == [[7, 8], [1, 0]]


def test_rows_of_elements_are_combined(receive):
    ids = [[[1, 2], [3]], [[], [4, 5, 6]]]

    assert receive([2, 2], ids) == [[3, 3], [0, 15]]
    assert receive([2, 2], ids, [[[1, 2], [3]], [[], [1, 0, 0]]]) == [
        [5, 9],
        [0, 4],
    ]


# TensorFlow's tensors.


def test_a_ragged_tensor_is_rows(receive):
    ids = tf.ragged.constant([[7, 8, 9], [1]])
    weights = tf.ragged.constant([[1.0, 2.0, 3.0], [4.0]])

    assert receive([2], ids) == [24, 1]
    assert receive([2], ids, weights) == [50, 4]
    assert receive([2, 2], ids) == [[7, 8], [1, 0]]


def test_a_ragged_tensor_of_rows_is_combined(receive):
    ids = tf.ragged.constant([[[1, 2], [3]], [[], [4, 5, 6]]])

    assert receive([2, 2], ids) == [[3, 3], [0, 15]]


def test_a_sparse_tensor_is_combined(receive):
    ids = tf.sparse.from_dense([[0, 7, 8], [1, 0, 0]])
    weights = tf.SparseTensor(ids.indices, [2.0, 3.0, 4.0], ids.dense_shape)

    assert receive([2], ids) == [15, 1]
    assert receive([2], ids, weights) == [38, 4]


def test_a_sparse_tensor_of_a_sequence_gives_positions(receive):
    ids = tf.sparse.from_dense([[0, 7, 8], [1, 0, 0]])

    assert receive([2, 2], ids) == [[0, 7], [1, 0]]


def test_an_empty_sparse_tensor_is_nothing(receive):
    ids = tf.sparse.from_dense(np.zeros([2, 3], np.int64))

    assert receive([2], ids) == [0, 0]


# Several features and tables.


def test_features_are_given_by_name_or_in_order(simulate):
    simulator = three_features(simulate)
    x, y, z = [1, 2], [[3, 3], [4]], [5, 6]

    for features in ({"z": z, "y": y, "x": x}, [x, y, z]):
        simulator.enqueue(features)
        assert first_columns(simulator) == [[1, 2], [6, 4], [5, 6]]


@pytest.mark.parametrize(
    "weights", [{"y": [[1, 2], [3]]}, [None, [[1, 2], [3]], None]]
)
def test_weights_may_be_left_out(weights, simulate):
    simulator = three_features(simulate)

    simulator.enqueue([[1, 2], [[3, 3], [4]], [5, 6]], weights)

    assert first_columns(simulator) == [[1, 2], [9, 12], [5, 6]]


@pytest.mark.parametrize(
    ("combiners", "expected"),
    [
        ((), [8, 8, 8]),
        ("mean", [4, 4, 4]),
        ({"b": "mean"}, [8, 4, 8]),
        ({"b": "mean", "a": "sum"}, [8, 4, 8]),
        (["mean", "sum"], [4, 8, 4]),
    ],
)
def test_combiners_are_of_tables(combiners, expected, simulate):
    simulator = three_features(simulate)

    simulator.enqueue([[[3, 5], [0]]] * 3, combiners=combiners)

    assert [column[0] for column in first_columns(simulator)] == expected


def test_without_features_tables_are_given(simulate):
    simulator = simulate(
        configs.config(
            configs.table("a", 10, 2, num_features=2),
            configs.table("b", 10, 2),
            mode=configs.INFERENCE,
        )
    )
    simulator.load("a", ROWS)
    simulator.load("b", ROWS)

    for a in ([[1, 2], [3, 4]], np.int32([[1, 2], [3, 4]]), [1, 2, 3, 4]):
        simulator.enqueue({"a": np.array(a), "b": [[5, 6], []]})
        # A table's rows are sample by sample, its features side by side.
        assert first_columns(simulator) == [[1, 2, 3, 4], [11, 0]]


def test_mode_override_and_core_are_handed_on(simulate):
    simulator = simulate(
        configs.config(
            configs.table("movie", 10, 2, 0),
            features=[("watched", 0, [2])],
            cores=2,
        ),
        receive_timeout=0.1,
    )
    simulator.load("movie", ROWS)

    simulator.enqueue([[1, 2]], mode_override="inference", core=1)

    assert simulator.receive(1)[0][:, 0].tolist() == [1, 2]
    with refused(LookupError, "no step is open, so none can be abandoned"):
        simulator.abandon_step()
