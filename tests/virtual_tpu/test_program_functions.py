# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Functions that a program calls, and what of it runs on the host."""

import numpy as np
import pytest
import replicas
import tensorflow as tf

pytestmark = pytest.mark.timeout(120)


def test_functions_in_a_program(strategy):
    @tf.function
    def inner(x):
        context = tf.distribute.get_replica_context()
        return context.all_reduce("SUM", x) * 2

    @tf.function
    def run(values):
        return strategy.run(lambda x: inner(x) + 1, args=(values,))

    values = replicas.per_replica(strategy, lambda i: tf.constant(1.0 + i))

    n = strategy.num_replicas_in_sync
    assert replicas.values(strategy, run(values)) == [n * (n + 1) + 1] * n


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

    expected = [sum(replicas.ids(strategy))] * strategy.num_replicas_in_sync
    if session:
        with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
            results = strategy.experimental_local_results(strategy.run(step))
            assert sess.run(results) == tuple(expected)
    else:

        @tf.function
        def run():
            return strategy.run(step)

        for _ in range(3):
            assert replicas.values(strategy, run()) == expected


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
            for value in replicas.values(strategy, result):
                assert (value == n * (n - 1) / 2 + 100 * k * n).all()


def test_functions_change_the_state_of_their_core(strategy):
    variable = replicas.variable_on_read(strategy, [1.0, 2.0, 3.0])
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

    numbers = replicas.values(strategy, run())

    n = strategy.num_replicas_in_sync
    np.testing.assert_array_equal(
        variable.numpy(), [n + n * (n - 1) / 2, 2 * n, 13 * n]
    )
    assert len({tuple(each) for each in numbers}) == n


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

    values = replicas.per_replica(strategy, lambda i: tf.constant(1.0 + i))

    assert replicas.values(strategy, run(values)) == [
        2 * (10 * (1 + i) + 1) for i in replicas.ids(strategy)
    ]
    assert sorted(seen) == [10 * (1 + i) for i in replicas.ids(strategy)]


def test_outside_compilation_reads_the_variable_of_its_core(strategy):
    variable = replicas.variable_on_read(strategy, 0.0)
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

    assert replicas.values(strategy, run()) == [*replicas.ids(strategy)]
    assert sorted(seen) == [*replicas.ids(strategy)]


# Where a program may do something for `value`.
PLACES = {
    "plainly": lambda value, do: do(),
    "in a function": lambda value, do: tf.function(do)(),
    "in a condition": lambda value, do: tf.cond(
        tf.random.uniform([]) < 2, do, lambda: value
    ),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_program_writes_summaries_of_its_variables(strategy, place, tmp_path):
    variable = replicas.variable_on_read(strategy, 0.0)
    with strategy.scope():
        step = tf.Variable(
            10,
            dtype=tf.int64,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )
    writer = tf.summary.create_file_writer(str(tmp_path))

    def train():
        context = tf.distribute.get_replica_context()
        i = context.replica_id_in_sync_group
        variable.assign(5 + tf.cast(i, "float"))
        with writer.as_default(), tf.summary.record_if(step % 2 == 0):
            place(False, lambda: tf.summary.write("variable", variable, step))
        step.assign_add(1)

    @tf.function
    def run():
        for _ in tf.range(3):
            strategy.run(train)

    run()
    writer.close()

    (path,) = tmp_path.iterdir()
    events = [
        (event.step, tf.make_ndarray(value.tensor).item())
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    ]
    assert events == [(10, 5), (12, 5)]  # TensorFlow's first replica writes.
    assert step.numpy() == 13


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_the_host_decides_on_variables_of_its_core(strategy, place):
    here = replicas.variable_on_read(strategy, 0.0)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([0, 1], [10.0, 20.0]), -1.0
    )

    def decide():
        i = tf.cast(here.read_value(), tf.int32)
        return tf.cond(
            i % 2 == 0,
            lambda: tf.cond(
                i < 4,
                lambda: here.read_value() + table.lookup(i % 4 // 2),
                lambda: here.read_value() + 0.5,
            ),
            lambda: here.assign_add(100.0, read_value=True),
        )

    @tf.function
    def run():
        def step():
            context = tf.distribute.get_replica_context()
            here.assign(tf.cast(context.replica_id_in_sync_group, "float"))
            return place(
                0.0, lambda: tf.compat.v1.tpu.outside_compilation(decide)
            )

        return strategy.run(step)

    expected = [10, 101, 22, 103, 4.5, 105, 6.5, 107]
    n = strategy.num_replicas_in_sync
    assert replicas.values(strategy, run()) == expected[:n]
    assert [
        part.numpy() for part in strategy.experimental_local_results(here)
    ] == [100 * (i % 2) + i for i in replicas.ids(strategy)]


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

    assert replicas.values(strategy, run()) == [*replicas.ids(strategy)]
    assert sorted(seen) == [*replicas.ids(strategy)]
    printed = capfd.readouterr().err
    for i in replicas.ids(strategy):
        assert f"replica {i}\n" in printed


def test_a_program_looks_into_a_table_of_the_host(strategy):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([0, 1], [10, 20]), -1
    )

    @tf.function
    def run(x):
        return strategy.run(tf.function(table.lookup), args=(x,))

    for value in replicas.values(strategy, run(tf.constant([1, 0, 5]))):
        assert value.tolist() == [20, 10, -1]
