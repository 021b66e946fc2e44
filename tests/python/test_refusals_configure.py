# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What Configure refuses: the whole message, and nothing is configured."""

import pathlib
import subprocess
import sys

import configs
import pytest
import raw_ops
import requires
import steps
import tensorflow as tf
import tpuless
from steps import T3

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_ADAM = {"beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3}
_NON_LAZY = {**_ADAM, "use_non_lazy_adam": True}
_AWARE = "frequency_aware_adagrad"
_FREQUENCY = {"tau": 0.1, "max_delta": 10.0, "outlier_threshold": 2.0}


def _table(**kwargs):
    return configs.config(configs.table(**kwargs))


def _feature(shape=(2,), table=0, name="watched"):
    return configs.config(
        configs.table(num_features=0), features=[(name, table, shape)]
    )


def _damaged(**fields):
    """Returns a good configuration with top-level fields set."""
    message = configs.parse(configs.config())
    for name, value in fields.items():
        setattr(message, name, value)
    return message.SerializeToString()


def _spmd_sharding(**fields):
    for name in fields:
        requires.spmd_field(name)
    message = configs.parse(configs.config(cores=4))
    message.spmd_sharding.enabled = True
    for name, value in fields.items():
        setattr(message.spmd_sharding, name, value)
    return message.SerializeToString()


def _later_optimizer():
    """Returns a configuration with an optimizer of a later TensorFlow."""
    message = configs.parse(configs.config(configs.table(optimizer=None)))
    parameters = message.table_descriptor[0].optimization_parameters
    # Field 99, length-delimited, empty.
    parameters.MergeFromString(b"\x9a\x06\x00")
    return message.SerializeToString()


# What not every TensorFlow has a field for, is built in the test: a lambda.
_INVALID = {
    "empty bytes": (
        b"",
        "table_descriptor must have at least one entry",
    ),
    "mode unspecified": (
        configs.config(mode=0),
        "mode must be INFERENCE, TRAINING or BACKWARD_PASS_ONLY, got "
        "UNSPECIFIED",
    ),
    "mode unknown": (_damaged(mode=9), "mode must be 1, 2 or 3, got 9"),
    "sharding unknown": (
        _damaged(sharding_strategy=5),
        "sharding_strategy must be 0 or 1, got 5",
    ),
    "hosts negative": (
        _damaged(num_hosts=-1),
        "num_hosts must be >= 0, got -1",
    ),
    "cores negative": (
        _damaged(num_tensor_cores=-1),
        "num_tensor_cores must be >= 0, got -1",
    ),
    "cores do not divide": (
        configs.config(cores=3, hosts=2),
        "num_tensor_cores must be a multiple of num_hosts (2), got 3",
    ),
    "batch size missing": (
        configs.config(batch_size=0),
        "batch_size_per_tensor_core must be > 0 where there is no "
        "feature_descriptor, got 0",
    ),
    "batch size negative": (
        configs.config(batch_size=-4),
        "batch_size_per_tensor_core must be > 0 where there is no "
        "feature_descriptor, got -4",
    ),
    "num_features missing": (
        _table(num_features=0),
        "table 't': num_features must be > 0 where there is no "
        "feature_descriptor, got 0",
    ),
    "features and batch size": (
        configs.config(
            configs.table(num_features=0),
            batch_size=2,
            features=[("watched", 0, [2])],
        ),
        "batch_size_per_tensor_core must be 0 where there are "
        "feature_descriptors, got 2",
    ),
    "features and num_features": (
        configs.config(configs.table(), features=[("watched", 0, [2])]),
        "table 't': num_features must be 0 where there are "
        "feature_descriptors, got 1",
    ),
    "feature of no table": (
        _feature(table=1),
        "feature 'watched': table_id must be >= 0 and < 1, got 1",
    ),
    "feature of a negative table": (
        _feature(table=-1, name=""),
        "feature 0: table_id must be >= 0 and < 1, got -1",
    ),
    "feature without shape": (
        _feature(shape=()),
        "feature 'watched': input_shape must have one or more dimensions, "
        "all > 0, got []",
    ),
    "feature of no rows": (
        _feature(shape=(2, 0)),
        "feature 'watched': input_shape must have one or more dimensions, "
        "all > 0, got [2, 0]",
    ),
    "table without feature": (
        configs.config(
            configs.table("a", num_features=0),
            configs.table("b", num_features=0),
            features=[("watched", 0, [2])],
        ),
        "table 'b': must have one or more feature_descriptors, got 0",
    ),
    "table without name": (
        _table(name=""),
        "table 0: name must not be empty",
    ),
    "table name twice": (
        configs.config(configs.table("a"), configs.table("a")),
        "table 1: name 'a' must not be that of another table",
    ),
    "no rows": (
        _table(vocabulary_size=0),
        "table 't': vocabulary_size must be > 0, got 0",
    ),
    "no columns": (
        _table(dimension=0),
        "table 't': dimension must be > 0, got 0",
    ),
    "optimizer missing": (
        _table(optimizer=None),
        "table 't': no optimization algorithm specified",
    ),
    "tag hole": (
        configs.config(configs.table("a", tag=0), configs.table("b", tag=2)),
        "learning rate tags of all tables must be 0 to n - 1 without a hole, "
        "got 2 but no 1",
    ),
    "tag hole before the step counter": (
        lambda: _table(
            optimizer=_AWARE, hyperparameters={"step_counter": 2}, tag=0
        ),
        "learning rate tags of all tables must be 0 to n - 1 without a hole, "
        "got 2 but no 1",
    ),
    "tag hole after the step counter": (
        lambda: configs.config(
            configs.table(
                "a", optimizer=_AWARE, hyperparameters={"step_counter": 0}
            ),
            configs.table("b", tag=2),
        ),
        "learning rate tags of all tables must be 0 to n - 1 without a hole, "
        "got 2 but no 1",
    ),
    "tag negative": (
        _table(tag=-1),
        "table 't': learning rate tag must be >= 0, got -1",
    ),
    "step counter missing": (
        lambda: _table(optimizer=_AWARE),
        "table 't': frequency_aware_adagrad.step_counter must be set",
    ),
    "step counter negative": (
        lambda: _table(optimizer=_AWARE, hyperparameters={"step_counter": -1}),
        "table 't': dynamic input tag must be >= 0, got -1",
    ),
    "weight limits inverted": (
        _table(clip_weights=(1, -0.5)),
        "table 't': clipping_limits.lower must be <= upper, got 1 and -0.5",
    ),
    "gradient limits inverted": (
        _table(clip_gradients=(1, -0.5)),
        "table 't': gradient_clipping_limits.lower must be <= upper, got 1 "
        "and -0.5",
    ),
    "gradient limits without accumulation": (
        _table(clip_gradients=(-1, 1), accumulate=False),
        "table 't': gradient_clipping_limits must not be set where "
        "gradient_accumulation_status is DISABLED",
    ),
    "non-lazy without accumulation": (
        _table(optimizer="adam", hyperparameters=_NON_LAZY, accumulate=False),
        "table 't': use_non_lazy_adam must not be set where "
        "gradient_accumulation_status is DISABLED",
    ),
    "non-lazy Lion without accumulation": (
        _table(
            optimizer="lion",
            hyperparameters={"use_non_lazy_lion": True},
            accumulate=False,
        ),
        "table 't': use_non_lazy_lion must not be set where "
        "gradient_accumulation_status is DISABLED",
    ),
    "one bucket": (
        _table(quantization=(-1, 1, 1)),
        "table 't': simulated_quantization.num_buckets must be >= 2, got 1",
    ),
    "quantization without range": (
        _table(quantization=(1, 1, 4)),
        "table 't': simulated_quantization.clipping_limits must be finite "
        "with lower < upper, got 1 and 1",
    ),
    "quantization without limit": (
        _table(quantization=(None, 1, 4)),
        "table 't': simulated_quantization.clipping_limits must be finite "
        "with lower < upper, got -inf and 1",
    ),
    "frequency estimator of two columns": (
        _table(
            optimizer="frequency_estimator",
            hyperparameters=_FREQUENCY,
            tag=0,
        ),
        "table 't': dimension must be 1 for optimizer 'frequency_estimator', "
        "got 2",
    ),
    "activations too large": (
        configs.config(
            configs.table(
                vocabulary_size=1, dimension=1 << 20, num_features=1 << 20
            ),
            batch_size=1 << 30,
        ),
        "table 't': activations must have at most 1152921504606846975 "
        "elements, got shape [1125899906842624, 1048576]",
    ),
}


def _experimental(optimizer):
    return (
        f"table 't': optimizer '{optimizer}' is experimental, no public text "
        "fixes its formula; set option experimental_optimizers to run our "
        "reading of it"
    )


_UNIMPLEMENTED = {
    "optimizer without a formula": (
        _table(optimizer="mdl_adagrad_light"),
        "table 't': optimizer 'mdl_adagrad_light' is not supported: no public "
        "text gives its formula",
    ),
    "Yogi in FTRL's place": (
        _table(optimizer="online_yogi"),
        _experimental("online_yogi"),
    ),
    "frequency-aware Adagrad": (
        lambda: _table(optimizer=_AWARE, hyperparameters={"step_counter": 0}),
        _experimental(_AWARE),
    ),
    "bounded updates": (
        _table(
            optimizer="bounded_adagrad", hyperparameters={"max_var_update": 1}
        ),
        _experimental("bounded_adagrad"),
    ),
    "negative bound of updates": (
        _table(
            optimizer="bounded_adagrad", hyperparameters={"max_var_update": -1}
        ),
        _experimental("bounded_adagrad"),
    ),
    "manual partitioning": (
        lambda: _spmd_sharding(
            num_cores_per_replica=2, use_manual_partitioning=True
        ),
        "spmd_sharding.use_manual_partitioning must be false with several "
        "cores a replica (2), got true",
    ),
    "optimizer of a later TensorFlow": (
        _later_optimizer(),
        "table 't': optimizer must be known to this TensorFlow, got field "
        "number 99 of OptimizationParameters",
    ),
}

_INVALID |= {
    f"spmd with {count} cores a replica": (
        _spmd_sharding(num_cores_per_replica=count),
        "spmd_sharding.num_cores_per_replica must be >= 1 and divide the "
        f"number of cores (4), got {count}",
    )
    for count in (-1, 0, 3, 8)
}


def _built(config):
    """Returns the configuration of a case, or skips the test."""
    return config() if callable(config) else config


_CASES = [
    pytest.param(config, code, message, id=name)
    for code, cases in [
        ("INVALID_ARGUMENT", _INVALID),
        ("UNIMPLEMENTED", _UNIMPLEMENTED),
    ]
    for name, (config, message) in cases.items()
]


@pytest.mark.parametrize(("config", "code", "message"), _CASES)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_configure_refuses(backend, config, code, message):
    config = _built(config)

    with raw_ops.refused(backend.error(code), message):
        backend(config)

    engine = steps.one_table(backend, [T3])
    steps.enqueue(engine, [[1]])
    assert engine.receive()[0].tolist() == [[3, 4]]


@pytest.mark.parametrize(("config", "code", "message"), _CASES)
def test_nothing_is_configured_then(config, code, message):
    config = _built(config)

    with pytest.raises(tf.errors.OpError):
        tf.raw_ops.ConfigureTPUEmbedding(config=config)

    assert not tf.raw_ops.IsTPUEmbeddingInitialized()


@pytest.mark.parametrize(
    "config", [b"\xff\xff\xff", b"garbage", "\u20ac".encode()], ids=repr
)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_bytes_that_are_no_configuration_are_refused(backend, config):
    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "Malformed tpu_embedding_config: it must be a serialized "
        f"TPUEmbeddingConfiguration, got {len(config)} bytes that do not "
        "parse as one",
    ):
        backend(config)


def test_bytes_doubled_by_java_are_accepted():
    config = configs.config(configs.table(vocabulary_size=200))
    java = config.decode("latin-1").encode()
    assert java != config

    tf.raw_ops.ConfigureTPUEmbedding(config=java)

    assert tpuless.statistics().tables[0].vocabulary_size == 200
    assert tf.raw_ops.IsTPUEmbeddingInitialized(config=config)


@pytest.mark.parametrize(
    "op",
    [
        lambda **attrs: tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=1, **attrs
        ),
        lambda **attrs: tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[tf.zeros([1, 2])], learning_rates=[], **attrs
        ),
    ],
    ids=["receive", "send"],
)
def test_an_op_for_several_cores_is_refused(op):
    config = _spmd_sharding(num_cores_per_replica=2)
    tf.raw_ops.ConfigureTPUEmbedding(config=config)

    with raw_ops.refused(
        tf.errors.UnimplementedError,
        "spmd_sharding over several cores a replica (2) must be in the program "
        "of a TPUStrategy, and in no function of it",
    ):
        op(config=config)


@pytest.mark.parametrize(
    "size",
    [10**12, 2**62, 2**63 - 1],
    ids=["terabytes", "more than 64 bits", "largest"],
)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_tables_that_cannot_fit_are_refused_by_size(backend, size):
    config = configs.config(
        configs.table("small"),
        configs.table("huge", size, 2**30, optimizer="adam"),
    )

    with pytest.raises(backend.error("RESOURCE_EXHAUSTED")) as info:
        backend(config)

    assert raw_ops.message_of(info.value).startswith(
        f"table 'huge': needs {size * 2**30 * 12:.0f} bytes ({size} rows x "
        f"{2**30} x 3 variables x 4 bytes), "
    )


_HUGE_BATCH_SCRIPT = """
import pathlib
import subprocess
import sys

import configs
import numpy as np
import raw_ops
import tensorflow as tf

# A row split for each of 2^50 activation rows would take petabytes.
config = configs.config(configs.table("t", 3, 1, 2**20), batch_size=2**30)
none = [np.zeros([0], np.int32)]
try:
    engine = raw_ops.RawOpsBackend(config)
    engine.enqueue(
        "EnqueueTPUEmbeddingSparseBatch",
        {
            "sample_indices": none,
            "embedding_indices": none,
            "aggregation_weights": [np.zeros([0], np.float32)],
        },
    )
except tf.errors.ResourceExhaustedError:
    print("refused")
"""


def test_activations_that_cannot_fit_do_not_end_the_process():
    result = subprocess.run(
        [sys.executable, "-c", _HUGE_BATCH_SCRIPT],
        capture_output=True,
        text=True,
        cwd=pathlib.Path(__file__).parent,
    )

    assert (result.returncode, result.stdout) == (0, "refused\n")
