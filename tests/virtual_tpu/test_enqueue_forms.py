# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Forms of ids and weights that TPUEmbedding enqueues."""

import numpy as np
import pytest
import replicas
import tensorflow as tf
import tpuless

pytestmark = pytest.mark.timeout(300)

embedding = tf.tpu.experimental.embedding

ROWS, DIM = 7, 3
TABLE = np.random.default_rng(0).standard_normal([ROWS, DIM]).astype(np.float32)


def _make_layer(strategy, combiner="sum", **feature):
    with strategy.scope():
        table = embedding.TableConfig(
            ROWS,
            DIM,
            initializer=tf.constant_initializer(TABLE),
            combiner=combiner,
            name="table",
        )
        return embedding.TPUEmbedding(
            (embedding.FeatureConfig(table=table, name="f", **feature),),
            embedding.SGD(0.1),
        )


def _look_up(strategy, layer, make_ids, make_weights=None):
    """Returns the activations of each replica, after a step of ones."""

    @tf.function
    def step(ids, weights):
        def program():
            (activations,) = layer.dequeue()
            layer.apply_gradients((tf.ones_like(activations),))
            return activations

        layer.enqueue(ids, weights, training=True)
        return strategy.run(program)

    def per_replica(make):
        if make is None:
            return None
        return replicas.per_replica(strategy, lambda r: (make(r),))

    activations = step(per_replica(make_ids), per_replica(make_weights))
    return replicas.values(strategy, activations)


def _trained_table(layer):
    config = layer._config_proto.SerializeToString()
    return tpuless.retrieve_tables(config)["table"]["parameters"].numpy()


def _assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def _assert_trained(strategy, layer, gains):
    """Compares the table after a step of gradients of one.

    Args:
      strategy: It has the replicas.
      layer: It has the table.
      gains: Of a replica: an array [..., ROWS], what each row has of each
        activation.
    """
    gradient = sum(
        gains(r).reshape(-1, ROWS).sum(0) for r in replicas.ids(strategy)
    )
    _assert_close(
        _trained_table(layer), TABLE - 0.1 * np.asarray(gradient)[:, None]
    )


ROW_LENGTHS = [2, 0, 3, 1]


def _ragged(values):
    return tf.RaggedTensor.from_row_lengths(values, ROW_LENGTHS)


def _gains(replica, weights=None, combiner="sum"):
    """Returns gains of the rows that _ids() looks up, [samples, ROWS]."""
    weights = np.ones(6) if weights is None else weights
    gains = np.zeros([len(ROW_LENGTHS), ROWS])
    samples = np.repeat(np.arange(len(ROW_LENGTHS)), ROW_LENGTHS)
    np.add.at(gains, (samples, _ids(replica)), weights)
    if combiner == "mean":
        sums = gains.sum(1, keepdims=True)
        gains = np.divide(gains, sums, out=np.zeros_like(gains), where=sums > 0)
    return gains


def _ids(replica):
    return (np.array([1, 1, 3, 6, 0, 2]) + replica) % ROWS


def _weights(replica):
    return np.array([0.5, 2.0, 1.0, 3.0, 0.25, 1.5]) + replica


@pytest.mark.parametrize("form", ["ragged", "sparse"])
@pytest.mark.parametrize("combiner", ["sum", "mean"])
def test_weights(strategy, form, combiner):
    layer = _make_layer(strategy, combiner)
    if form == "sparse":
        layer.build([tf.TensorShape([4, 3])])
    else:
        layer.build(4)

    def make(values):
        ragged = _ragged(values)
        return ragged if form == "ragged" else ragged.to_sparse()

    activations = _look_up(
        strategy,
        layer,
        lambda r: make(tf.constant(_ids(r))),
        lambda r: make(tf.constant(_weights(r), tf.float32)),
    )

    def gains(replica):
        return _gains(replica, _weights(replica), combiner)

    for replica, actual in enumerate(activations):
        _assert_close(actual, gains(replica) @ TABLE)
    _assert_trained(strategy, layer, gains)


def test_dense_ids_of_rank_three(strategy):
    layer = _make_layer(strategy)
    shape = [2, 5, 1]

    def ids(replica):
        return (np.arange(10).reshape(shape) * 3 + replica) % ROWS

    activations = _look_up(strategy, layer, lambda r: tf.constant(ids(r)))

    for replica, actual in enumerate(activations):
        assert actual.shape == (2, 5, DIM)
        _assert_close(actual, TABLE[ids(replica)[..., 0]])
    _assert_trained(strategy, layer, lambda r: np.eye(ROWS)[ids(r)])


def test_sparse_ids_of_rank_three(strategy):
    layer = _make_layer(strategy, output_shape=[2, 2])
    indices = [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [1, 0, 2], [1, 1, 0]]

    def sparse(replica):
        return tf.SparseTensor(indices, _ids(replica), [2, 2, 3])

    activations = _look_up(strategy, layer, sparse)

    # The samples of _gains(), as a matrix.
    for replica, actual in enumerate(activations):
        assert actual.shape == (2, 2, DIM)
        _assert_close(actual.reshape(4, DIM), _gains(replica) @ TABLE)
    _assert_trained(strategy, layer, _gains)


def test_ragged_ids_with_a_shape_of_their_own(strategy):
    layer = _make_layer(strategy, output_shape=[2, 2])

    activations = _look_up(
        strategy, layer, lambda r: _ragged(tf.constant(_ids(r)))
    )

    for replica, actual in enumerate(activations):
        assert actual.shape == (2, 2, DIM)
        _assert_close(actual.reshape(4, DIM), _gains(replica) @ TABLE)
    _assert_trained(strategy, layer, _gains)


def test_sequences_are_cut(strategy):
    layer = _make_layer(strategy, max_sequence_length=2)
    layer.build(4)

    activations = _look_up(
        strategy, layer, lambda r: _ragged(tf.constant(_ids(r)))
    )

    ends = np.cumsum(ROW_LENGTHS)
    for replica, actual in enumerate(activations):
        expected = np.zeros([4, 2, DIM])
        for sample, (end, length) in enumerate(zip(ends, ROW_LENGTHS)):
            rows = _ids(replica)[end - length : end][:2]
            expected[sample, : len(rows)] = TABLE[rows]
        _assert_close(actual, expected)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_types_of_ids(strategy, dtype):
    layer = _make_layer(strategy)

    activations = _look_up(
        strategy, layer, lambda r: tf.constant([[3], [5]], dtype)
    )

    for actual in activations:
        _assert_close(actual, TABLE[[3, 5]])


def test_the_rate_of_a_schedule(strategy):
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.5, 2, 0.5)
    with strategy.scope():
        step = tf.Variable(
            0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
        )
        table = embedding.TableConfig(
            ROWS, DIM, initializer=tf.constant_initializer(TABLE), name="table"
        )
        layer = embedding.TPUEmbedding(
            (embedding.FeatureConfig(table=table),),
            embedding.SGD(lambda: schedule(step)),
        )
    layer.build([tf.TensorShape([1, 1])])

    @tf.function
    def train(ids):
        def program():
            (activations,) = layer.dequeue()
            layer.apply_gradients((tf.ones_like(activations),))
            step.assign_add(1)

        layer.enqueue((ids,), training=True)
        strategy.run(program)

    expected = TABLE[2].astype(np.float64)
    for k in range(4):
        train(tf.constant([[2]]))
        rate = 0.5 * 0.5 ** (k / 2)
        expected -= rate * strategy.num_replicas_in_sync

    _assert_close(_trained_table(layer)[2], expected)
