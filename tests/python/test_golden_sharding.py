# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Which rows each shard of a table holds, as the golden vectors have it."""

import configs
import golden
import numpy as np
import pytest
import raw_ops

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_CASES = golden.shardings()
_STRATEGIES = {"div": configs.DIV, "mod": configs.MOD}


def _id(case):
    return f"{case['strategy']}-{case['vocab']}-{case['num_shards']}"


def _variables(vocabulary_size):
    """Returns weights and accumulators that tell their row and column."""
    rows = np.arange(vocabulary_size, dtype=np.float32)[:, np.newaxis]
    weights = rows + np.float32([0.25, 0.5])
    return [weights, -weights]


def _backend(backend, case):
    table = configs.table(vocabulary_size=case["vocab"], optimizer="adagrad")
    strategy = _STRATEGIES[case["strategy"]]
    return backend(configs.config(table, sharding=strategy))


@pytest.mark.parametrize("case", _CASES, ids=_id)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_shards_that_are_loaded_make_the_table(case, backend):
    engine = _backend(backend, case)
    variables = _variables(case["vocab"])

    for shard, rows in enumerate(case["rows"]):
        engine.load(
            0,
            [variable[rows] for variable in variables],
            case["num_shards"],
            shard,
        )

    for actual, expected in zip(engine.retrieve(0), variables, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("case", _CASES, ids=_id)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_shards_of_a_table_are_retrieved(case, backend):
    engine = _backend(backend, case)
    variables = _variables(case["vocab"])
    engine.load(0, variables)

    for shard, rows in enumerate(case["rows"]):
        retrieved = engine.retrieve(0, case["num_shards"], shard)

        for actual, expected in zip(retrieved, variables, strict=True):
            np.testing.assert_array_equal(actual, expected[rows])


def test_all_cases_are_there():
    assert len(_CASES) == 32
