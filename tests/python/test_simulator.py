# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator: making it, its tables, its options, its end."""

import doctest
import threading

import configs
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
import tpuless
from raw_ops import refused
from steps import T3
from tpuless import simulator as simulator_module

_ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 0.1}


@pytest.mark.parametrize("form", ["message", "bytes"])
def test_config_is_a_message_or_its_bytes(form, simulate, movies_config):
    message = configs.parse(movies_config())
    config = message if form == "message" else message.SerializeToString()

    simulator = simulate(config)

    assert simulator.config == message
    assert simulator.output_shapes == [(2, 2)]


@pytest.mark.parametrize("config", ["text", None, 3])
def test_any_other_config_is_refused(config):
    with refused(
        ValueError,
        "config must be a TPUEmbeddingConfiguration or its bytes, got "
        f"{type(config).__name__}",
    ):
        tpuless.Simulator(config)


def test_a_bad_config_is_refused_with_the_sentence_of_the_engine(movies_config):
    with refused(ValueError, "table 'movie': dimension must be > 0, got 0"):
        tpuless.Simulator(movies_config(dimension=0))


def test_a_table_that_cannot_fit_is_a_memory_error(movies_config):
    with pytest.raises(MemoryError) as info:
        tpuless.Simulator(movies_config(vocabulary_size=10**12, dimension=128))

    assert str(info.value).startswith(
        "table 'movie': needs 512000000000000 bytes (1000000000000 rows x "
        "128 x 1 variables x 4 bytes), 512000000000000 with the tables before "
        "it, but the machine has "
    )


def test_an_optimizer_that_is_not_there_is_not_implemented(movies_config):
    with refused(
        NotImplementedError,
        "table 'movie': optimizer 'mdl_adagrad_light' is not supported: no "
        "public text gives its formula",
    ):
        tpuless.Simulator(movies_config(optimizer="mdl_adagrad_light"))


def test_num_threads_is_at_least_one(movies_config):
    with refused(ValueError, "num_threads must be >= 1, got 0"):
        tpuless.Simulator(movies_config(), num_threads=0)


def test_an_option_out_of_its_range_is_refused(movies_config):
    with refused(ValueError, "queue_limit must be >= 0, got -1"):
        tpuless.Simulator(movies_config(), queue_limit=-1)


@pytest.mark.parametrize("table", ["movie", 0, np.int64(0)])
def test_a_table_is_known_by_name_and_by_place(table, simulate, movies_config):
    simulator = simulate(movies_config())

    simulator.load(table, T3)

    (weights,) = simulator.retrieve(table)
    assert weights.dtype == np.float32
    np.testing.assert_array_equal(weights, T3)


def test_an_unknown_table_is_a_lookup_error(movies):
    with refused(LookupError, "unknown table 'film', expected one of 'movie'"):
        movies.load("film", T3)
    with refused(LookupError, "unknown table 'film', expected one of 'movie'"):
        movies.retrieve("film")


def test_a_place_without_a_table_is_refused(movies):
    with refused(ValueError, "table_id must be >= 0 and < 1, got 1"):
        movies.retrieve(1)


def test_slots_are_given_by_place_or_by_name(simulate, movies_config):
    simulator = simulate(movies_config(optimizer="adam", hyperparameters=_ADAM))

    for given, named in [
        ((T3 + 1, T3 + 2), {}),
        ((T3 + 1,), {"velocities": T3 + 2}),
        ((), {"velocities": T3 + 2, "momenta": T3 + 1}),
    ]:
        simulator.load("movie", np.zeros_like(T3), T3, T3)
        simulator.load("movie", T3, *given, **named)

        for k, variable in enumerate(simulator.retrieve("movie")):
            np.testing.assert_array_equal(variable, T3 + k)


@pytest.mark.parametrize(
    ("slots", "named", "message"),
    [
        (1, {}, "must have 3 variables for optimizer 'adam', got 2"),
        (3, {}, "must have 3 variables for optimizer 'adam', got 4"),
        (0, {"momenta"}, "slot variable 'velocities' must be given"),
        (
            1,
            {"momenta", "velocities"},
            "slot variable 'momenta' must be given once, got it by place and "
            "by name",
        ),
        (3, {"momenta"}, "must have 2 slot variables, got 4"),
        (
            1,
            {"velocity"},
            "unknown slot variable 'velocity', expected one of 'momenta', "
            "'velocities'",
        ),
    ],
)
def test_slots_that_do_not_fit_are_refused(
    slots, named, message, simulate, movies_config
):
    simulator = simulate(movies_config(optimizer="adam", hyperparameters=_ADAM))

    with refused(ValueError, f"table 'movie': {message}"):
        simulator.load("movie", T3, *[T3] * slots, **dict.fromkeys(named, T3))


def test_slots_of_an_optimizer_without_are_refused(movies):
    with refused(
        ValueError,
        "table 'movie': unknown slot variable 'momenta', expected none",
    ):
        movies.load("movie", T3, momenta=T3)


def test_variables_of_another_shape_are_refused(movies):
    with refused(
        ValueError,
        "table 'movie': parameters must have shape [3, 2], got [2, 3]",
    ):
        movies.load("movie", T3.T)


def test_variables_may_be_any_floats(movies):
    for variable in (
        T3.astype(np.float64),
        T3.astype(np.float16),
        T3.astype(ml_dtypes.bfloat16),
        T3.astype(">f4"),
        np.asfortranarray(T3),
        T3[::-1][::-1],
        T3.tolist(),
        tf.constant(T3),
        tf.Variable(T3),
    ):
        movies.load("movie", np.zeros_like(T3))
        movies.load("movie", variable)
        np.testing.assert_array_equal(movies.retrieve("movie")[0], T3)


def test_variables_that_are_not_floats_are_refused(movies):
    with refused(
        ValueError,
        "table 'movie': weights must have a dtype of 'float32', 'float64', "
        "'float16', 'bfloat16', got 'int64'",
    ):
        movies.load("movie", T3.astype(np.int64))


def test_shards_are_loaded_and_retrieved_one_by_one(simulate, movies_config):
    simulator = simulate(movies_config())

    simulator.load("movie", T3[:2], num_shards=2)
    with refused(
        RuntimeError,
        "table 'movie': must be loaded first, missing shards 1 of 2",
    ):
        simulator.retrieve("movie")
    simulator.load("movie", T3[2:], num_shards=2, shard_id=1)

    np.testing.assert_array_equal(simulator.retrieve("movie")[0], T3)
    np.testing.assert_array_equal(simulator.retrieve("movie", 2, 1)[0], T3[2:])


def test_statistics_count_this_simulator_alone(movies, simulate, movies_config):
    simulate(movies_config()).load("movie", T3)
    movies.enqueue({"watched": [[0, 2], [1]]})
    movies.receive()
    movies.send([np.ones([2, 2])])
    movies.enqueue({"watched": [0, 1]})

    assert movies.statistics() == tpuless.Statistics(
        enqueues=2,
        receives=1,
        sends=1,
        steps=1,
        ids=5,
        unique_rows=3,
        queued_batches=1,
        tables=[
            tpuless.TableStatistics(
                name="movie",
                vocabulary_size=3,
                dimension=2,
                bytes=24,
                loaded=True,
            )
        ],
    )


def test_set_options_changes_what_is_given(movies):
    movies.set_options(out_of_range_ids="skip")
    movies.enqueue({"watched": [[-1, 2], [7]]}, {"watched": [[9, 1], [1]]})

    np.testing.assert_array_equal(movies.receive()[0], [[5, 6], [0, 0]])
    with refused(
        TimeoutError,
        "receive: no enqueued batch after 0.1 s on core 0; an "
        "EnqueueTPUEmbedding op is missing",
    ):
        movies.receive()


def test_abandon_step_drops_the_open_step(movies):
    movies.enqueue({"watched": [0, 1]})
    movies.receive()

    movies.abandon_step()

    assert movies.statistics().abandoned_steps == 1
    np.testing.assert_array_equal(movies.retrieve("movie")[0], T3)
    with refused(LookupError, "no step is open, so none can be abandoned"):
        movies.abandon_step()


@pytest.mark.parametrize(
    "call",
    [
        lambda simulator: simulator.load("movie", T3),
        lambda simulator: simulator.retrieve("movie"),
        lambda simulator: simulator.enqueue({"watched": [0, 1]}),
        lambda simulator: simulator.receive(),
        lambda simulator: simulator.send([np.ones([2, 2])]),
        lambda simulator: simulator.statistics(),
        lambda simulator: simulator.set_options(queue_limit=3),
        lambda simulator: simulator.abandon_step(),
    ],
)
def test_a_closed_simulator_does_nothing_more(call, movies):
    movies.close()
    movies.close()

    with refused(RuntimeError, "the simulator is closed"):
        call(movies)


def test_a_with_statement_closes(movies_config):
    with tpuless.Simulator(movies_config()) as simulator:
        simulator.load("movie", T3)

    with refused(RuntimeError, "the simulator is closed"):
        simulator.retrieve("movie")


def test_close_ends_calls_that_wait(simulate, movies_config):
    simulator = simulate(movies_config())
    simulator.load("movie", T3)
    timer = threading.Timer(0.2, simulator.close)

    timer.start()
    with refused(RuntimeError, "the engine was shut down"):
        simulator.receive()
    timer.join()


def test_examples_in_docstrings_are_true():
    results = doctest.testmod(simulator_module)

    assert results.attempted > 5
    assert results.failed == 0
