# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The embedding layer of TensorFlow Recommenders in Keras 2 models."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_recommenders as tfrs
import tpuless

embedding = tf.tpu.experimental.embedding

BATCH = 2  # Samples a core.
STEPS = 3
RATE = 0.1
UNSUPPORTED = tf.tpu.experimental.HardwareFeature.EmbeddingFeature.UNSUPPORTED


def _initial_tables():
    rng = np.random.default_rng(0)
    return {
        "users": rng.standard_normal([8, 4]).astype(np.float32),
        "items": rng.standard_normal([16, 2]).astype(np.float32),
    }


def _make_model(strategy, *, sparse=False, scale=1.0, steps=1, **layer):
    """Returns a model that has one layer over two tables and one above it."""
    batch = BATCH * strategy.num_replicas_in_sync
    with strategy.scope():
        users, items = (
            embedding.TableConfig(
                *table.shape,
                initializer=tf.constant_initializer(scale * table),
                combiner=combiner,
                name=name,
            )
            for (name, table), combiner in zip(
                _initial_tables().items(), ["sum", "mean"]
            )
        )
        features = {
            "item": embedding.FeatureConfig(
                table=items,
                name="item",
                output_shape=[BATCH] if sparse else None,
            ),
            "user": embedding.FeatureConfig(table=users, name="user"),
        }
        inputs = {
            "item": tf.keras.Input(
                [None if not sparse else 16],
                batch,
                dtype=tf.int64,
                ragged=not sparse,
                sparse=sparse,
            ),
            "user": tf.keras.Input([1], batch, dtype=tf.int64),
        }
        optimizer = tf.keras.optimizers.legacy.SGD(RATE)
        activations = tfrs.layers.embedding.TPUEmbedding(
            features, optimizer, **layer
        )(inputs)
        # Plain variables keep the dimension of one that ids of users have.
        flat = [
            tf.keras.layers.Flatten()(activations[name])
            for name in ("user", "item")
        ]
        logits = tf.keras.layers.Dense(
            1, kernel_initializer=tf.constant_initializer(0.3)
        )(tf.keras.layers.Concatenate()(flat))
        model = tf.keras.Model(inputs, tf.cast(logits, tf.float32))
        model.compile(
            optimizer, loss="mse", metrics=["mae"], steps_per_execution=steps
        )
    return model


def _make_data(strategy, sparse=False):
    rng = np.random.default_rng(1)
    batch = BATCH * strategy.num_replicas_in_sync
    samples = batch * STEPS
    items = tf.ragged.constant(
        [list(rng.integers(0, 16, rng.integers(0, 4))) for _ in range(samples)],
        tf.int64,
    )
    if sparse:
        items = tf.sparse.reset_shape(items.to_sparse(), [samples, 16])
    features = {"user": rng.integers(0, 8, [samples, 1]), "item": items}
    labels = rng.standard_normal([samples, 1]).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((features, labels))
    return data.batch(batch, drop_remainder=True)


def _distribute(strategy, data):
    # Ids are enqueued by the host.
    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    return strategy.experimental_distribute_dataset(data, options)


def _train_plainly(data):
    """Returns tables and kernel that plain variables would have."""
    tables = {k: tf.Variable(v) for k, v in _initial_tables().items()}
    kernel = tf.Variable(tf.fill([6, 1], 0.3))
    bias = tf.Variable([0.0])
    variables = [*tables.values(), kernel, bias]
    for features, labels in data:
        items = features["item"]
        if isinstance(items, tf.SparseTensor):
            items = tf.RaggedTensor.from_sparse(items)
        counts = tf.cast(items.row_lengths(), tf.float32)[:, None]
        with tf.GradientTape() as tape:
            users = tf.gather(tables["users"], features["user"][:, 0])
            sums = tf.reduce_sum(tf.gather(tables["items"], items), 1)
            means = tf.math.divide_no_nan(sums, counts)
            logits = tf.concat([users, means], 1) @ kernel + bias
            loss = tf.reduce_mean((logits - labels) ** 2)
        for variable, gradient in zip(
            variables, tape.gradient(loss, variables)
        ):
            variable.assign_sub(RATE * tf.convert_to_tensor(gradient))
    return {k: v.numpy() for k, v in tables.items()}, kernel.numpy()


def _layer(model):
    (layer,) = (
        layer
        for layer in model.layers
        if isinstance(layer, tfrs.layers.embedding.TPUEmbedding)
    )
    return layer


def _tables(model):
    """Returns the tables as they are in the engine."""
    config = _layer(model)._tpu_embedding._config_proto
    tables = tpuless.retrieve_tables(config.SerializeToString())
    return {k: v["parameters"].numpy() for k, v in tables.items()}


def _assert_close(actual, expected, tolerance=1e-6):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("steps", [1, STEPS], ids="{} steps at once".format)
@pytest.mark.parametrize("sparse", [False, True], ids=["ragged", "sparse"])
def test_fit_is_that_of_plain_variables(strategy, sparse, steps):
    data = _make_data(strategy, sparse)
    model = _make_model(strategy, sparse=sparse, steps=steps)

    model.fit(_distribute(strategy, data), steps_per_epoch=STEPS, verbose=0)

    tables, kernel = _train_plainly(data)
    for name, table in _tables(model).items():
        _assert_close(table, tables[name])
    _assert_close(model.layers[-2].kernel.numpy(), kernel)
    counts = tpuless.statistics()
    assert counts.steps == STEPS
    calls = STEPS * strategy.num_replicas_in_sync
    assert (counts.enqueues, counts.receives, counts.sends) == (calls,) * 3


@pytest.mark.parametrize("steps", [1, STEPS], ids="{} steps at once".format)
def test_evaluate_and_predict_leave_the_tables(strategy, steps):
    data = _make_data(strategy)
    model = _make_model(strategy, steps=steps)
    model.fit(_distribute(strategy, data), steps_per_epoch=STEPS, verbose=0)
    before = _tables(model)

    loss, _ = model.evaluate(
        _distribute(strategy, data), steps=STEPS, verbose=0
    )
    predicted = model.predict(
        _distribute(strategy, data), steps=STEPS, verbose=0
    )

    labels = np.concatenate([labels for _, labels in data])
    _assert_close(loss, np.mean((predicted - labels) ** 2), 1e-5)
    for name, table in _tables(model).items():
        np.testing.assert_array_equal(table, before[name])


def test_checkpoints_of_a_callback(strategy, tmp_path):
    data = _make_data(strategy)
    model = _make_model(strategy)
    path = str(tmp_path / "epoch{epoch}")
    model.fit(
        _distribute(strategy, data),
        epochs=2,
        steps_per_epoch=STEPS,
        callbacks=[
            tf.keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
        ],
        verbose=0,
    )
    expected = model.predict(
        _distribute(strategy, data), steps=STEPS, verbose=0
    )

    tpuless.reset()
    other = _make_model(strategy, scale=3.0)
    other.load_weights(path.format(epoch=2))

    actual = other.predict(_distribute(strategy, data), steps=STEPS, verbose=0)
    _assert_close(actual, expected)
    first = dict(tf.train.list_variables(path.format(epoch=1)))
    assert [8, 4] in first.values()


def test_a_checkpoint_serves_without_the_strategy(strategy, tmp_path):
    data = _make_data(strategy)
    model = _make_model(strategy)
    model.fit(_distribute(strategy, data), steps_per_epoch=STEPS, verbose=0)
    model.save_weights(str(tmp_path / "weights"))
    expected = model.predict(
        _distribute(strategy, data), steps=STEPS, verbose=0
    )

    other = _make_model(tf.distribute.get_strategy(), scale=3.0)
    other.load_weights(str(tmp_path / "weights")).expect_partial()

    actual = np.concatenate([other(features) for features, _ in data])
    _assert_close(actual, expected)


def test_the_layer_over_plain_variables_trains_alike(strategy):
    data = _make_data(strategy)
    model = _make_model(strategy, embedding_feature=UNSUPPORTED)

    model.fit(_distribute(strategy, data), steps_per_epoch=STEPS, verbose=0)

    tables, kernel = _train_plainly(data)
    for config, table in _layer(model).embedding_tables.items():
        _assert_close(table.numpy(), tables[config.name])
    _assert_close(model.layers[-2].kernel.numpy(), kernel)
    counts = tpuless.statistics()
    assert (counts.enqueues, counts.receives, counts.sends) == (0, 0, 0)


def test_mixed_precision(strategy):
    tf.keras.mixed_precision.set_global_policy("mixed_bfloat16")
    try:
        data = _make_data(strategy)
        model = _make_model(strategy)
        assert model.layers[-2].compute_dtype == "bfloat16"

        model.fit(_distribute(strategy, data), steps_per_epoch=STEPS, verbose=0)
    finally:
        tf.keras.mixed_precision.set_global_policy("float32")

    tables, kernel = _train_plainly(data)
    for name, table in _tables(model).items():
        # bfloat16 has 8 bits; what it rounds is of size 1, times the rate.
        _assert_close(table, tables[name], STEPS * RATE * 2**-6)
        assert (table != _initial_tables()[name]).any()
    _assert_close(model.layers[-2].kernel.numpy(), kernel, STEPS * RATE * 2**-6)
