# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Acceptance cases of the engine's state: load, configure, reset, memory."""

import os
import pathlib
import subprocess
import sys
import time

import configs
import numpy as np
import pytest
import raw_ops
import steps
import tensorflow as tf
import tpuless
from steps import T3

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)

_load_sgd = raw_ops.load_op(configs.SGD)
_retrieve_sgd = raw_ops.retrieve_op(configs.SGD)


_NOT_CONFIGURED = "no engine is configured; run ConfigureTPUEmbedding first"


def test_tables_are_loaded_by_name_and_by_id():
    """Acceptance case A18."""
    config = configs.config(configs.table("a"), configs.table("b", 4))
    other = np.arange(8, dtype=np.float32).reshape(4, 2)
    tf.raw_ops.ConfigureTPUEmbedding(config=config)

    _load_sgd(
        parameters=T3, num_shards=1, shard_id=0, table_name="a", config=config
    )
    _load_sgd(parameters=other, num_shards=1, shard_id=0, table_name="b")

    for key, expected in [
        ({"table_name": "a"}, T3),
        ({"table_id": 0}, T3),
        ({"table_name": "b"}, other),
        ({"table_id": 1}, other),
    ]:
        actual = _retrieve_sgd(num_shards=1, shard_id=0, **key)
        np.testing.assert_array_equal(actual, expected)
    _load_sgd(parameters=2 * T3, num_shards=1, shard_id=0, table_id=0)
    actual = _retrieve_sgd(num_shards=1, shard_id=0, table_name="a")
    np.testing.assert_array_equal(actual, 2 * T3)


def test_load_and_retrieve_before_configure_are_refused():
    """Acceptance case A18."""
    with raw_ops.refused(tf.errors.FailedPreconditionError, _NOT_CONFIGURED):
        _load_sgd(parameters=T3, num_shards=1, shard_id=0, table_id=0)
    with raw_ops.refused(tf.errors.FailedPreconditionError, _NOT_CONFIGURED):
        _retrieve_sgd(num_shards=1, shard_id=0, table_id=0)


@both
def test_retrieve_before_load_is_refused(backend):
    """Acceptance case A18."""
    engine = backend(configs.config())

    with raw_ops.refused(
        backend.error("FAILED_PRECONDITION"),
        "table 't': must be loaded first, no shard of it is",
    ):
        engine.retrieve(0)

    engine.load(0, [T3])
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)


@both
def test_load_of_another_shape_is_refused(backend):
    """Acceptance case A18."""
    engine = backend(configs.config())

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "table 't': parameters must have shape [3, 2], got [2, 2]",
    ):
        engine.load(0, [T3[:2]])

    engine.load(0, [T3])
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)


def test_unknown_table_name_is_refused():
    """Acceptance case A18."""
    config = configs.config(configs.table("a"), configs.table("b"))
    tf.raw_ops.ConfigureTPUEmbedding(config=config)

    with raw_ops.refused(
        tf.errors.NotFoundError, "unknown table 'c', expected one of 'a', 'b'"
    ):
        _load_sgd(parameters=T3, num_shards=1, shard_id=0, table_name="c")


@both
def test_retrieve_gives_the_bits_that_were_loaded(backend):
    """Acceptance case A18."""
    rng = np.random.default_rng(11)
    bits = rng.integers(0, 2**32, [2, 50, 7], np.uint32)
    variables = list(bits.view(np.float32))
    config = configs.config(configs.table("t", 50, 7, optimizer="adagrad"))
    engine = backend(config)

    engine.load(0, variables)

    for actual, expected in zip(engine.retrieve(0), bits, strict=True):
        np.testing.assert_array_equal(actual.view(np.uint32), expected)


@both
def test_a_table_that_cannot_fit_is_refused_at_once(backend):
    """Acceptance case A19."""
    config = configs.config(
        configs.table("huge", 10**12, 128, optimizer="adam")
    )
    start = time.monotonic()

    with pytest.raises(backend.error("RESOURCE_EXHAUSTED")) as info:
        backend(config)

    assert time.monotonic() - start < 1
    # The machine's memory follows.
    assert raw_ops.message_of(info.value).startswith(
        "table 'huge': needs 1536000000000000 bytes (1000000000000 rows x 128 "
        "x 3 variables x 4 bytes), 1536000000000000 with the tables before "
        "it, but the machine has "
    )
    engine = backend(configs.config())
    engine.load(0, [T3])


def test_second_configure_is_refused_and_harms_nothing():
    """Acceptance case A20."""
    engine = steps.one_table(raw_ops.RawOpsBackend, [T3])
    steps.enqueue(engine, [[1]])

    with raw_ops.refused(
        tf.errors.AlreadyExistsError,
        "an engine is configured already; tpuless.reset() or "
        "ShutdownDistributedTPU drops it",
    ):
        tf.raw_ops.ConfigureTPUEmbedding(config=engine.config)

    np.testing.assert_array_equal(engine.receive()[0], [[3, 4]])
    engine.send([np.zeros([1, 2], np.float32)])
    np.testing.assert_array_equal(engine.retrieve(0)[0], T3)


def test_after_reset_nothing_old_is_visible():
    """Acceptance case A20."""
    engine = steps.one_table(raw_ops.RawOpsBackend, [T3])
    steps.enqueue(engine, [[1]])

    tpuless.reset()
    config = configs.config(configs.table("other", 4, 3, 2))
    other = raw_ops.RawOpsBackend(config)

    assert other.statistics().queued_batches == 0
    with raw_ops.refused(
        tf.errors.FailedPreconditionError,
        "table 'other': must be loaded first, no shard of it is",
    ):
        other.retrieve(0)
    variable = np.arange(12, dtype=np.float32).reshape(4, 3)
    other.load(0, [variable])
    other.enqueue(
        "EnqueueTPUEmbeddingIntegerBatch", {"batch": [np.int32([3, 2, 1, 0])]}
    )
    np.testing.assert_array_equal(other.receive()[0], variable[::-1])


def _resident_bytes():
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_cycles_of_configure_and_reset_leave_no_memory():
    """Acceptance case A20."""
    # A leak of a table would be 100 MB.
    table = {"vocabulary_size": 1000, "dimension": 256}
    config = configs.config(configs.table(**table), batch_size=1)
    weights = np.ones([1000, 256], np.float32)

    def cycle():
        engine = raw_ops.RawOpsBackend(config)
        engine.load(0, [weights])
        steps.step(engine, [[1, 2, 3]], np.ones([1, 256]))
        tpuless.reset()

    for _ in range(10):
        cycle()
    before = _resident_bytes()
    for _ in range(100):
        cycle()

    assert _resident_bytes() - before < 10e6


_MEMORY_SCRIPT = """
import pathlib, re, sys
import configs, raw_ops
import numpy as np
import tensorflow as tf
import tpuless

def status(key):
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(key + r":\\s+(\\d+) kB", text)[1]) * 1024

def peak_of(function):
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # Resets VmHWM.
    before = status("VmRSS")
    result = function()
    return status("VmHWM") - before, result

def run(rows):
    table = configs.table("t", rows, 64)
    tf.raw_ops.ConfigureTPUEmbedding(config=configs.config(table))
    values = tf.random.uniform([rows, 64])
    load, _ = peak_of(lambda: raw_ops.load_op(configs.SGD)(
        parameters=values, num_shards=1, shard_id=0, table_id=0))
    retrieve, result = peak_of(lambda: raw_ops.retrieve_op(configs.SGD)(
        num_shards=1, shard_id=0, table_id=0))
    np.testing.assert_array_equal(values, result)
    tpuless.reset()
    return load, retrieve

run(1000)  # What TensorFlow itself claims once.
print(*run(int(sys.argv[1])))
"""


@pytest.mark.parametrize(
    "megabytes", [16, pytest.param(256, marks=pytest.mark.slow)]
)
def test_load_and_retrieve_claim_the_table_once(megabytes):
    """Acceptance case A24."""
    rows = megabytes * 2**20 // 256

    result = subprocess.run(
        [sys.executable, "-c", _MEMORY_SCRIPT, str(rows)],
        capture_output=True,
        text=True,
        check=True,
        cwd=pathlib.Path(__file__).parent,
    )

    load, retrieve = (int(text) for text in result.stdout.split())
    assert load < 1.25 * megabytes * 2**20
    assert retrieve < 1.25 * megabytes * 2**20


_FTRL_SCRIPT = """
import configs, raw_ops, steps

engine = raw_ops.RawOpsBackend(
    configs.config(configs.table(optimizer="ftrl"))
)
engine.load(0, [steps.T3, steps.T3, 0 * steps.T3])
engine.load(0, [0 * steps.T3, steps.T3, 0 * steps.T3])
engine.load(0, [steps.T3, steps.T3, steps.T3])
"""


def test_ftrl_weights_without_linears_give_a_warning():
    """Acceptance case A9: of the three loads only the first loses weights."""
    result = subprocess.run(
        [sys.executable, "-c", _FTRL_SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        cwd=pathlib.Path(__file__).parent,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"},
    )

    assert (
        result.stderr.count(
            "table 't': weights loaded with linears of 0 are lost when FTRL "
            "first updates their row\n"
        )
        == 1
    )
