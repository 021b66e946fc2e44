# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Batches that the simulator refuses."""

import configs
import numpy as np
import pytest
import tensorflow as tf
from lookups import ROWS, first_columns, one_feature, three_features
from raw_ops import refused


@pytest.mark.parametrize(
    ("ids", "weights", "message"),
    [
        (None, None, "ids must be given"),
        (
            [1, 2, 3],
            None,
            "ids must have shape [2], or that and one more axis to combine, "
            "got [3]",
        ),
        (
            np.zeros([3, 2], np.int32),
            None,
            "ids must have shape [2], or that and one more axis to combine, "
            "got [3, 2]",
        ),
        (
            7,
            None,
            "ids must have shape [2], or that and one more axis to combine, "
            "got []",
        ),
        (
            [1.0, 2.0],
            None,
            "ids must have a dtype of 'int32', 'int64', got 'float64'",
        ),
        (
            [True, False],
            None,
            "ids must have a dtype of 'int32', 'int64', got 'bool'",
        ),
        (
            np.uint32([1, 2]),
            None,
            "ids must have a dtype of 'int32', 'int64', got 'uint32'",
        ),
        (
            [2**63, 2**63],
            None,
            "ids must have a dtype of 'int32', 'int64', got 'uint64'",
        ),
        (
            ["a", "b"],
            None,
            "ids must have a dtype of 'int32', 'int64', got 'str32'",
        ),
        (
            [[1, 2], ["a"]],
            None,
            "ids must have a dtype of 'int32', 'int64', got 'str32'",
        ),
        ([[1, 2], 3], None, "ids must be nested evenly"),
        ([[1, [2]], [3]], None, "ids must be nested evenly"),
        ([[[1]], 3], None, "ids must be nested evenly"),
        ([1, 2], [1], "weights must have shape [2], got [1]"),
        ([[1, 2], [3]], [[1], [2, 3]], "weights must be rows as the ids"),
        ([[1, 2], [3]], [1, 2, 3], "weights must be nested evenly"),
        (
            [1, 2],
            np.int32([1, 2]),
            "weights must have a dtype of 'float32', 'float64', got 'int32'",
        ),
        (
            [1, 2],
            np.float16([1, 2]),
            "weights must have a dtype of 'float32', 'float64', got 'float16'",
        ),
        (
            tf.ragged.constant([[1, 2], [3]]),
            tf.ragged.constant([[1.0], [2.0, 3.0]]),
            "weights must be rows as the ids",
        ),
        (
            tf.sparse.from_dense([[1], [2]]),
            tf.sparse.from_dense([[0.0], [2.0]]),
            "weights must have the indices of the ids",
        ),
        (
            [9, 10],
            None,
            "id 10 of sample 1 (embedding_indices[1]) must be >= 0 and < "
            "vocabulary_size (10)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(ids, weights, message, simulate):
    simulator = one_feature(simulate, [2])

    with refused(ValueError, f"feature 'watched': {message}"):
        simulator.enqueue(
            {"watched": ids}, None if weights is None else [weights]
        )

    assert simulator.statistics().enqueues == 0


def test_rows_of_a_wrong_number_are_refused(simulate):
    simulator = one_feature(simulate, [2])

    with refused(
        ValueError,
        "feature 'watched': row splits must be those of 2 samples, got 3",
    ):
        simulator.enqueue({"watched": [[1], [2], [3]]})


@pytest.mark.parametrize(
    ("error", "features", "weights", "message"),
    [
        (
            LookupError,
            {"seen": [1, 2], "x": [1, 2]},
            None,
            "unknown feature 'seen', expected one of 'x', 'y', 'z'",
        ),
        (
            ValueError,
            {"x": [1, 2], "z": [1, 2]},
            None,
            "feature 'y': ids must be given",
        ),
        (
            ValueError,
            [[1, 2]],
            None,
            "features must have 3 entries, one a feature, got 1",
        ),
        (
            ValueError,
            [[1, 2]] * 3,
            [[1, 2]],
            "weights must have 3 entries, one a feature, got 1",
        ),
        (
            LookupError,
            [[1, 2]] * 3,
            {"seen": [1, 2]},
            "unknown feature 'seen', expected one of 'x', 'y', 'z'",
        ),
        (
            ValueError,
            np.int32([[1, 2]] * 3),
            None,
            "features must be a list of arrays, got a single ndarray",
        ),
        (
            ValueError,
            3,
            None,
            "features must be a list of arrays, got a single int",
        ),
    ],
)
def test_features_that_do_not_fit_are_refused(
    error, features, weights, message, simulate
):
    simulator = three_features(simulate)

    with refused(error, message):
        simulator.enqueue(features, weights)


@pytest.mark.parametrize("names", [("x", "x"), ("x", "")])
def test_features_without_names_of_their_own_are_a_list(names, simulate):
    simulator = simulate(
        configs.config(
            configs.table("movie", 10, 2, 0),
            features=[(name, 0, [2]) for name in names],
        )
    )
    simulator.load("movie", ROWS)

    with refused(
        ValueError,
        "features must be a list, because names of features are empty or "
        "occur twice",
    ):
        simulator.enqueue({"x": [1, 2]})

    simulator.enqueue([[1, 2], [3, 4]])
    assert first_columns(simulator) == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("error", "combiners", "message"),
    [
        (
            ValueError,
            "max",
            "unknown combiner 'max', expected one of 'sum', 'mean', 'sqrtn'",
        ),
        (
            LookupError,
            {"c": "sum"},
            "unknown table 'c', expected one of 'a', 'b'",
        ),
        (
            ValueError,
            ["sum"],
            "combiners must be empty, one a table (2) or one an input (3), "
            "got 1",
        ),
    ],
)
def test_combiners_that_do_not_fit_are_refused(
    error, combiners, message, simulate
):
    simulator = three_features(simulate)

    with refused(error, message):
        simulator.enqueue([[1, 2]] * 3, combiners=combiners)


# The forms of the ops, of which tests of the ops say the rest.


def test_lists_of_an_op_are_of_one_length(simulate):
    simulator = one_feature(simulate, [2])

    with refused(
        ValueError,
        "embedding_indices must have as many entries as "
        "sample_indices_or_row_splits (1), got 2",
    ):
        simulator.enqueue_arbitrary_tensor_batch([[]], [[1, 2]] * 2, [[]])


def test_an_argument_of_another_type_is_named(simulate):
    simulator = one_feature(simulate, [2])

    with refused(
        ValueError,
        "aggregation_weights[0] must have a dtype of 'float32', 'float64', "
        "got 'int64'",
    ):
        simulator.enqueue_arbitrary_tensor_batch(
            [[]], [[1, 2]], [np.int64([1, 2])]
        )
    with refused(
        ValueError,
        "batch[1] must have a dtype of 'int32', 'int64', got 'float64'",
    ):
        simulator.enqueue_integer_batch([[1], [2.5]])


def test_empty_lists_of_python_count_as_any_type(simulate):
    simulator = one_feature(simulate, [2])

    simulator.enqueue_arbitrary_tensor_batch([[]], [[1, 2]], [[]])

    assert simulator.receive()[0][:, 0].tolist() == [1, 2]
