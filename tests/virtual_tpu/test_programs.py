# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""strategy.run() without embeddings: what becomes of a program's ops."""

from unittest import mock

import numpy as np
import pytest
import replicas
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.python.data.ops import multi_device_iterator_ops
from tensorflow.python.ops import control_flow_util

pytestmark = pytest.mark.timeout(120)


def test_each_core_is_a_replica(strategy):
    @tf.function
    def ids():
        def step():
            context = tf.distribute.get_replica_context()
            return context.replica_id_in_sync_group

        return strategy.run(step)

    assert replicas.values(strategy, ids()) == [*replicas.ids(strategy)]


def test_arguments_of_each_replica(strategy):
    values = replicas.per_replica(strategy, lambda i: tf.constant(10.0 + i))

    @tf.function
    def doubled(values):
        return strategy.run(lambda x: 2 * x, args=(values,))

    assert replicas.values(strategy, doubled(values)) == [
        2 * (10 + i) for i in replicas.ids(strategy)
    ]


@pytest.mark.parametrize("aggregation", ["SUM", "MEAN", "ONLY_FIRST_REPLICA"])
def test_variables_are_aggregated_over_replicas(strategy, aggregation):
    with strategy.scope():
        variable = tf.Variable(
            1.0,
            aggregation=getattr(tf.VariableAggregation, aggregation),
        )

    @tf.function
    def update():
        def step():
            context = tf.distribute.get_replica_context()
            variable.assign_add(
                1.0 + tf.cast(context.replica_id_in_sync_group, tf.float32)
            )

        strategy.run(step)

    update()

    n = strategy.num_replicas_in_sync
    expected = {
        "SUM": n * (n + 1) / 2,
        "MEAN": (n + 1) / 2,
        "ONLY_FIRST_REPLICA": 1,
    }
    assert variable.numpy() == 1 + expected[aggregation]


def test_variables_on_read(strategy):
    variable = replicas.variable_on_read(strategy, 0.0)

    @tf.function
    def update():
        strategy.run(lambda: variable.assign_add(2.0))

    update()
    update()

    assert variable.numpy() == 4 * strategy.num_replicas_in_sync


def test_a_program_in_a_loop_of_the_host(strategy):
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def train(steps):
        for step in tf.range(steps):
            strategy.run(
                lambda x: variable.assign_add(tf.cast(x, tf.float32)),
                args=(step,),
            )

    train(tf.constant(5))

    assert variable.numpy() == 10 * strategy.num_replicas_in_sync


def test_what_feeds_a_core_has_no_thread_that_tunes(strategy, monkeypatch):
    if strategy.num_replicas_in_sync == 1:
        pytest.skip("one core is fed by the dataset itself")
    create = multi_device_iterator_ops._create_device_dataset
    created = []
    monkeypatch.setattr(
        multi_device_iterator_ops,
        "_create_device_dataset",
        lambda *args: created.append(create(*args)) or created[-1],
    )
    dataset = tf.data.Dataset.range(64).batch(strategy.num_replicas_in_sync)

    batch = next(iter(strategy.experimental_distribute_dataset(dataset)))

    assert np.concatenate(replicas.values(strategy, batch)).tolist() == [
        *replicas.ids(strategy)
    ]
    assert [each.options().autotune.enabled for each in created] == [
        False
    ] * strategy.num_replicas_in_sync


def test_conditions_and_loops_in_a_program(strategy):
    @tf.function
    def run(values):
        def step(x):
            total = tf.constant(0.0)
            for i in tf.range(3):
                if tf.cast(i, tf.float32) < x:
                    total += x
                else:
                    total -= 1.0
            return total

        return strategy.run(step, args=(values,))

    values = replicas.per_replica(strategy, lambda i: tf.constant(float(i)))

    expected = [
        sum(x if i < x else -1 for i in range(3))
        for x in replicas.ids(strategy)
    ]
    assert replicas.values(strategy, run(values)) == expected


def test_gradients_through_loops(strategy):
    with strategy.scope():
        variable = tf.Variable(2.0)

    @tf.function
    def run():
        def step():
            with tf.GradientTape() as tape:
                y = tf.constant(1.0)
                for _ in tf.range(3):
                    y *= variable
            gradient = tape.gradient(y, variable)
            return tf.distribute.get_replica_context().all_reduce(
                "MEAN", gradient
            )

        return strategy.run(step)

    assert (
        replicas.values(strategy, run()) == [12] * strategy.num_replicas_in_sync
    )


@pytest.mark.parametrize("in_loop", [False, True])
def test_a_session_fetches_the_output_of_one_replica(strategy, in_loop):
    def step(x):
        return tf.distribute.get_replica_context().all_reduce("SUM", x)

    def run(x):
        return strategy.experimental_local_results(
            strategy.run(step, args=(x,))
        )[0]

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        if in_loop:
            # As before TensorFlow 2: the program is in the loop itself.
            with mock.patch.object(
                control_flow_util, "ENABLE_CONTROL_FLOW_V2", False
            ):
                _, total = tf.compat.v1.while_loop(
                    lambda i, x: i < 3, lambda i, x: (i + 1, run(x)), (0, 1.0)
                )
        else:
            total = run(tf.constant(1.0))

        power = 3 if in_loop else 1
        assert session.run(total) == strategy.num_replicas_in_sync**power


@pytest.mark.parametrize("seeded", ["by the op", "by TensorFlow"])
def test_replicas_draw_numbers_of_their_own(strategy, seeded):
    tf.random.set_seed(42)
    seed = 7 if seeded == "by the op" else None

    @tf.function
    def run():
        return strategy.run(lambda: tf.random.normal([8], seed=seed))

    numbers = {tuple(value) for value in replicas.values(strategy, run())}

    assert len(numbers) == strategy.num_replicas_in_sync


def test_strings_of_a_batch_of_any_size(strategy):
    n = strategy.num_replicas_in_sync
    dataset = tf.data.Dataset.from_tensor_slices(
        (["a", "b", "c"] * n + ["d"], tf.range(3 * n + 1))
    ).batch(3 * n)
    iterator = iter(strategy.experimental_distribute_dataset(dataset))

    @tf.function
    def run(iterator):
        def step(strings, numbers):
            return tf.shape(numbers)[0]

        return strategy.run(step, args=next(iterator))

    assert sum(replicas.values(strategy, run(iterator))) == 3 * n
    assert sum(replicas.values(strategy, run(iterator))) == 1


def test_an_optimizer_keeps_the_replicas_alike(strategy):
    with strategy.scope():
        variable = tf.Variable([1.0, -1.0])
        optimizer = tf.keras.optimizers.Adam(0.1)
        optimizer.build([variable])

    @tf.function
    def train(values):
        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(variable * x)
            gradient = tape.gradient(loss, variable)
            optimizer.apply_gradients([(gradient, variable)])
            return loss

        return strategy.run(step, args=(values,))

    values = replicas.per_replica(
        strategy, lambda i: tf.constant([1.0 + i, 2.0])
    )
    for _ in range(3):
        train(values)

    copies = [copy.numpy() for copy in variable.values]
    for copy in copies:
        np.testing.assert_array_equal(copy, copies[0])
    assert (copies[0] != [1, -1]).all()


def test_an_error_on_one_core_is_raised_and_the_next_step_works(strategy):
    @tf.function
    def run(values):
        def step(x):
            with tf.control_dependencies(
                [tf.debugging.assert_less(x, 100.0, "too large")]
            ):
                return tf.distribute.get_replica_context().all_reduce("SUM", x)

        return strategy.run(step, args=(values,))

    last = strategy.num_replicas_in_sync - 1
    bad = replicas.per_replica(
        strategy, lambda i: tf.constant(1000.0 if i == last else 1.0)
    )
    good = replicas.per_replica(strategy, lambda i: tf.constant(1.0))

    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        run(bad)

    assert replicas.values(strategy, run(good)) == [last + 1] * (last + 1)


@pytest.mark.parametrize("nested", [False, True])
def test_an_op_without_a_kernel_is_refused(strategy, nested):
    def compiled(x):
        # Of the partitioner; there is no kernel of it for any device.
        return gen_xla_ops.xla_spmd_full_to_shard_shape(x, manual_sharding="")

    @tf.function
    def run(x):
        function = tf.function(compiled) if nested else compiled
        return strategy.run(function, args=(x,))

    with pytest.raises(
        tf.errors.UnimplementedError,
        match=r"TPU program '.*': node '.*XlaSpmdFullToShardShape' "
        r"\(XlaSpmdFullToShardShape\) must have a kernel for CPUs, got none "
        r"with attributes \[T=DT_FLOAT, dim=-1, manual_sharding=\"\", "
        r"unspecified_dims=\[\]\]",
    ):
        run(tf.constant([1.0]))


def test_more_replicas_than_cores_are_refused(strategy):
    n = strategy.num_replicas_in_sync

    @tf.function
    def run():
        outputs = tf.compat.v1.tpu.replicate(
            lambda: tf.constant(1.0), inputs=[[]] * (n + 1)
        )
        return outputs

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=f"TPU program '.*': needs core {n}, but there are {n} virtual "
        "cores",
    ):
        run()
