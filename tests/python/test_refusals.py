# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What the other ops refuse: the whole message, and nothing changed."""

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

_NOT_CONFIGURED = "no engine is configured; run ConfigureTPUEmbedding first"
_MALFORMED = (
    "Malformed tpu_embedding_config: it must be a serialized "
    "TPUEmbeddingConfiguration"
)

_ONE = np.ones([1, 2], np.float32)
_FLOATS = np.zeros([1, 1], np.float32)


def _two_tables(**kwargs):
    return configs.config(
        configs.table("user", optimizer="adagrad", tag=0),
        configs.table("item", 4, optimizer="adagrad", tag=1),
        batch_size=1,
        **kwargs,
    )


def _started(backend, config=None):
    """Returns an engine of two tables, loaded."""
    engine = backend(config or _two_tables())
    for table, rows in enumerate((3, 4)):
        weights = np.arange(2 * rows, dtype=np.float32).reshape(rows, 2)
        engine.load(table, [weights, np.ones_like(weights)])
    return engine


def _enqueue(engine):
    engine.enqueue(
        "EnqueueTPUEmbeddingIntegerBatch", {"batch": [np.int32([2])] * 2}
    )


def _assert_send_works(engine):
    engine.send([_ONE, _ONE], [1, 2])

    # Adagrad with accumulators of 1 and gradients of 1.
    for table, rate in enumerate((1, 2)):
        (weights, accumulators) = engine.retrieve(table)
        steps.assert_close(weights[2], [4, 5] - rate / np.sqrt(2))
        steps.assert_close(accumulators[2], [2, 2])


@pytest.mark.parametrize(
    ("gradients", "rates", "message"),
    [
        ([_ONE], [1, 2], "must have 2 gradients, one a table, got 1"),
        ([_ONE] * 3, [1, 2], "must have 2 gradients, one a table, got 3"),
        (
            [_ONE, _ONE[:, :1]],
            [1, 2],
            "table 'item': gradients must have shape [1, 2], got [1, 1]",
        ),
        (
            [_ONE[0], _ONE],
            [1, 2],
            "table 'user': gradients must have shape [1, 2], got [2]",
        ),
        (
            [_ONE, _ONE],
            [1],
            "must have 2 learning rates, one a dynamic tag, got 1",
        ),
        (
            [_ONE, _ONE],
            [],
            "must have 2 learning rates, one a dynamic tag, got 0",
        ),
        (
            [_ONE, _ONE],
            [1, [2]],
            "learning_rates[1] must be a float32 scalar, got shape [1]",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@both
def test_send_refuses(backend, gradients, rates, message):
    engine = _started(backend)
    _enqueue(engine)
    engine.receive()
    before = engine.statistics()

    with raw_ops.refused(backend.error("INVALID_ARGUMENT"), message):
        engine.send(gradients, rates)

    assert engine.statistics() == before
    _assert_send_works(engine)


@both
def test_send_names_the_feature(backend):
    config = configs.config(
        configs.table("t", num_features=0),
        features=[("watched", 0, [2]), ("liked", 0, [2])],
    )
    engine = backend(config)
    engine.load(0, [T3])
    good = np.ones([2, 2], np.float32)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "feature 'liked': gradients must have shape [2, 2], got [2, 1]",
    ):
        engine.send([good, good[:, :1]])
    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "must have 2 gradients, one a feature, got 1",
    ):
        engine.send([good])


@pytest.mark.parametrize("core", [1, 3])
@both
def test_a_core_that_is_not_there_is_refused(backend, core):
    engine = _started(backend)
    message = f"core must be >= 0 and < 1, the cores of this host, got {core}"

    with raw_ops.refused(backend.error("INVALID_ARGUMENT"), message):
        engine.receive(core)
    with raw_ops.refused(backend.error("INVALID_ARGUMENT"), message):
        engine.send([_ONE, _ONE], [1, 2], core)

    _enqueue(engine)
    engine.receive()
    _assert_send_works(engine)


@both
def test_receive_and_send_need_loaded_tables(backend):
    engine = backend(_two_tables())
    engine.load(0, [T3, T3])
    _enqueue(engine)
    message = "table 'item': must be loaded first, no shard of it is"

    with raw_ops.refused(backend.error("FAILED_PRECONDITION"), message):
        engine.receive()
    with raw_ops.refused(backend.error("FAILED_PRECONDITION"), message):
        engine.send([_ONE, _ONE], [1, 2])

    four = np.ones([4, 2], np.float32)
    engine.load(1, [four, four])
    np.testing.assert_array_equal(engine.receive()[0], T3[[2]])


@both
def test_retrieve_names_the_missing_shards(backend):
    engine = backend(configs.config(configs.table("t", 20, 1)))
    one = np.zeros([1, 1], np.float32)
    engine.load(0, [one], 20, 3)

    with raw_ops.refused(
        backend.error("FAILED_PRECONDITION"),
        "table 't': must be loaded first, missing shards 0, 1, 2, 4, 5, 6, 7,"
        " 8, ... of 20",
    ):
        engine.retrieve(0, 20, 3)

    for shard in range(20):
        engine.load(0, [one], 20, shard)
    assert engine.retrieve(0, 1, 0)[0].shape == (20, 1)


@pytest.mark.parametrize(
    ("num_shards", "shard_id", "message"),
    [
        (0, 0, "table 't': num_shards must be > 0, got 0"),
        (-1, 0, "table 't': num_shards must be > 0, got -1"),
        (2, 2, "table 't': shard_id must be >= 0 and < num_shards (2), got 2"),
        (
            2,
            -1,
            "table 't': shard_id must be >= 0 and < num_shards (2), got -1",
        ),
        (
            4,
            3,
            "table 't': every shard must have rows, but shard 3 of 4 of 3 "
            "rows has none",
        ),
    ],
)
@both
def test_bad_shards_are_refused(backend, num_shards, shard_id, message):
    engine = steps.one_table(backend, [T3])

    with raw_ops.refused(backend.error("INVALID_ARGUMENT"), message):
        engine.load(0, [T3], num_shards, shard_id)
    with raw_ops.refused(backend.error("INVALID_ARGUMENT"), message):
        engine.retrieve(0, num_shards, shard_id)

    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)


@both
def test_slots_of_another_shape_are_refused(backend):
    config = configs.config(configs.table("t", optimizer="adam"))
    engine = backend(config)
    engine.load(0, [T3, 2 * T3, 3 * T3])

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "table 't': velocities must have shape [3, 2], got [2, 2]",
    ):
        engine.load(0, [T3, T3, T3[:2]])

    for factor, variable in enumerate(engine.retrieve(0), 1):
        np.testing.assert_array_equal(variable, factor * T3)


@pytest.mark.parametrize("count", [0, 1, 3])
@both
def test_the_step_counter_is_a_learning_rate_to_send(backend, count):
    config = configs.config(
        configs.table(
            optimizer="frequency_aware_adagrad",
            hyperparameters={"step_counter": 1, "initial_accumulator_value": 1},
            tag=0,
        ),
        batch_size=1,
    )
    engine = backend(config, experimental_optimizers=True)
    engine.load_whole([[T3, np.ones_like(T3), np.zeros_like(T3)]])
    steps.enqueue(engine, [[2]])
    engine.receive()

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        f"must have 2 learning rates, one a dynamic tag, got {count}",
    ):
        engine.send([_ONE], [1] * count)

    engine.send([np.zeros_like(_ONE)], [1, 7])
    (variables,) = engine.retrieve_whole([2])
    np.testing.assert_array_equal(variables[2], [[0, 0], [0, 0], [1, 1]])


def _op_names():
    """Returns every op of the family that needs a configured engine."""
    calls = {
        name: (
            lambda name=name: raw_ops.call_parameter_op(name, T3, table_id=0)
        )
        for name in raw_ops.PARAMETER_OPS
    }
    calls["RecvTPUEmbeddingActivations"] = lambda: (
        tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=configs.config()
        )
    )
    calls["SendTPUEmbeddingGradients"] = lambda: (
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[_FLOATS], learning_rates=[], config=b""
        )
    )
    calls["LoadAllTPUEmbeddingParameters"] = lambda: raw_ops.load_all(
        [_FLOATS], [[_FLOATS]] * 7
    )
    calls["RetrieveAllTPUEmbeddingParameters"] = lambda: raw_ops.retrieve_all(1)
    return calls


@pytest.mark.parametrize("name", _op_names())
def test_ops_before_configure_are_refused(name):
    """Acceptance cases A1 and A18: every op is there, and says what to do."""
    with raw_ops.refused(tf.errors.FailedPreconditionError, _NOT_CONFIGURED):
        _op_names()[name]()


def _other_config_calls(config):
    return {
        "receive": lambda: tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, config=config
        ),
        "send": lambda: tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[tf.ones([2, 2])], learning_rates=[], config=config
        ),
        "load": lambda: raw_ops.load_op(configs.SGD)(
            parameters=T3, num_shards=1, shard_id=0, table_id=0, config=config
        ),
        "retrieve": lambda: raw_ops.retrieve_op(configs.SGD)(
            num_shards=1, shard_id=0, table_id=0, config=config
        ),
        "load all": lambda: raw_ops.load_all([T3], [[T3]] * 7, config),
        "retrieve all": lambda: raw_ops.retrieve_all(1, config),
    }


@pytest.mark.parametrize("call", _other_config_calls(b""))
def test_another_configuration_is_refused(call):
    raw_ops.RawOpsBackend(configs.config(configs.table(learning_rate=0.25)))
    other = configs.config(configs.table(learning_rate=0.5))

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        "config must equal the configured one, differs in "
        "table_descriptor[0].optimization_parameters.learning_rate.constant: "
        "configured 0.25, got 0.5",
    ):
        _other_config_calls(other)[call]()


@pytest.mark.parametrize("call", _other_config_calls(b""))
def test_configuration_that_does_not_parse_is_refused(call):
    raw_ops.RawOpsBackend(configs.config())

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        f"{_MALFORMED}, got 2 bytes that do not parse as one",
    ):
        _other_config_calls(b"\xff\xff")[call]()


def test_a_configuration_in_other_words_is_accepted():
    engine = steps.one_table(raw_ops.RawOpsBackend, [T3])
    # The default of a field, written out, and the bytes as Java passes them.
    spelled = engine.config + b"\x30\x00"
    java = engine.config.decode("latin-1").encode()

    for config in (spelled, java, b""):
        assert config != engine.config
        (table,) = [
            raw_ops.retrieve_op(configs.SGD)(
                num_shards=1, shard_id=0, table_id=0, config=config
            )
        ]
        np.testing.assert_array_equal(table, T3)


def test_no_shutdown_is_too_many():
    tf.raw_ops.ShutdownDistributedTPU()
    tf.raw_ops.ConfigureTPUEmbedding(config=configs.config())
    tf.raw_ops.ShutdownDistributedTPU()
    tf.raw_ops.ShutdownDistributedTPU()

    assert not tf.raw_ops.IsTPUEmbeddingInitialized()


def test_initialized_is_what_is_configured():
    one, other = configs.config(), configs.config(configs.table("other"))
    before = tf.raw_ops.IsTPUEmbeddingInitialized()

    tf.raw_ops.ConfigureTPUEmbedding(config=one)

    assert not before
    assert tf.raw_ops.IsTPUEmbeddingInitialized()
    assert tf.raw_ops.IsTPUEmbeddingInitialized(config=one)
    assert not tf.raw_ops.IsTPUEmbeddingInitialized(config=other)


def test_a_bad_system_configuration_leaves_the_engine():
    engine = steps.one_table(raw_ops.RawOpsBackend, [T3])

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        f"{_MALFORMED}, got 1 bytes that do not parse as one",
    ):
        tf.raw_ops.ConfigureDistributedTPU(tpu_embedding_config=b"\xff")

    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)


def test_configuring_the_system_drops_the_engine():
    engine = steps.one_table(raw_ops.RawOpsBackend, [T3])

    tf.raw_ops.ConfigureDistributedTPU()

    with raw_ops.refused(tf.errors.FailedPreconditionError, _NOT_CONFIGURED):
        engine.retrieve(0)


def test_the_system_configures_the_engine():
    config = configs.config()

    tf.raw_ops.ConfigureDistributedTPU(tpu_embedding_config=config)

    assert tf.raw_ops.IsTPUEmbeddingInitialized(config=config)
