# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Programs whose replicas have several cores."""

import numpy as np
import pytest
import replicas
import tensorflow as tf
import tpuless
from tensorflow.python.ops import gen_tpu_partition_ops

pytestmark = pytest.mark.timeout(300)

embedding = tf.tpu.experimental.embedding

BATCH = 4  # Samples a core.
RATE = 0.1


def _make_strategy(resolver, cores_per_replica, **arguments):
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    num_cores = len(tf.config.list_logical_devices("TPU"))
    if num_cores % cores_per_replica:
        pytest.skip(f"needs a multiple of {cores_per_replica} cores")
    assignment = tf.tpu.experimental.DeviceAssignment.build(
        topology,
        computation_shape={
            1: [1, 1, 1, 1],
            2: [1, 1, 1, 2],
            4: [2, 1, 1, 2],
        }[cores_per_replica],
        num_replicas=num_cores // cores_per_replica,
    )
    return tf.distribute.TPUStrategy(
        resolver, experimental_device_assignment=assignment, **arguments
    )


@pytest.fixture
def pairs(resolver):
    """Replicas of two cores."""
    tpuless.reset()
    yield _make_strategy(resolver, 2)
    tpuless.reset()


def test_values_on_two_cores(pairs):
    with pairs.scope():
        variable = tf.Variable([[1.0, 2.0]])

    @tf.function
    def run(values):
        def step(x):
            y = pairs.experimental_assign_to_logical_device(x + 1, 1)
            z = pairs.experimental_split_to_logical_devices(y, [1, 2])
            total = tf.distribute.get_replica_context().all_reduce("SUM", z)
            variable.assign_add(total)
            return pairs.experimental_replicate_to_logical_devices(z * 2)

        return pairs.run(step, args=(values,))

    results = replicas.values(pairs, run(tf.constant([[1.0, 2.0]])))

    n = pairs.num_replicas_in_sync
    assert len(results) == n
    for result in results:
        np.testing.assert_array_equal(result, [[4, 6]])
    np.testing.assert_array_equal(variable.numpy(), [[1 + 2 * n, 2 + 3 * n]])


@pytest.mark.parametrize("in_function", [False, True])
def test_variables_on_a_second_core(pairs, in_function):
    with pairs.scope():
        first = tf.Variable(2.0)
        with pairs.extended.experimental_logical_device(1):
            second = tf.Variable(3.0)

    def step(x):
        context = tf.distribute.get_replica_context()
        with context.experimental_logical_device(0):
            y = first * x
        with context.experimental_logical_device(1):
            second.assign_add(1.0)
            return second * y

    program = tf.function(step) if in_function else step

    @tf.function
    def run(x):
        return pairs.run(program, args=(x,))

    for value in replicas.values(pairs, run(tf.constant(5.0))):
        assert value == 40.0
    devices = [copy.device for copy in second.values]
    assert all(int(device[-1]) % 2 == 1 for device in devices)


def test_variables_of_partitioned_programs(resolver):
    strategy = _make_strategy(
        resolver, 2, experimental_spmd_xla_partitioning=True
    )
    with strategy.scope():
        one, other = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def run():
        def step():
            one.assign_add(other)
            return one * 2.0

        return strategy.run(step)

    for value in replicas.values(strategy, run()):
        assert value == 2.0 * 3.0
    assert one.numpy() == 3.0


@pytest.mark.parametrize(
    ("make_parts", "dims", "rule"),
    [
        (
            lambda: [tf.zeros([1, 1])] * 4,
            [2, 2],
            "a value split along two dimensions is not supported",
        ),
        (
            lambda: [
                tf.raw_ops.VarHandleOp(
                    dtype=tf.float32, shape=[2], shared_name=name
                )
                for name in ("a", "b")
            ],
            [2],
            "a variable split over cores is not supported",
        ),
    ],
    ids=["two dimensions", "variable"],
)
def test_what_cannot_be_put_together_is_refused(pairs, make_parts, dims, rule):
    @tf.function
    def run():
        parts = gen_tpu_partition_ops.tpu_partitioned_input_v2(
            make_parts(), partition_dims=dims
        )

        def step(x):
            if x.dtype == tf.resource:
                return tf.raw_ops.ReadVariableOp(resource=x, dtype=tf.float32)
            return x + 1

        return pairs.run(step, args=(parts,))

    with pytest.raises(
        tf.errors.UnimplementedError,
        match=f"TPU program 'cluster.*': node '.*PartitionedInput.*': {rule}",
    ):
        run()


class Embeddings:
    """A table that a dense and a sparse feature look up."""

    def __init__(self, strategy):
        self.strategy = strategy
        self.table = (
            np.random.default_rng(0).standard_normal([11, 4]).astype(np.float32)
        )
        with strategy.scope():
            table = embedding.TableConfig(
                *self.table.shape,
                initializer=tf.constant_initializer(self.table),
                combiner="sum",
                name="table",
            )
            self.layer = embedding.TPUEmbedding(
                (
                    embedding.FeatureConfig(table=table, name="dense"),
                    embedding.FeatureConfig(table=table, name="sparse"),
                ),
                embedding.SGD(RATE),
            )

    def ids(self, size, seed):
        """Returns the ids of a replica; a row of zeros and ones picks them."""
        rng = np.random.default_rng(seed)
        dense = rng.integers(0, len(self.table), [size, 1])
        picked = rng.integers(0, 2, [size, len(self.table)])
        rows, columns = np.nonzero(picked)
        position = np.cumsum(picked, 1)[rows, columns] - 1
        sparse = tf.SparseTensor(
            np.stack([rows, position], 1), columns, [size, len(self.table)]
        )
        one_hot = np.eye(len(self.table))[dense[:, 0]]
        return (tf.constant(dense), sparse), (one_hot, picked)

    def retrieve(self):
        config = self.layer._config_proto.SerializeToString()
        return tpuless.retrieve_tables(config)["table"]["parameters"].numpy()


@pytest.mark.parametrize("cores_per_replica", [1, 2, 4])
@pytest.mark.parametrize("partitioned", [False, True])
def test_embeddings_of_several_cores(resolver, cores_per_replica, partitioned):
    tpuless.reset()
    strategy = _make_strategy(
        resolver,
        cores_per_replica,
        experimental_spmd_xla_partitioning=partitioned,
    )
    model = Embeddings(strategy)
    size = BATCH * cores_per_replica

    @tf.function
    def step(features, directions):
        def program(directions):
            activations = model.layer.dequeue()
            model.layer.apply_gradients(
                tuple(a * d for a, d in zip(activations, directions))
            )
            return activations

        model.layer.enqueue(features, training=True)
        return strategy.run(program, args=(directions,))

    expected = model.table.astype(np.float64)
    for k in range(3):
        ids = [model.ids(size, [k, r]) for r in replicas.ids(strategy)]
        directions = np.random.default_rng([k]).standard_normal([2, size, 4])
        results = step(
            replicas.per_replica(strategy, lambda r, ids=ids: ids[r][0]),
            tuple(directions.astype(np.float32)),
        )

        gradient = np.zeros_like(expected)
        for feature, result in enumerate(results):
            values = replicas.values(strategy, result)
            for value, (_, picked) in zip(values, ids, strict=True):
                looked_up = picked[feature] @ expected
                np.testing.assert_allclose(value, looked_up, atol=2e-5)
                gradient += picked[feature].T @ (
                    looked_up * directions[feature]
                )
        expected -= RATE * gradient

    np.testing.assert_allclose(model.retrieve(), expected, atol=2e-5)
    assert tpuless.statistics().sends == 3 * len(
        tf.config.list_logical_devices("TPU")
    )
    tpuless.reset()


def test_embeddings_and_split_values_in_a_loop(pairs):
    model = Embeddings(pairs)
    features, _ = model.ids(2 * BATCH, [0])

    @tf.function
    def run(features, values):
        total = tf.zeros([2 * BATCH, 4])
        for _ in tf.range(3):

            def program(values):
                dense, sparse = model.layer.dequeue()
                halves = pairs.experimental_split_to_logical_devices(
                    values, [2, 1]
                )
                return dense + sparse + halves

            model.layer.enqueue(features, training=False)
            total += pairs.experimental_local_results(
                pairs.run(program, args=(values,))
            )[0]
        return total

    total = run(features, tf.ones([2 * BATCH, 4]))

    _, (one_hot, picked) = model.ids(2 * BATCH, [0])
    np.testing.assert_allclose(
        total, 3 * (1 + (one_hot + picked) @ model.table), atol=2e-5
    )


def test_enqueue_inside_of_the_program_is_refused(pairs):
    model = Embeddings(pairs)
    features, _ = model.ids(2 * BATCH, [0])
    model.layer.build([tf.TensorShape([BATCH, 1]), tf.TensorShape([BATCH, 11])])

    @tf.function
    def run(features):
        def program(features):
            model.layer.enqueue(features, training=False)
            return model.layer.dequeue()

        return pairs.run(program, args=(features,))

    with pytest.raises(
        tf.errors.UnimplementedError,
        match="TPU program 'cluster.*': node 'Enqueue.*' .* must be outside of "
        r"a program whose replicas have several cores \(2\)",
    ):
        run(features)


def test_embeddings_in_a_function_of_the_program_are_refused(pairs):
    model = Embeddings(pairs)
    features, _ = model.ids(2 * BATCH, [0])

    @tf.function
    def run(features, condition):
        def program(condition):
            return tf.cond(
                condition,
                lambda: model.layer.dequeue()[0],
                lambda: tf.zeros([2 * BATCH, 4]),
            )

        model.layer.enqueue(features, training=False)
        return pairs.run(program, args=(condition,))

    with pytest.raises(
        tf.errors.UnimplementedError,
        match=r"spmd_sharding over several cores a replica \(2\) must be in "
        "the program of a TPUStrategy, and in no function of it",
    ):
        run(features, tf.constant(True))
