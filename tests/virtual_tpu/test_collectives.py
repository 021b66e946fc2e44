# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Ops by which the replicas of a program exchange values."""

import numpy as np
import pytest
import replicas
import tensorflow as tf

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        (tf.distribute.ReduceOp.SUM, lambda n: n * (n + 1) / 2),
        (tf.distribute.ReduceOp.MEAN, lambda n: (n + 1) / 2),
    ],
)
def test_all_reduce(strategy, reduce, expected):
    values = replicas.per_replica(
        strategy, lambda i: tf.constant([1.0 + i, 0.0])
    )

    @tf.function
    def reduced(values):
        def step(x):
            return tf.distribute.get_replica_context().all_reduce(reduce, x)

        return strategy.run(step, args=(values,))

    n = strategy.num_replicas_in_sync
    for value in replicas.values(strategy, reduced(values)):
        np.testing.assert_array_equal(value, [expected(n), 0])


def test_all_gather(strategy):
    values = replicas.per_replica(strategy, lambda i: tf.constant([[i, -i]]))

    @tf.function
    def gathered(values):
        def step(x):
            return tf.distribute.get_replica_context().all_gather(x, axis=0)

        return strategy.run(step, args=(values,))

    for value in replicas.values(strategy, gathered(values)):
        np.testing.assert_array_equal(
            value, [[i, -i] for i in replicas.ids(strategy)]
        )


def test_reduce_and_gather_outside_of_a_program(strategy):
    values = replicas.per_replica(strategy, lambda i: tf.constant([1.0 + i]))
    n = strategy.num_replicas_in_sync

    total = strategy.reduce("SUM", values, axis=None)
    gathered = strategy.gather(values, axis=0)

    np.testing.assert_array_equal(total, [n * (n + 1) / 2])
    np.testing.assert_array_equal(gathered, np.arange(1, n + 1))


def test_all_reduce_in_loops_and_conditions_of_a_program(strategy):
    @tf.function
    def run(values):
        def step(x):
            context = tf.distribute.get_replica_context()
            for i in tf.range(3):
                if i < 2:
                    x = context.all_reduce("SUM", x)
                else:
                    x = x + 1.0
            return x

        return strategy.run(step, args=(values,))

    values = replicas.per_replica(strategy, lambda i: tf.constant(1.0 + i))

    n = strategy.num_replicas_in_sync
    assert (
        replicas.values(strategy, run(values)) == [n * (n + 1) / 2 * n + 1] * n
    )


def test_batch_normalization_over_all_replicas(strategy):
    with strategy.scope():
        layer = tf.keras.layers.BatchNormalization(synchronized=True)
        layer.build([None, 2])

    @tf.function
    def run(values):
        return strategy.run(lambda x: layer(x, training=True), args=(values,))

    values = replicas.per_replica(
        strategy,
        lambda i: tf.constant(
            np.random.default_rng(i).standard_normal([4, 2]) + i, tf.float32
        ),
    )

    normalized = np.concatenate(replicas.values(strategy, run(values)))
    np.testing.assert_allclose(normalized.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(normalized.std(0), 1, atol=1e-2)


def test_sums_in_bfloat16_are_taken_in_float32(strategy):
    # 256 + 1 is no bfloat16: added one by one the ones would be lost.
    values = replicas.per_replica(
        strategy, lambda i: tf.constant(256.0 if i == 0 else 1.0, tf.bfloat16)
    )

    @tf.function
    def run(values):
        def step(x):
            return tf.distribute.get_replica_context().all_reduce("SUM", x)

        return strategy.run(step, args=(values,))

    expected = tf.cast(255.0 + strategy.num_replicas_in_sync, tf.bfloat16)
    for value in strategy.experimental_local_results(run(values)):
        assert value.dtype == tf.bfloat16
        assert value == expected


def test_collective_permute_and_all_to_all(strategy):
    n = strategy.num_replicas_in_sync
    values = replicas.per_replica(
        strategy, lambda i: tf.range(n, dtype=tf.float32) + 10.0 * i
    )

    @tf.function
    def run(values):
        def step(x):
            # To the next one; nobody sends to the first.
            pairs = [[i, i + 1] for i in range(n - 1)]
            shifted = tf.raw_ops.CollectivePermute(
                input=x,
                source_target_pairs=tf.constant(
                    pairs, tf.int32, shape=[n - 1, 2]
                ),
            )
            swapped = tf.raw_ops.AllToAll(
                input=tf.reshape(x, [n, 1]),
                group_assignment=[[*range(n)]],
                concat_dimension=1,
                split_dimension=0,
                split_count=n,
            )
            return shifted, swapped

        return strategy.run(step, args=(values,))

    shifted, swapped = run(values)

    for i, value in enumerate(replicas.values(strategy, shifted)):
        expected = np.arange(n) + 10 * (i - 1) if i else np.zeros(n)
        np.testing.assert_array_equal(value, expected)
    for i, value in enumerate(replicas.values(strategy, swapped)):
        np.testing.assert_array_equal(value, [[i + 10 * k for k in range(n)]])


def test_replicas_must_bring_one_shape(strategy):
    if strategy.num_replicas_in_sync == 1:
        pytest.skip("needs two replicas")

    @tf.function
    def run():
        def step():
            context = tf.distribute.get_replica_context()
            x = tf.zeros([1 + context.replica_id_in_sync_group])
            return context.all_reduce("SUM", x)

        return strategy.run(step)

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"inputs of all replicas must have one shape, got \[1\] and "
        r"\[2\]",
    ):
        run()


def test_collectives_are_refused_outside_of_programs():
    with pytest.raises(
        tf.errors.FailedPreconditionError,
        match=r"CrossReplicaSum must be in a program of TPUStrategy.run\(\)",
    ):
        tf.raw_ops.CrossReplicaSum(input=[1.0], group_assignment=[[0]])
