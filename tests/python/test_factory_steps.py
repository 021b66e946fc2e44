# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Training with nothing but op classes as in TensorFlow Java."""

from __future__ import annotations

import configs
import numpy as np
import pytest
import tensorflow as tf
import tpuless
from steps import T3
from tpuless import _scope

pytestmark = [pytest.mark.timeout(60), pytest.mark.usefixtures("engine")]

CONFIG = configs.config(configs.table("t", optimizer="adagrad"))
ACCUMULATORS = np.full_like(T3, 0.1)
IDS = np.int32([2, 0])
GRADIENT = np.float32([[1, -2], [0.5, 0]])


def expected():
    """Returns weights and accumulators after a step."""
    gradient = np.zeros([3, 2])
    gradient[IDS] = GRADIENT
    accumulators = ACCUMULATORS + gradient**2
    return T3 - 0.1 * gradient / np.sqrt(accumulators), accumulators


def assert_trained(weights, accumulators):
    # A root, a division and a difference, of values below 8.
    for value, wanted in zip((weights, accumulators), expected()):
        np.testing.assert_allclose(value, wanted, rtol=0, atol=4 * 2**-22)


@pytest.fixture
def eager_ops():
    scope = tpuless.Scope(_scope.EagerSession.get_default())
    return tpuless.Ops(scope).tpu


def set_up(ops):
    """Configures and loads."""
    ops.configure_tpu_embedding(CONFIG)
    ops.load_tpu_embedding_adagrad_parameters(
        T3, ACCUMULATORS, 1, 0, table_name="t"
    )


def test_step_runs_eagerly(eager_ops):
    initialized = [eager_ops.is_tpu_embedding_initialized().as_output()]
    set_up(eager_ops)
    initialized.append(eager_ops.is_tpu_embedding_initialized().as_output())

    eager_ops.enqueue_tpu_embedding_integer_batch([IDS], "train")
    received = eager_ops.recv_tpu_embedding_activations(1, CONFIG)
    eager_ops.send_tpu_embedding_gradients([GRADIENT], [], CONFIG)
    retrieved = eager_ops.retrieve_tpu_embedding_adagrad_parameters(
        1,
        0,
        tpuless.RetrieveTPUEmbeddingAdagradParameters.tableName("t"),
    )

    assert [bool(each) for each in initialized] == [False, True]
    (activations,) = received
    np.testing.assert_array_equal(activations, T3[IDS])
    assert received.outputs() == received.op().outputs == [activations]
    assert_trained(retrieved.parameters(), retrieved.accumulators())


def test_step_runs_in_a_graph():
    graph = tf.Graph()
    ops = tpuless.Ops.create(graph)
    with graph.as_default():
        ids = tf.constant(IDS)

    def after(*controls):
        return ops.with_control_dependencies(controls).tpu

    configure = ops.tpu.configure_tpu_embedding(CONFIG)
    load = after(configure).load_tpu_embedding_adagrad_parameters(
        T3, ACCUMULATORS, 1, 0, table_name="t"
    )
    enqueue = after(load).enqueue_tpu_embedding_integer_batch([ids], "train")
    received = after(enqueue).recv_tpu_embedding_activations(1, CONFIG)
    send = after(received).send_tpu_embedding_gradients([GRADIENT], [], CONFIG)
    retrieved = after(send).retrieve_tpu_embedding_adagrad_parameters(
        1, 0, table_name="t"
    )

    with tf.compat.v1.Session(graph=graph) as session:
        activations, weights, accumulators = session.run(
            [*received, retrieved.parameters(), retrieved.accumulators()]
        )
    np.testing.assert_array_equal(activations, T3[IDS])
    assert_trained(weights, accumulators)


def test_step_runs_in_a_function(eager_ops):
    set_up(eager_ops)

    @tf.function
    def step(ids):
        ops = tpuless.Ops.create().tpu
        ops.enqueue_tpu_embedding_integer_batch([ids], "train")
        (activations,) = ops.recv_tpu_embedding_activations(1, CONFIG)
        ops.send_tpu_embedding_gradients([GRADIENT], [], CONFIG)
        return activations

    activations = step(IDS)

    np.testing.assert_array_equal(activations, T3[IDS])
    retrieved = eager_ops.retrieve_tpu_embedding_adagrad_parameters(
        1, 0, table_id=0
    )
    assert_trained(*retrieved.op().outputs)


def test_all_tables_are_loaded_and_retrieved(eager_ops):
    config = configs.config(
        configs.table("t", optimizer="adagrad", accumulate=False)
    )
    eager_ops.configure_tpu_embedding(config)
    none = [np.zeros([0, 0], np.float32)]

    eager_ops.load_all_tpu_embedding_parameters(
        [T3], [ACCUMULATORS], *([none] * 6), config, 1, 0
    )
    retrieved = eager_ops.retrieve_all_tpu_embedding_parameters(1, config, 1, 0)

    (weights,), (accumulators,) = retrieved.parameters(), retrieved.auxiliary1()
    np.testing.assert_array_equal(weights, T3)
    np.testing.assert_array_equal(accumulators, ACCUMULATORS)
    assert [len(retrieved.auxiliary7()), len(retrieved.op().outputs)] == [1, 8]


def test_lists_of_a_graph_have_a_length_each():
    config = configs.config(*map(configs.table, "abc"))

    retrieved = tpuless.Ops.create(
        tf.Graph()
    ).tpu.retrieve_all_tpu_embedding_parameters(3, config, 1, 0)

    lists = [retrieved.parameters(), retrieved.auxiliary7()]
    assert lists == [
        retrieved.op().outputs[:3],
        retrieved.op().outputs[-3:],
    ]


def test_tensor_names_the_core(eager_ops):
    set_up(eager_ops)
    splits, ids = np.int32([0, 1, 2]), np.int64(IDS)

    eager_ops.dynamic_enqueue_tpu_embedding_ragged_tensor_batch(
        [splits], [ids], [[]], "inference", 0, [0]
    )
    (activations,) = eager_ops.recv_tpu_embedding_activations(1, CONFIG)

    np.testing.assert_array_equal(activations, T3[IDS])


@pytest.mark.parametrize("ids", [[2, 0], (2, 0), IDS, tf.constant(IDS)])
def test_ids_may_be_python_values(eager_ops, ids):
    set_up(eager_ops)

    eager_ops.enqueue_tpu_embedding_arbitrary_tensor_batch(
        [[]], [ids], [[]], "inference", combiners=["sum"]
    )
    (activations,) = eager_ops.recv_tpu_embedding_activations(1, CONFIG)

    np.testing.assert_array_equal(activations, T3[IDS])


def test_large_python_ids_are_not_cut(eager_ops):
    set_up(eager_ops)

    with pytest.raises(tf.errors.InvalidArgumentError, match=str(2**32)):
        eager_ops.enqueue_tpu_embedding_arbitrary_tensor_batch(
            [[]], [[2**32, 0]], [[]], "inference"
        )


def test_refused_op_says_why(eager_ops):
    with pytest.raises(tf.errors.UnimplementedError, match="private format"):
        eager_ops.enqueue_tpu_embedding_batch([b""], "train")


def test_op_without_kernel_is_an_error_of_tensorflow(eager_ops):
    with pytest.raises(tf.errors.NotFoundError):
        eager_ops.execute_tpu_embedding_partitioner(CONFIG)


def test_system_is_set_up_and_shut_down(eager_ops):
    topology = eager_ops.configure_distributed_tpu(
        tpuless.ConfigureDistributedTPU.tpuEmbeddingConfig(CONFIG)
    ).topology()
    shut_down = eager_ops.shutdown_distributed_tpu()

    assert topology.dtype == tf.string
    assert shut_down.op().outputs == ()
    assert not bool(eager_ops.is_tpu_embedding_initialized().as_output())
