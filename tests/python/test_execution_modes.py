# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Every way in which TensorFlow runs the ops gives the same bits."""

import configs
import numpy as np
import programs
import pytest
import tensorflow as tf
import tpuless

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]


@pytest.fixture
def eager_table():
    """Returns the table after all steps, run eagerly one after the other."""
    programs.start()
    for k in range(programs.NUM_STEPS):
        programs.step(tf.constant(k))
    table = programs.table()
    rows = programs.touched_rows()
    assert (table[rows] != programs.WEIGHTS[rows]).all()
    tpuless.reset()
    return table


def test_eager_steps_are_those_of_the_formula(eager_table):
    np.testing.assert_allclose(
        eager_table, programs.expected_table(), rtol=2e-6, atol=1e-6
    )


def test_function(eager_table):
    """Acceptance case A11."""
    programs.start()

    function = tf.function(programs.step)
    for k in range(programs.NUM_STEPS):
        function(tf.constant(k))

    np.testing.assert_array_equal(programs.table(), eager_table)


def test_loop_in_a_function(eager_table):
    programs.start()

    @tf.function
    def train():
        for k in tf.range(programs.NUM_STEPS):
            programs.step(k)

    train()

    np.testing.assert_array_equal(programs.table(), eager_table)


def test_graph_and_session(eager_table):
    """Acceptance case A11."""
    graph = tf.Graph()
    with graph.as_default():
        configure = tf.raw_ops.ConfigureTPUEmbedding(config=programs.CONFIG)
        load = programs.load()
        k = tf.compat.v1.placeholder(tf.int32, [])
        step = programs.ordered_step(k)
        retrieve = programs.retrieve()

    with tf.compat.v1.Session(graph=graph) as session:
        session.run(configure)
        session.run(load)
        for i in range(programs.NUM_STEPS):
            session.run(step, {k: i})
        table = session.run(retrieve)

    np.testing.assert_array_equal(table, eager_table)


def test_unordered_ops_on_one_inter_op_thread(eager_table):
    """No op holds the thread while it waits for another one."""
    programs.start()
    graph = tf.Graph()
    with graph.as_default():
        k = tf.compat.v1.placeholder(tf.int32, [])
        # In the order in which one thread would run into a wait.
        ops = [programs.send(k), *programs.receive(), programs.enqueue(k)]
    threads = tf.compat.v1.ConfigProto(
        inter_op_parallelism_threads=1,
        intra_op_parallelism_threads=1,
        use_per_session_threads=True,
    )

    with tf.compat.v1.Session(graph=graph, config=threads) as session:
        for i in range(programs.NUM_STEPS):
            session.run(ops, {k: i})

    np.testing.assert_array_equal(programs.table(), eager_table)


def test_saved_model(eager_table, tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def train(self, k):
            return programs.step(k)

    tf.saved_model.save(Model(), str(tmp_path))
    restored = tf.saved_model.load(str(tmp_path))
    programs.start()

    for k in range(programs.NUM_STEPS):
        restored.train(tf.constant(k))

    np.testing.assert_array_equal(programs.table(), eager_table)


def test_graph_def(eager_table):
    graph = tf.Graph()
    with graph.as_default():
        k = tf.compat.v1.placeholder(tf.int32, [], "k")
        step = programs.ordered_step(k)
    serialized = graph.as_graph_def().SerializeToString()
    programs.start()

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph_def = tf.compat.v1.GraphDef.FromString(serialized)
        tf.import_graph_def(graph_def, name="")
        for i in range(programs.NUM_STEPS):
            session.run(step.name, {"k:0": i})

    np.testing.assert_array_equal(programs.table(), eager_table)


def test_server_in_another_process(eager_table):
    """The server has loaded the library; the client has not."""
    with programs.server() as target:
        table = programs.train_at(target)

    np.testing.assert_array_equal(table, eager_table)


@pytest.mark.parametrize("num_threads", [2, 5])
def test_any_number_of_intra_op_threads(num_threads):
    assert programs.digest_with_threads(num_threads) == (
        programs.digest_with_threads(1)
    )


@pytest.mark.parametrize("num_threads", [1, 2, 3, 8])
def test_any_number_of_threads_of_the_simulator(num_threads):
    assert programs.simulator_digest(num_threads) == (
        programs.digest_with_threads(1)
    )


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("enqueue", "EnqueueTPUEmbeddingIntegerBatch"),
        ("receive", "RecvTPUEmbeddingActivations"),
        ("send", "SendTPUEmbeddingGradients"),
    ],
)
def test_compiled_function_says_to_leave_the_ops_outside(op, name):
    """Acceptance case A11."""
    programs.start()

    @tf.function(jit_compile=True)
    def function():
        getattr(programs, op)(tf.constant(0))

    with pytest.raises(tf.errors.UnimplementedError) as info:
        function()

    assert (
        f"{name} runs on the host and cannot be compiled by XLA; leave it "
        "outside the function that has jit_compile=True\n"
    ) in info.value.message
    # The process and the engine are well.
    for k in range(programs.NUM_STEPS):
        programs.step(tf.constant(k))


def test_receive_has_static_shapes_in_a_graph():
    config = configs.config(configs.table("a", 3, 2), configs.table("b", 4, 5))
    with tf.Graph().as_default():
        outputs = tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=2, config=config
        )

        assert [output.shape for output in outputs] == [
            *configs.output_shapes(config)
        ]


@pytest.mark.parametrize("way", ["raw_ops", "function"])
def test_activations_op_gives_its_second_input(way):
    def call():
        return tf.raw_ops.TPUEmbeddingActivations(
            embedding_variable=tf.zeros([2]),
            sliced_activations=tf.constant([1.0, 2.0]),
            table_id=0,
            lookup_id=0,
        )

    result = tf.function(call)() if way == "function" else call()

    np.testing.assert_array_equal(result, [1, 2])
