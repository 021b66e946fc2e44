# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Large activations: their memory serves again, but only once it is free."""

from __future__ import annotations

import gc
from pathlib import Path

import configs
import numpy as np
import pytest
import tensorflow as tf
import tpuless

NUM_SAMPLES, DIMENSION = 65536, 64  # 16 MiB of activations.
NUM_BYTES = 4 * NUM_SAMPLES * DIMENSION


@pytest.fixture
def config():
    """Configures a table of two rows, all 1 and all 2."""
    tpuless.reset()
    config = configs.config(
        configs.table("t", 2, DIMENSION, num_features=0),
        features=[("f", 0, [NUM_SAMPLES])],
    )
    tf.raw_ops.ConfigureTPUEmbedding(config=config)
    tf.raw_ops.LoadTPUEmbeddingStochasticGradientDescentParameters(
        parameters=np.repeat([[1.0], [2.0]], DIMENSION, 1).astype(np.float32),
        num_shards=1,
        shard_id=0,
        table_id=0,
    )
    yield config
    tpuless.reset()


def receive(config, row):
    """Returns activations that are all those of a row."""
    tf.raw_ops.EnqueueTPUEmbeddingArbitraryTensorBatch(
        sample_indices_or_row_splits=[tf.zeros([0], tf.int32)],
        embedding_indices=[tf.fill([NUM_SAMPLES], row)],
        aggregation_weights=[tf.zeros([0])],
        mode_override="inference",
    )
    (activations,) = tf.raw_ops.RecvTPUEmbeddingActivations(
        num_outputs=1, config=config
    )
    return activations


def view(tensor):
    """Returns a tensor's data themselves."""
    return np.asarray(memoryview(tensor))


def address(tensor):
    """Returns where a tensor's data are."""
    return view(tensor).__array_interface__["data"][0]


def resident_bytes():
    """Returns the memory that this process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_memory_of_a_step_serves_the_next_one(config):
    first = receive(config, 0)
    at = address(first)
    del first
    gc.collect()

    second = receive(config, 1)

    assert address(second) == at
    assert np.all(second.numpy() == 2)


def test_activations_in_use_stay_as_they_are(config):
    kept = [receive(config, row) for row in (0, 1, 0)]

    other = receive(config, 1)

    assert len({address(each) for each in [*kept, other]}) == 4
    for row, each in zip((0, 1, 0), kept, strict=True):
        assert np.all(each.numpy() == row + 1)


def test_a_view_keeps_its_memory(config):
    array = view(receive(config, 0))
    gc.collect()

    receive(config, 1)

    assert np.all(array == 1)


def test_activations_outlive_the_engine(config):
    activations = receive(config, 1)
    tpuless.reset()
    gc.collect()

    assert np.all(activations.numpy() == 2)


def test_reset_returns_the_memory(config):
    kept = [receive(config, 0) for _ in range(8)]
    held = resident_bytes()
    del kept
    tpuless.reset()

    assert resident_bytes() < held - 7 * NUM_BYTES


def test_no_more_is_kept_than_a_64th_of_the_machine(config):
    meminfo = Path("/proc/meminfo").read_text().split()
    kibibytes = int(meminfo[meminfo.index("MemTotal:") + 1])
    most = kibibytes * 1024 // 64
    empty = resident_bytes()

    kept = [receive(config, 0) for _ in range(most // NUM_BYTES + 8)]
    held = resident_bytes()
    del kept

    assert held > empty + most + 7 * NUM_BYTES
    assert resident_bytes() < empty + most + NUM_BYTES
