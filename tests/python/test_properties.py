# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Properties that hold for all configurations and batches."""

import contextlib

import configs
import hypothesis
import numpy as np
import pytest
import raw_ops
import steps
import strategies
import table_strategies
from hypothesis import given
from hypothesis import strategies as st
from reference import Reference
from tpuless import _engine

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)

_seeds = st.integers(0, 2**32 - 1)


def _settings(max_examples):
    return hypothesis.settings(
        max_examples=max_examples,
        deadline=None,
        derandomize=True,
        database=None,
        # Each example makes an engine of its own and closes it.
        suppress_health_check=[
            hypothesis.HealthCheck.function_scoped_fixture,
            hypothesis.HealthCheck.too_slow,
        ],
    )


def _assert_close(actual, expected):
    # Sums of at most 64 float32 numbers of size at most 8, and a handful of
    # operations after it: 64 roundings of 6e-8.
    np.testing.assert_allclose(actual, expected, rtol=4e-6, atol=3e-5)


def test_cases_are_drawn_of_every_optimizer():
    names = [optimizer["name"] for optimizer in _engine.optimizers()]

    assert sorted(table_strategies.HYPERPARAMETERS) == sorted(names)


@both
@_settings(300)
@given(case=strategies.cases())
def test_steps_agree_with_the_reference(backend, case):
    reference = Reference(case.config)
    with contextlib.closing(
        backend(case.config, experimental_optimizers=True)
    ) as engine:
        engine.load_whole(case.initial)
        for table, variables in enumerate(case.initial):
            reference.load(table, variables)

        for step in case.steps:
            for each in (engine, reference):
                each.enqueue(
                    step.op, step.lists, step.attrs, step.mode_override
                )
            for actual, expected in zip(
                engine.receive(), reference.receive(), strict=True
            ):
                _assert_close(actual, expected)
            if step.mode_override != "inference":
                for each in (engine, reference):
                    each.send(step.gradients, step.learning_rates)

        num_slots = [len(variables) - 1 for variables in case.initial]
        for table, variables in enumerate(engine.retrieve_whole(num_slots)):
            for actual, expected in zip(
                variables, reference.retrieve(table), strict=True
            ):
                _assert_close(actual, expected)


@st.composite
def _one_table_steps(draw):
    """Draws rows of ids, weights, combiner and a table for them."""
    rng = np.random.default_rng(draw(_seeds))
    vocabulary_size = draw(st.integers(1, 9))
    dimension = draw(st.sampled_from([1, 7, 8, 9]))
    rows = [
        rng.integers(0, vocabulary_size, rng.integers(0, 6)).tolist()
        for _ in range(4)
    ]
    weights = [(rng.integers(1, 9, len(row)) / 4).tolist() for row in rows]
    return (
        rows,
        weights,
        draw(st.sampled_from(["sum", "mean", "sqrtn"])),
        rng.standard_normal([vocabulary_size, dimension], np.float32),
        rng.standard_normal([4, dimension], np.float32),
    )


def _run(backend, rows, weights, combiner, table, gradients):
    """Returns activations and variables of one step of Adagrad."""
    config = configs.config(
        configs.table("t", *table.shape, optimizer="adagrad"), batch_size=4
    )
    with contextlib.closing(backend(config)) as engine:
        engine.load(0, [table, np.full_like(table, 0.5)])
        activations = steps.step(
            engine, rows, gradients, weights=weights, combiner=combiner
        )
        return [activations, *engine.retrieve(0)]


@both
@_settings(40)
@given(case=_one_table_steps(), seed=_seeds)
def test_the_order_of_ids_in_a_sample_changes_nothing(backend, case, seed):
    rows, weights, *rest = case
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(row)) for row in rows]

    results = [
        _run(backend, rows, weights, *rest),
        _run(
            backend,
            [[row[i] for i in o] for row, o in zip(rows, orders)],
            [[row[i] for i in o] for row, o in zip(weights, orders)],
            *rest,
        ),
    ]

    for actual, expected in zip(*results, strict=True):
        _assert_close(actual, expected)


@both
@_settings(40)
@given(case=_one_table_steps())
def test_an_id_twice_is_the_id_with_both_weights(backend, case):
    rows, weights, _, *rest = case
    sums = []
    for row, factors in zip(rows, weights, strict=True):
        total = {}
        for one, factor in zip(row, factors, strict=True):
            total[one] = total.get(one, 0) + factor
        sums.append(total)

    results = [
        _run(backend, rows, weights, "mean", *rest),
        _run(
            backend,
            [[*total] for total in sums],
            [[*total.values()] for total in sums],
            "mean",
            *rest,
        ),
    ]

    for actual, expected in zip(*results, strict=True):
        _assert_close(actual, expected)


@both
@_settings(40)
@given(case=_one_table_steps())
def test_duplicate_ids_act_as_one_summed_gradient(backend, case):
    _, _, _, table, gradients = case

    several = _run(backend, [[0]] * 4, None, "sum", table, gradients)
    summed = np.zeros_like(gradients)
    summed[0] = gradients.sum(0)
    one = _run(backend, [[0], [], [], []], None, "sum", table, summed)

    for actual, expected in zip(several[1:], one[1:], strict=True):
        _assert_close(actual, expected)


@both
@_settings(40)
@given(case=_one_table_steps())
def test_zero_gradients_with_sgd_leave_every_bit(backend, case):
    rows, weights, combiner, table, gradients = case
    config = configs.config(configs.table("t", *table.shape), batch_size=4)

    with contextlib.closing(backend(config)) as engine:
        engine.load(0, [table])
        steps.step(
            engine,
            rows,
            np.zeros_like(gradients),
            weights=weights,
            combiner=combiner,
        )
        (after,) = engine.retrieve(0)

    np.testing.assert_array_equal(after.view("i4"), table.view("i4"))


@both
@_settings(40)
@given(
    vocabulary_size=st.integers(1, 40),
    fraction=st.floats(0, 1),
    sharding=st.sampled_from([configs.DIV, configs.MOD]),
    seed=_seeds,
)
def test_splitting_into_shards_and_back_is_the_identity(
    backend, vocabulary_size, fraction, sharding, seed
):
    num_shards = 1 + int(fraction * (vocabulary_size - 1))
    rng = np.random.default_rng(seed)
    table = rng.standard_normal([vocabulary_size, 2], np.float32)
    config = configs.config(
        configs.table("t", vocabulary_size), sharding=sharding
    )

    with contextlib.closing(backend(config)) as engine:
        engine.load(0, [table])
        shards = [
            engine.retrieve(0, num_shards, shard) for shard in range(num_shards)
        ]
        engine.load(0, [np.zeros_like(table)])
        for shard in rng.permutation(num_shards):
            engine.load(0, shards[shard], num_shards, int(shard))
        (again,) = engine.retrieve(0)

    np.testing.assert_array_equal(again, table)


@both
@_settings(40)
@given(case=_one_table_steps())
def test_every_form_of_a_batch_gives_the_same_bits(backend, case):
    rows, weights, combiner, table, _ = case
    ragged = steps.ragged(rows, weights)
    ids, factors = (
        ragged[name] for name in ("embedding_indices", "aggregation_weights")
    )
    samples = np.repeat(range(4), [len(row) for row in rows])
    indices = np.stack([samples, np.zeros_like(samples)], 1)
    attrs = {"table_ids": [0], "combiners": [combiner]}
    values = {"embedding_indices": ids, "aggregation_weights": factors}
    splits = ragged["sample_splits"]
    calls = [
        ("RaggedTensorBatch", {"sample_splits": splits}, attrs),
        ("SparseTensorBatch", {"sample_indices": [indices]}, attrs),
        ("SparseBatch", {"sample_indices": [samples]}, {}),
        ("ArbitraryTensorBatch", {"sample_indices_or_row_splits": splits}, {}),
        (
            "ArbitraryTensorBatch",
            {"sample_indices_or_row_splits": [indices]},
            {},
        ),
    ]
    config = configs.config(configs.table("t", *table.shape), batch_size=4)

    results = []
    with contextlib.closing(backend(config)) as engine:
        engine.load(0, [table])
        for op, where, more in calls:
            engine.enqueue(
                f"EnqueueTPUEmbedding{op}",
                {**where, **values},
                {"combiners": [combiner], **more},
                "inference",
            )
            results.append(engine.receive()[0])

    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


_BUT_MALFORMED = (NotImplementedError, MemoryError)


@_settings(300)
@given(data=st.binary(max_size=80))
def test_any_bytes_parse_or_are_refused(data):
    with contextlib.suppress(ValueError, *_BUT_MALFORMED):
        _engine.describe(data)


@_settings(300)
@given(
    case=strategies.cases(),
    position=st.floats(0, 1),
    byte=st.integers(0, 255),
)
def test_any_damage_to_a_configuration_is_survived(case, position, byte):
    data = bytearray(case.config)
    data[int(position * (len(data) - 1))] = byte

    with contextlib.suppress(ValueError, *_BUT_MALFORMED):
        _engine.describe(bytes(data))


@_settings(100)
@given(case=strategies.cases())
def test_configuration_is_read_as_it_was_written(case):
    message = configs.parse(case.config)

    description = _engine.describe(case.config)

    assert [table["name"] for table in description["tables"]] == [
        table.name for table in message.table_descriptor
    ]
    for described, table in zip(
        description["tables"], message.table_descriptor, strict=True
    ):
        parameters = table.optimization_parameters
        optimizer = parameters.WhichOneof("parameters")
        assert described["optimizer"] == optimizer
        assert described["vocabulary_size"] == table.vocabulary_size
        assert described["dimension"] == table.dimension
        assert {
            field.name: float(value)
            for field, value in getattr(parameters, optimizer).ListFields()
            if field.name != "step_counter"
        }.items() <= described["hyperparameters"].items()
    assert [
        tuple(output["shape"]) for output in description["outputs"]
    ] == configs.output_shapes(case.config)
    assert description["pipelined"] == (
        message.pipeline_execution_with_tensor_core
    )
