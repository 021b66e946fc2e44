# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of TPUStrategy on the virtual cores of TPULESS_CORES.

Run them once a number of cores: `TPULESS_CORES=4 pytest tests/virtual_tpu`.
"""

import os
import pathlib
import sys

# TensorFlow Recommenders are made for Keras 2. Whoever means Keras 3 says so.
os.environ["TF_USE_LEGACY_KERAS"] = "1"

import pytest
import tensorflow as tf
import tpuless

# The oracle is among the other tests.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "python"))

CORES = int(os.environ.get("TPULESS_CORES", "2"))
tpuless.virtual_tpu(CORES)


@pytest.fixture(scope="session")
def resolver():
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return resolver


@pytest.fixture
def strategy(resolver):
    tpuless.reset()
    tpuless.set_options(receive_timeout=20)
    yield tf.distribute.TPUStrategy(resolver)
    tpuless.reset()
