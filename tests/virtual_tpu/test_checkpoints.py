# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of TPUEmbedding on virtual cores."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
import tpuless
from models import Model, train

pytestmark = pytest.mark.timeout(300)

embedding = tf.tpu.experimental.embedding


def _adam():
    return embedding.Adam(0.1, beta_2=0.99, epsilon=1e-3)


def _assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, slots in expected.items():
        assert actual[name].keys() == slots.keys()
        for slot, value in slots.items():
            np.testing.assert_array_equal(actual[name][slot], value)


def test_tables_and_slots_survive(strategy, tmp_path):
    model = Model(strategy, _adam())
    train(model)
    path = tf.train.Checkpoint(layer=model.layer).save(str(tmp_path / "c"))
    saved = model.retrieve()
    train(model, steps=2)
    expected = model.retrieve()

    tpuless.reset()
    other = Model(strategy, _adam())
    status = tf.train.Checkpoint(layer=other.layer).restore(path)
    status.assert_existing_objects_matched()

    _assert_same(other.retrieve(), saved)
    train(other, steps=2)
    _assert_same(other.retrieve(), expected)


# Restores a checkpoint on its own cores, and saves it again.
PASS_ON = """
import sys

import tensorflow as tf
import tpuless
from models import Model

resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)
model = Model(strategy, tf.tpu.experimental.embedding.Adam())
checkpoint = tf.train.Checkpoint(layer=model.layer)
checkpoint.restore(sys.argv[1]).assert_existing_objects_matched()
print(strategy.num_replicas_in_sync, checkpoint.write(sys.argv[2]))
"""


def test_other_numbers_of_cores_read_and_write_the_same(strategy, tmp_path):
    model = Model(strategy, _adam())
    train(model)
    path = tf.train.Checkpoint(layer=model.layer).save(str(tmp_path / "c"))
    saved = model.retrieve()
    other_cores = 3 if strategy.num_replicas_in_sync == 4 else 4

    passed_on = subprocess.run(
        [sys.executable, "-c", PASS_ON, path, str(tmp_path / "d")],
        env={**os.environ, "TPULESS_CORES": str(other_cores)},
        cwd=pathlib.Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    assert passed_on == f"{other_cores} {tmp_path / 'd'}\n"
    tpuless.reset()
    other = Model(strategy, _adam())
    status = tf.train.Checkpoint(layer=other.layer).restore(str(tmp_path / "d"))
    status.assert_existing_objects_matched()
    _assert_same(other.retrieve(), saved)


@pytest.mark.parametrize(
    "layer_class",
    [embedding.TPUEmbedding, embedding.TPUEmbeddingForServing],
)
def test_restored_without_the_strategy(strategy, layer_class, tmp_path):
    model = Model(strategy, _adam())
    train(model)
    path = tf.train.Checkpoint(layer=model.layer).save(str(tmp_path / "c"))
    saved = model.retrieve()

    layer = layer_class(model.features, _adam())
    layer.build()
    status = tf.train.Checkpoint(layer=layer).restore(path)
    status.assert_existing_objects_matched()

    for config, table in layer.embedding_tables.items():
        np.testing.assert_array_equal(
            table.numpy(), saved[config.name]["parameters"]
        )


def test_from_the_cpu_to_the_cores(strategy, tmp_path):
    model = Model(strategy, _adam())
    layer = embedding.TPUEmbedding(model.features, _adam())
    layer.build()
    for config, table in layer.embedding_tables.items():
        table.assign(model.initial[config.name] * 2)
    path = tf.train.Checkpoint(layer=layer).save(str(tmp_path / "c"))

    tf.train.Checkpoint(layer=model.layer).restore(path)
    # TensorFlow loads by itself what was saved under a strategy.
    model.layer._load_variables()

    for name, slots in model.retrieve().items():
        np.testing.assert_array_equal(
            slots["parameters"], model.initial[name] * 2
        )


def test_serving_looks_up_what_was_trained(strategy, tmp_path):
    model = Model(strategy, _adam())
    train(model)
    path = tf.train.Checkpoint(layer=model.layer).save(str(tmp_path / "c"))
    features, _ = model.batch([0, 0])
    serving = embedding.TPUEmbeddingForServing(model.features, _adam())
    serving.build()
    tf.train.Checkpoint(layer=serving).restore(path)

    activations = serving(features)

    (expected,) = model.look_up([features])
    for actual, one in zip(activations, expected, strict=True):
        np.testing.assert_allclose(actual, one, rtol=2e-6, atol=2e-6)


def test_tables_are_not_at_hand_under_the_strategy(strategy):
    model = Model(strategy, _adam())

    with pytest.raises(RuntimeError, match="Unable to retrieve embedding"):
        _ = model.layer.embedding_tables
