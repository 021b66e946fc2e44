# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Keras 3 models under TPUStrategy on virtual cores."""

import keras
import numpy as np
import pytest
import requires
import tensorflow as tf

pytestmark = pytest.mark.timeout(300)

SAMPLES = 64


def _data(batch):
    rng = np.random.default_rng(0)
    x = rng.standard_normal([SAMPLES, 6]).astype(np.float32)
    y = (x.sum(1, keepdims=True) > 0).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(
        batch, drop_remainder=True
    )


def _model(dtype=None):
    return keras.Sequential(
        [
            keras.Input([6]),
            keras.layers.Dense(8, activation="relu", dtype=dtype),
            keras.layers.BatchNormalization(dtype=dtype),
            keras.layers.Dense(1, dtype=dtype),
        ]
    )


def _train(strategy, batch, *, dtype=None, callbacks=(), **compile_arguments):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = _model(dtype)
        model.compile(
            optimizer=keras.optimizers.Adam(0.05),
            loss=keras.losses.BinaryCrossentropy(from_logits=True),
            metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)],
            **compile_arguments,
        )
    history = model.fit(
        _data(batch), epochs=8, callbacks=list(callbacks), verbose=0
    )
    return model, history.history


def test_fit_evaluate_predict(strategy):
    batch = 8 * strategy.num_replicas_in_sync

    model, history = _train(strategy, batch)

    assert history["loss"][-1] < 0.7 * history["loss"][0]
    loss, accuracy = model.evaluate(_data(batch), verbose=0)
    assert np.isfinite(loss)
    assert 0.5 < accuracy <= 1
    assert model.predict(_data(batch), verbose=0).shape == (SAMPLES, 1)


def test_mixed_precision(strategy):
    batch = 8 * strategy.num_replicas_in_sync

    model, history = _train(strategy, batch, dtype="mixed_bfloat16")

    assert model.layers[0].compute_dtype == "bfloat16"
    assert model.layers[0].kernel.dtype == "float32"
    assert history["loss"][-1] < 0.7 * history["loss"][0]


def test_checkpoints_of_a_callback(strategy, tmp_path):
    requires.tensorflow("2.17", "reads of Keras 3 variables on the host")
    batch = 8 * strategy.num_replicas_in_sync
    path = str(tmp_path / "{epoch}.weights.h5")
    callback = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    model, _ = _train(strategy, batch, callbacks=[callback])
    with strategy.scope():
        other = _model()
    plain = _model()

    other.load_weights(path.format(epoch=8))
    plain.load_weights(path.format(epoch=8))

    for loaded, saved in zip(other.get_weights(), model.get_weights()):
        np.testing.assert_array_equal(loaded, saved)
    np.testing.assert_allclose(
        other.predict(_data(batch), verbose=0),
        plain.predict(_data(batch), verbose=0),
        rtol=1e-5,
        atol=1e-5,
    )


def test_several_steps_in_one_program(strategy):
    batch = 8 * strategy.num_replicas_in_sync
    if strategy.num_replicas_in_sync > 4:
        batch = strategy.num_replicas_in_sync

    _, history = _train(strategy, batch, steps_per_execution=2)

    assert history["loss"][-1] < history["loss"][0]
