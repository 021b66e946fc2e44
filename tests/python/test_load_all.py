# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""LoadAll and RetrieveAll: all tables, slots by number."""

import configs
import numpy as np
import pytest
import raw_ops
import tensorflow as tf
from steps import T3

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_NONE = np.zeros([0, 0], np.float32)
_FOUR = np.arange(4, dtype=np.float32)[:, np.newaxis]

# What a TPU fills the accumulators of gradients with: bit pattern 1.
_MARK = np.uint32(1)


def _config():
    return configs.config(
        configs.table("a", optimizer="adam"),
        configs.table("b", 4, 1, accumulate=False),
    )


def _good():
    """Returns parameters, and the auxiliaries of 'a' and 'b'."""
    auxiliaries = [[2 * T3, _NONE], [3 * T3, _NONE], [T3, _NONE]]
    return [T3, _FOUR], [*auxiliaries, *([[_NONE, _NONE]] * 4)]


def test_tables_come_back():
    engine = raw_ops.RawOpsBackend(_config())

    raw_ops.load_all(*_good())

    for factor, variable in enumerate(engine.retrieve(0), 1):
        np.testing.assert_array_equal(variable, factor * T3)
    np.testing.assert_array_equal(engine.retrieve(1)[0], _FOUR)
    parameters, auxiliaries = raw_ops.retrieve_all(2)
    np.testing.assert_array_equal(parameters[0], T3)
    np.testing.assert_array_equal(parameters[1], _FOUR)
    np.testing.assert_array_equal(auxiliaries[0][0], 2 * T3)
    np.testing.assert_array_equal(auxiliaries[1][0], 3 * T3)


def test_gradient_accumulators_follow_the_slots():
    raw_ops.RawOpsBackend(_config())
    raw_ops.load_all(*_good())

    _, auxiliaries = raw_ops.retrieve_all(2)

    marks = auxiliaries[2][0].numpy().view(np.uint32)
    np.testing.assert_array_equal(marks, np.full([3, 2], _MARK))
    # Table 'b' accumulates nothing, and nothing has more.
    for auxiliary in auxiliaries:
        assert auxiliary[1].shape == (0, 0)
    for auxiliary in auxiliaries[3:]:
        assert auxiliary[0].shape == (0, 0)


def test_shards_are_loaded_and_retrieved():
    engine = raw_ops.RawOpsBackend(_config())
    for shard, (a, b) in enumerate(
        zip((slice(2), slice(2, 3)), (slice(2), slice(2, 4)), strict=True)
    ):
        parameters, auxiliaries = _good()
        raw_ops.load_all(
            [parameters[0][a], parameters[1][b]],
            [[first[a], second] for first, second in auxiliaries[:3]]
            + auxiliaries[3:],
            num_shards=2,
            shard_id=shard,
        )

    np.testing.assert_array_equal(engine.retrieve(0)[2], 3 * T3)
    parameters, auxiliaries = raw_ops.retrieve_all(2, num_shards=2, shard_id=1)
    np.testing.assert_array_equal(parameters[0], T3[2:])
    np.testing.assert_array_equal(parameters[1], _FOUR[2:])
    np.testing.assert_array_equal(auxiliaries[1][0], 3 * T3[2:])


def _with(tensor, table, value):
    """Returns good arguments but for one tensor, 0 being parameters."""
    parameters, auxiliaries = _good()
    lists = [parameters, *([*pair] for pair in auxiliaries)]
    lists[tensor][table] = value
    return lists[0], lists[1:]


@pytest.mark.parametrize(
    ("tensor", "table", "value", "message"),
    [
        (
            0,
            1,
            T3,
            "table 'b': parameters must have shape [4, 1], got [3, 2]",
        ),
        (
            2,
            0,
            _NONE,
            "table 'a': auxiliary2 must have shape [3, 2], got [0, 0]",
        ),
        (
            3,
            0,
            _NONE,
            "table 'a': auxiliary3 must have shape [3, 2], got [0, 0]",
        ),
        (4, 0, T3, "table 'a': auxiliary4 must be empty, got shape [3, 2]"),
        (1, 1, _FOUR, "table 'b': auxiliary1 must be empty, got shape [4, 1]"),
    ],
)
def test_load_all_refuses(tensor, table, value, message):
    engine = raw_ops.RawOpsBackend(_config())
    raw_ops.load_all(*_good())

    with raw_ops.refused(tf.errors.InvalidArgumentError, message):
        raw_ops.load_all(*_with(tensor, table, value))

    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)
    raw_ops.load_all(*_good())


@pytest.mark.parametrize("count", [1, 3])
def test_another_number_of_tables_is_refused(count):
    raw_ops.RawOpsBackend(_config())
    message = f"NumTables must be 2, got {count}"

    with raw_ops.refused(tf.errors.InvalidArgumentError, message):
        raw_ops.load_all([T3] * count, [[_NONE] * count] * 7)
    with raw_ops.refused(tf.errors.InvalidArgumentError, message):
        raw_ops.retrieve_all(count)


def test_retrieve_all_needs_loaded_tables():
    engine = raw_ops.RawOpsBackend(_config())
    engine.load(0, [T3, T3, T3])

    with raw_ops.refused(
        tf.errors.FailedPreconditionError,
        "table 'b': must be loaded first, no shard of it is",
    ):
        raw_ops.retrieve_all(2)
