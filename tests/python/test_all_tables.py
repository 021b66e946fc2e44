# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Loading and retrieving all tables by the names of their variables."""

import re

import configs
import numpy as np
import pytest
import tensorflow as tf
import tpuless

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.usefixtures("engine"),
]

CONFIG = configs.config(
    configs.table("users", 5, 2, optimizer="lion"),
    configs.table("items", 4, 3, optimizer="adam", accumulate=False),
    configs.table("words", 3, 1),
)


def _tables():
    rng = np.random.default_rng(0)

    def values(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    return {
        "users": {"parameters": values(5, 2), "momenta": values(5, 2)},
        "items": {
            "parameters": values(4, 3),
            "momenta": values(4, 3),
            "velocities": values(4, 3),
        },
        "words": {"parameters": values(3, 1)},
    }


def _assert_equal(actual, expected):
    assert actual.keys() == expected.keys()
    for name, variables in expected.items():
        assert actual[name].keys() == variables.keys()
        for variable, value in variables.items():
            np.testing.assert_array_equal(actual[name][variable], value)


def test_eagerly():
    tf.raw_ops.ConfigureTPUEmbedding(config=CONFIG)

    assert tpuless.load_tables(CONFIG, _tables()) is None

    _assert_equal(tpuless.retrieve_tables(CONFIG), _tables())


def test_in_a_function():
    tf.raw_ops.ConfigureTPUEmbedding(config=CONFIG)

    @tf.function
    def there_and_back(tables):
        tpuless.load_tables(CONFIG, tables)
        return tpuless.retrieve_tables(CONFIG)

    _assert_equal(there_and_back(_tables()), _tables())


def test_in_shards():
    tf.raw_ops.ConfigureTPUEmbedding(config=CONFIG)
    # The first shard of an odd number of rows is one row longer.
    shards = [
        {
            name: {
                variable: np.array_split(value, 2)[shard]
                for variable, value in variables.items()
            }
            for name, variables in _tables().items()
        }
        for shard in range(2)
    ]
    for shard, tables in enumerate(shards):
        tpuless.load_tables(CONFIG, tables, num_shards=2, shard_id=shard)

    _assert_equal(tpuless.retrieve_tables(CONFIG), _tables())
    for shard, tables in enumerate(shards):
        _assert_equal(tpuless.retrieve_tables(CONFIG, 2, shard), tables)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("words"), "missing table: words"),
        (
            lambda t: t.update(clicks={}),
            "unknown table: clicks; expected one of users, items, words",
        ),
        (
            lambda t: t["items"].pop("momenta"),
            "missing variable of table 'items': momenta",
        ),
        (
            lambda t: t["users"].update(velocities=0),
            "unknown variable of table 'users': velocities; expected one of "
            "parameters, momenta",
        ),
    ],
)
def test_names_must_be_those_of_the_configuration(change, message):
    tables = _tables()
    change(tables)

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tpuless.load_tables(CONFIG, tables)


def test_nothing_is_loaded_if_a_shape_is_wrong():
    tf.raw_ops.ConfigureTPUEmbedding(config=CONFIG)
    tpuless.load_tables(CONFIG, _tables())
    tables = _tables()
    tables["users"]["parameters"] = np.zeros([5, 2], np.float32)
    tables["words"]["parameters"] = np.zeros([3, 2], np.float32)

    with pytest.raises(tf.errors.InvalidArgumentError, match="table 'words'"):
        tpuless.load_tables(CONFIG, tables)

    _assert_equal(tpuless.retrieve_tables(CONFIG), _tables())
