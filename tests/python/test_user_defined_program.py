# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers that are programs of the configuration."""

import configs
import hlo_programs
import numpy as np
import pytest
import raw_ops
import steps
import tensorflow as tf
import tpuless

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)

ROWS, COLUMNS = 40, 33
IDS = [[1, 2], [2], [], [39, 0, 1]]


def _program_table(update, num_slots, learning_rate=True, **kwargs):
    table = configs.table(
        "t",
        ROWS,
        COLUMNS,
        optimizer="user_defined_program",
        **kwargs,
    )
    table.optimization_parameters.user_defined_program.program.CopyFrom(
        tpuless.make_user_defined_program(
            update, num_slots, learning_rate=learning_rate
        )
    )
    return table


def _variables(num_slots):
    rng = np.random.default_rng(5)
    weights = rng.standard_normal([ROWS, COLUMNS]).astype(np.float32)
    slots = rng.uniform(0.1, 2, [num_slots, ROWS, COLUMNS]).astype(np.float32)
    return [weights, *slots]


def _train(backend, table, num_slots, num_steps=3, learning_rates=()):
    """Returns the variables after some steps."""
    engine = backend(configs.config(table, batch_size=len(IDS)))
    engine.load_whole([_variables(num_slots)])
    rng = np.random.default_rng(6)
    for _ in range(num_steps):
        gradients = rng.standard_normal([len(IDS), COLUMNS])
        steps.step(engine, IDS, gradients, learning_rates)
    (variables,) = engine.retrieve_whole([num_slots])
    engine.close()
    return variables


def _assert_same_bits(actual, expected):
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(
            one.view(np.uint32), other.view(np.uint32)
        )


_AROUND = {
    "plain": {},
    "dynamic rate": {"tag": 0},
    "clipped and decayed": {
        "clip_weights": (-1.5, 1.4),
        "clip_gradients": (-1.0, 0.5),
        "weight_decay": 0.01,
        "decay_times_learning_rate": True,
    },
    "not accumulated": {"accumulate": False, "clip_weights": (-1.5, None)},
}


@both
@pytest.mark.parametrize("around", _AROUND.values(), ids=_AROUND)
@pytest.mark.parametrize(
    ("update", "num_slots", "builtin"),
    [
        (hlo_programs.sgd, 0, "stochastic_gradient_descent"),
        (hlo_programs.adagrad, 1, "adagrad"),
    ],
    ids=["sgd", "adagrad"],
)
def test_same_bits_as_the_built_in_optimizer(
    backend, update, num_slots, builtin, around
):
    rates = [0.3] if "tag" in around else []
    expected = _train(
        backend,
        configs.table("t", ROWS, COLUMNS, optimizer=builtin, **around),
        num_slots,
        learning_rates=rates,
    )

    actual = _train(
        backend,
        _program_table(update, num_slots, **around),
        num_slots,
        learning_rates=rates,
    )

    _assert_same_bits(actual, expected)


@both
def test_a_program_may_hold_its_own_learning_rate(backend):
    expected = _train(
        backend,
        configs.table(
            "t",
            ROWS,
            COLUMNS,
            optimizer="momentum",
            hyperparameters={"momentum": 0.9},
        ),
        1,
    )

    actual = _train(
        backend,
        _program_table(
            hlo_programs.momentum_with_its_own_rate,
            1,
            learning_rate=False,
        ),
        1,
    )

    _assert_same_bits(actual, expected)


@pytest.mark.parametrize(
    ("update", "num_slots"),
    [(hlo_programs.adam, 2), (hlo_programs.rprop, 2), (hlo_programs.smooth, 1)],
    ids=["adam", "rprop", "smooth"],
)
@both
def test_the_same_as_xla_computes(backend, update, num_slots):
    compiled = tf.function(update, jit_compile=True)
    expected = _variables(num_slots)
    rng = np.random.default_rng(6)
    gradients = rng.standard_normal([len(IDS), COLUMNS]).astype(np.float32)
    for row in sorted({id for sample in IDS for id in sample}):
        # In the order of the samples, as the engine adds them.
        total = np.zeros(COLUMNS, np.float32)
        for sample, ids in enumerate(IDS):
            for _ in range(ids.count(row)):
                total += gradients[sample]
        results = compiled(
            total, *(each[row] for each in expected), np.float32(0.1)
        )
        for variable, result in zip(expected, results, strict=True):
            variable[row] = result.numpy()

    actual = _train(
        backend, _program_table(update, num_slots), num_slots, num_steps=1
    )

    # Some ten operations of half an ulp each; XLA's tanh, exp and pow are
    # within a few ulps.
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6)


@both
def test_slots_are_called_by_their_numbers(backend):
    table = _program_table(hlo_programs.adam, 2)
    engine = backend(configs.config(table, batch_size=len(IDS)))
    wrong = [*_variables(2)[:-1], np.zeros([1, 1], np.float32)]

    # The op that loads all tables calls every optimizer's second slot so.
    name = "auxiliary2" if backend is raw_ops.RawOpsBackend else "Slot_1"
    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        f"table 't': {name} must have shape [40, 33], got [1, 1]",
    ):
        engine.load_whole([wrong])


def _seven_slots(g, w, *rest):
    *slots, rate = rest
    return w - rate * g, *(slot + g for slot in slots)


@both
def test_seven_slots_leave_no_room_for_accumulation(backend):
    table = _program_table(_seven_slots, 7)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "table 't': user_defined_program must have <= 6 slots unless "
        "gradient_accumulation_status is DISABLED, got 7",
    ):
        backend(configs.config(table, batch_size=len(IDS)))


@both
def test_seven_slots_run_without_accumulation(backend):
    before = _variables(7)
    table = _program_table(_seven_slots, 7, accumulate=False)

    after = _train(backend, table, 7, num_steps=1)

    touched = sorted({id for sample in IDS for id in sample})
    for k in range(1, 8):
        assert (after[k][touched] != before[k][touched]).all()
    _assert_same_bits(
        [np.delete(each, touched, 0) for each in after],
        [np.delete(each, touched, 0) for each in before],
    )


def _refused_programs():
    def dot(g, w, rate):
        return (w - rate * tf.matmul(g, w),)

    def gathered(g, w, rate):
        return (tf.reduce_sum(w) - rate * g,)

    return [
        (dot, 0, ": instruction '.*' must be elementwise, got dot"),
        (gathered, 0, ": instruction '.*' must be elementwise, got reduce"),
    ]


@both
@pytest.mark.parametrize(
    ("update", "num_slots", "message"),
    _refused_programs(),
    ids=lambda each: getattr(each, "__name__", None),
)
def test_what_is_not_elementwise_is_refused(
    backend, update, num_slots, message
):
    table = _program_table(update, num_slots)

    with pytest.raises(
        backend.error("INVALID_ARGUMENT"),
        match=f"table 't': user_defined_program{message}",
    ):
        backend(configs.config(table, batch_size=len(IDS)))


@both
def test_a_program_must_be_there(backend):
    table = configs.table("t", optimizer="user_defined_program")

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "table 't': user_defined_program must have an entry computation, got "
        "no computation",
    ):
        backend(configs.config(table))


def test_an_update_must_return_every_slot():
    with pytest.raises(
        ValueError,
        match="update must return a tuple of weights and each slot, 2 in all",
    ):
        tpuless.make_user_defined_program(
            lambda g, w, a, rate: (w - rate * a * g,), 1
        )


@pytest.mark.parametrize("outside", [tf.constant, tf.Variable])
def test_an_update_must_not_use_tensors_from_outside(outside):
    factor = outside(0.9)

    with pytest.raises(
        ValueError, match="must use no tensors or variables from outside"
    ):
        tpuless.make_user_defined_program(
            lambda g, w, rate: (w - factor * rate * g,), 0
        )


@both
def test_the_shape_of_the_program_must_be_that_of_its_computation(backend):
    table = _program_table(hlo_programs.adagrad, 1)
    program = table.optimization_parameters.user_defined_program.program
    program.host_program_shape.parameters.add()

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "table 't': user_defined_program must have a host_program_shape of 4 "
        "parameters and a tuple of 2, got 5 and a tuple of 2",
    ):
        backend(configs.config(table, batch_size=len(IDS)))


@pytest.mark.parametrize(
    ("update", "num_slots"),
    [(hlo_programs.sgd, 0), (hlo_programs.adam, 2)],
    ids=["sgd", "adam"],
)
def test_tables_are_loaded_and_retrieved_in_a_graph(update, num_slots):
    config = configs.config(
        _program_table(update, num_slots), batch_size=len(IDS)
    )
    names = ["parameters", *(f"Slot_{k}" for k in range(num_slots))]
    variables = dict(zip(names, _variables(num_slots), strict=True))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.raw_ops.ConfigureTPUEmbedding(config=config))
        session.run(tpuless.load_tables(config, {"t": variables}))

        retrieved = session.run(tpuless.retrieve_tables(config))

    assert retrieved["t"].keys() == variables.keys()
    _assert_same_bits(retrieved["t"].values(), variables.values())
