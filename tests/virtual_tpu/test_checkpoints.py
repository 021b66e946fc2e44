# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of TPUEmbedding on virtual cores."""

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
