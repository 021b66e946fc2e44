# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""strategy.run() without embeddings: what becomes of a program's ops."""

from unittest import mock

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops
from tensorflow.python.data.ops import multi_device_iterator_ops
from tensorflow.python.ops import control_flow_util

pytestmark = pytest.mark.timeout(120)


def _values(strategy, per_replica):
    return [
        np.array(value)
        for value in strategy.experimental_local_results(per_replica)
    ]


def _per_replica(strategy, function):
    return strategy.experimental_distribute_values_from_function(
        lambda context: function(context.replica_id_in_sync_group)
    )


def _ids(strategy):
    return range(strategy.num_replicas_in_sync)


def _variable_on_read(strategy, initial):
    """Returns a variable of which each core has its own, summed when read."""
    with strategy.scope():
        return tf.Variable(
            initial,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )


def test_each_core_is_a_replica(strategy):
    @tf.function
    def ids():
        def step():
            context = tf.distribute.get_replica_context()
            return context.replica_id_in_sync_group

        return strategy.run(step)

    assert _values(strategy, ids()) == [*_ids(strategy)]


def test_arguments_of_each_replica(strategy):
    values = _per_replica(strategy, lambda i: tf.constant(10.0 + i))

    @tf.function
    def doubled(values):
        return strategy.run(lambda x: 2 * x, args=(values,))

    assert _values(strategy, doubled(values)) == [
        2 * (10 + i) for i in _ids(strategy)
    ]


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        (tf.distribute.ReduceOp.SUM, lambda n: n * (n + 1) / 2),
        (tf.distribute.ReduceOp.MEAN, lambda n: (n + 1) / 2),
    ],
)
def test_all_reduce(strategy, reduce, expected):
    values = _per_replica(strategy, lambda i: tf.constant([1.0 + i, 0.0]))

    @tf.function
    def reduced(values):
        def step(x):
            return tf.distribute.get_replica_context().all_reduce(reduce, x)

        return strategy.run(step, args=(values,))

    n = strategy.num_replicas_in_sync
    for value in _values(strategy, reduced(values)):
        np.testing.assert_array_equal(value, [expected(n), 0])


def test_all_gather(strategy):
    values = _per_replica(strategy, lambda i: tf.constant([[i, -i]]))

    @tf.function
    def gathered(values):
        def step(x):
            return tf.distribute.get_replica_context().all_gather(x, axis=0)

        return strategy.run(step, args=(values,))

    for value in _values(strategy, gathered(values)):
        np.testing.assert_array_equal(value, [[i, -i] for i in _ids(strategy)])


def test_reduce_and_gather_outside_of_a_program(strategy):
    values = _per_replica(strategy, lambda i: tf.constant([1.0 + i]))
    n = strategy.num_replicas_in_sync

    total = strategy.reduce("SUM", values, axis=None)
    gathered = strategy.gather(values, axis=0)

    np.testing.assert_array_equal(total, [n * (n + 1) / 2])
    np.testing.assert_array_equal(gathered, np.arange(1, n + 1))


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
    variable = _variable_on_read(strategy, 0.0)

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

    assert np.concatenate(_values(strategy, batch)).tolist() == [
        *_ids(strategy)
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

    values = _per_replica(strategy, lambda i: tf.constant(float(i)))

    expected = [
        sum(x if i < x else -1 for i in range(3)) for x in _ids(strategy)
    ]
    assert _values(strategy, run(values)) == expected


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

    values = _per_replica(strategy, lambda i: tf.constant(1.0 + i))

    n = strategy.num_replicas_in_sync
    assert _values(strategy, run(values)) == [n * (n + 1) / 2 * n + 1] * n


def test_functions_in_a_program(strategy):
    @tf.function
    def inner(x):
        context = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", x) * 2

    @tf.function
    def run(values):
        return strategy.run(lambda x: inner(x) + 1, args=(values,))

    values = _per_replica(strategy, lambda i: tf.constant(1.0 + i))

    n = strategy.num_replicas_in_sync
    assert _values(strategy, run(values)) == [n * (n + 1) + 1] * n


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

    assert _values(strategy, run()) == [12] * strategy.num_replicas_in_sync


def test_outside_compilation_runs_on_the_host(strategy):
    seen = []

    @tf.function
    def run(values):
        def host(x):
            return tf.py_function(
                lambda y: seen.append(y.numpy()) or y + 1, [x], tf.float32
            )

        def step(x):
            y = (
                tf.tpu.outside_compilation(host, x * 10)
                if hasattr(tf.tpu, "outside_compilation")
                else tf.compat.v1.tpu.outside_compilation(host, x * 10)
            )
            y.set_shape([])
            return y * 2

        return strategy.run(step, args=(values,))

    values = _per_replica(strategy, lambda i: tf.constant(1.0 + i))

    assert _values(strategy, run(values)) == [
        2 * (10 * (1 + i) + 1) for i in _ids(strategy)
    ]
    assert sorted(seen) == [10 * (1 + i) for i in _ids(strategy)]


def test_a_program_can_be_looked_into(strategy, capfd):
    seen = []

    @tf.function
    def run():
        def step():
            context = tf.distribute.get_replica_context()
            i = context.replica_id_in_sync_group
            tf.print("replica", i)
            # Where a debugger would stop.
            return tf.py_function(
                lambda x: seen.append(x.numpy()) or x, [i], tf.int32
            )

        return strategy.run(step)

    assert _values(strategy, run()) == [*_ids(strategy)]
    assert sorted(seen) == [*_ids(strategy)]
    printed = capfd.readouterr().err
    for i in _ids(strategy):
        assert f"replica {i}\n" in printed


def test_outside_compilation_reads_the_variable_of_its_core(strategy):
    variable = _variable_on_read(strategy, 0.0)
    seen = []

    @tf.function
    def run():
        def host():
            value = variable.read_value()
            return tf.py_function(
                lambda x: seen.append(x.numpy()) or x, [value], tf.float32
            )

        def step():
            context = tf.distribute.get_replica_context()
            variable.assign(tf.cast(context.replica_id_in_sync_group, "float"))
            return tf.compat.v1.tpu.outside_compilation(host)

        return strategy.run(step)

    assert _values(strategy, run()) == [*_ids(strategy)]
    assert sorted(seen) == [*_ids(strategy)]


# How a program may call a function.
CALLS = {
    "plainly": lambda function, x: function(x),
    "twice": lambda function, x: (
        function(x) - function(2 * x) + function(2 * x)
    ),
    "in a condition": lambda function, x: tf.cond(
        x > -1, lambda: function(x), lambda: x
    ),
    "in a loop": lambda function, x: tf.while_loop(
        lambda i, y: i < 2, lambda i, y: (i + 1, function(x)), (0, x)
    )[1],
    "in a function": lambda function, x: tf.function(function)(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize(
    "arguments",
    [{}, {"jit_compile": True}, {"experimental_attributes": {"_noinline": 1}}],
    ids=["inlined", "compiled", "not inlined"],
)
@pytest.mark.parametrize("session", [False, True], ids=["eager", "session"])
def test_replicas_meet_in_functions(strategy, call, arguments, session):
    function = tf.function(
        lambda x: tf.distribute.get_replica_context().all_reduce("SUM", x),
        **arguments,
    )

    def step():
        context = tf.distribute.get_replica_context()
        x = tf.cast(context.replica_id_in_sync_group, tf.float32)
        return call(function, x)

    expected = [sum(_ids(strategy))] * strategy.num_replicas_in_sync
    if session:
        with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
            results = strategy.experimental_local_results(strategy.run(step))
            assert sess.run(results) == tuple(expected)
    else:

        @tf.function
        def run():
            return strategy.run(step)

        for _ in range(3):
            assert _values(strategy, run()) == expected


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


def test_a_function_that_runs_a_program_is_called_twice(strategy):
    @tf.function
    def run(x):
        def step(y):
            return tf.distribute.get_replica_context().all_reduce("SUM", y)

        return strategy.experimental_local_results(
            strategy.run(step, args=(x,))
        )[0]

    @tf.function
    def both():
        return run(tf.constant(1.0)) + 10 * run(tf.constant(2.0))

    assert both().numpy() == 21 * strategy.num_replicas_in_sync


def test_a_program_looks_into_a_table_of_the_host(strategy):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([0, 1], [10, 20]), -1
    )

    @tf.function
    def run(x):
        return strategy.run(tf.function(table.lookup), args=(x,))

    for value in _values(strategy, run(tf.constant([1, 0, 5]))):
        assert value.tolist() == [20, 10, -1]


def test_calls_of_one_function_do_not_meet_each_other(strategy):
    @tf.function
    def total(x):
        return tf.distribute.get_replica_context().all_reduce("SUM", x)

    @tf.function
    def run():
        def step():
            context = tf.distribute.get_replica_context()
            i = tf.cast(context.replica_id_in_sync_group, tf.float32)
            return [total(tf.fill([100], i + 100 * k)) for k in range(6)]

        return strategy.run(step)

    n = strategy.num_replicas_in_sync
    for _ in range(10):
        for k, result in enumerate(run()):
            for value in _values(strategy, result):
                assert (value == n * (n - 1) / 2 + 100 * k * n).all()


def test_functions_change_the_state_of_their_core(strategy):
    variable = _variable_on_read(strategy, [1.0, 2.0, 3.0])
    with strategy.scope():
        generator = tf.random.Generator.from_seed(1)

    @tf.function
    def change():
        context = tf.distribute.get_replica_context()
        i = tf.cast(context.replica_id_in_sync_group, tf.float32)
        handle = variable._get_on_device_or_primary().handle
        # It has no kernel for whatever device there may be.
        tf.raw_ops.ResourceScatterAdd(
            resource=handle, indices=[0, 2], updates=[i, 10.0]
        )
        return generator.normal([4])

    @tf.function
    def run():
        return strategy.run(change)

    numbers = _values(strategy, run())

    n = strategy.num_replicas_in_sync
    np.testing.assert_array_equal(
        variable.numpy(), [n + n * (n - 1) / 2, 2 * n, 13 * n]
    )
    assert len({tuple(each) for each in numbers}) == n


@pytest.mark.parametrize("seeded", ["by the op", "by TensorFlow"])
def test_replicas_draw_numbers_of_their_own(strategy, seeded):
    tf.random.set_seed(42)
    seed = 7 if seeded == "by the op" else None

    @tf.function
    def run():
        return strategy.run(lambda: tf.random.normal([8], seed=seed))

    numbers = {tuple(value) for value in _values(strategy, run())}

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

    assert sum(_values(strategy, run(iterator))) == 3 * n
    assert sum(_values(strategy, run(iterator))) == 1


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

    values = _per_replica(strategy, lambda i: tf.constant([1.0 + i, 2.0]))
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
    bad = _per_replica(
        strategy, lambda i: tf.constant(1000.0 if i == last else 1.0)
    )
    good = _per_replica(strategy, lambda i: tf.constant(1.0))

    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        run(bad)

    assert _values(strategy, run(good)) == [last + 1] * (last + 1)


def test_batch_normalization_over_all_replicas(strategy):
    with strategy.scope():
        layer = tf.keras.layers.BatchNormalization(synchronized=True)
        layer.build([None, 2])

    @tf.function
    def run(values):
        return strategy.run(lambda x: layer(x, training=True), args=(values,))

    values = _per_replica(
        strategy,
        lambda i: tf.constant(
            np.random.default_rng(i).standard_normal([4, 2]) + i, tf.float32
        ),
    )

    normalized = np.concatenate(_values(strategy, run(values)))
    np.testing.assert_allclose(normalized.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(normalized.std(0), 1, atol=1e-2)


def test_sums_in_bfloat16_are_taken_in_float32(strategy):
    # 256 + 1 is no bfloat16: added one by one the ones would be lost.
    values = _per_replica(
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


def test_collective_permute_and_all_to_all(strategy):
    n = strategy.num_replicas_in_sync
    values = _per_replica(
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

    for i, value in enumerate(_values(strategy, shifted)):
        expected = np.arange(n) + 10 * (i - 1) if i else np.zeros(n)
        np.testing.assert_array_equal(value, expected)
    for i, value in enumerate(_values(strategy, swapped)):
        np.testing.assert_array_equal(value, [[i + 10 * k for k in range(n)]])
