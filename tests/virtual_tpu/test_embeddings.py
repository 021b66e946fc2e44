# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's TPUEmbedding on virtual cores, against the oracle."""

import numpy as np
import pytest
import replicas
import tensorflow as tf
import tpuless
from models import BATCH, STEPS, USERS, Model, train
from reference import Reference

pytestmark = pytest.mark.timeout(300)

embedding = tf.tpu.experimental.embedding

ENQUEUE_OP = "EnqueueTPUEmbeddingArbitraryTensorBatch"


def _expect(model, rates=(), steps=STEPS):
    """Returns the oracle's activations and tables."""
    config = model.layer._config_proto
    oracle = Reference(config.SerializeToString())
    tables = [table.name for table in config.table_descriptor]
    for i, name in enumerate(tables):
        weights = model.initial[name]
        optimizer = config.table_descriptor[i].optimization_parameters
        kind = optimizer.WhichOneof("parameters")
        slots = {
            "adagrad": [0.1],
            "adagrad_momentum": [0.0, 0.0],
            "adam": [0.0, 0.0],
            "ftrl": [0.1, 0.0],
        }.get(kind, [])
        oracle.load(i, [weights, *(np.full_like(weights, s) for s in slots)])
    results = []
    for k in range(steps):
        for core in model.cores:
            oracle.enqueue(
                ENQUEUE_OP,
                model.batch([k, core])[1],
                {"combiners": ["mean", "mean", "sum", "sum"]},
                "train",
                core,
            )
        results.append([oracle.receive(core) for core in model.cores])
        for core in model.cores:
            oracle.send(
                model.directions(k, core),
                [np.float32(rate(k)) for rate in rates],
                core,
            )
    return results, {
        name: dict(
            zip(
                ["parameters", *oracle.updates[i].slots],
                oracle.retrieve(i),
                strict=True,
            )
        )
        for i, name in enumerate(tables)
    }


def _assert_close(actual, expected):
    # A few sums of tens of float32 numbers of size 1, per step.
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-5)


def _assert_as_expected(model, results, rates=(), steps=STEPS):
    expected, tables = _expect(model, rates, steps)
    for actual_step, expected_step in zip(results, expected, strict=True):
        for actual, oracle in zip(actual_step, expected_step, strict=True):
            for one, other in zip(actual, oracle, strict=True):
                _assert_close(one, other)
    for name, slots in model.retrieve().items():
        assert slots.keys() == tables[name].keys()
        for slot, actual in slots.items():
            _assert_close(actual, tables[name][slot])


OPTIMIZERS = {
    "sgd": lambda: embedding.SGD(0.1),
    "adagrad": lambda: embedding.Adagrad(0.1),
    "adagrad momentum": lambda: embedding.AdagradMomentum(
        0.1, momentum=0.9, use_nesterov=True, epsilon=1e-3
    ),
    "adam": lambda: embedding.Adam(0.1, beta_2=0.99, epsilon=1e-3),
    "adam, all rows": lambda: embedding.Adam(
        0.1, beta_2=0.99, epsilon=1e-3, lazy_adam=False
    ),
    "ftrl": lambda: embedding.FTRL(
        0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.1
    ),
    "clipped and decayed": lambda: embedding.Adagrad(
        0.1,
        clip_weight_min=-1.5,
        clip_weight_max=1.5,
        clipvalue=0.9,
        weight_decay_factor=0.1,
        multiply_weight_decay_factor_by_learning_rate=True,
    ),
    "not accumulated": lambda: embedding.SGD(
        0.1, use_gradient_accumulation=False
    ),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_training_is_that_of_the_oracle(strategy, optimizer):
    model = Model(strategy, optimizer())

    results = train(model)

    _assert_as_expected(model, results)
    counts = tpuless.statistics()
    assert counts.enqueues == counts.receives == counts.sends
    assert counts.sends == STEPS * strategy.num_replicas_in_sync


def test_pipelined_training_is_that_of_the_oracle(strategy):
    model = Model(strategy, embedding.SGD(0.1), pipelined=True)

    _assert_as_expected(model, train(model))


def test_enqueue_inside_of_the_program(strategy):
    model = Model(strategy, embedding.Adagrad(0.1))

    results = train(model, enqueue_in_program=True)

    _assert_as_expected(model, results)


def test_learning_rate_that_is_a_function(strategy):
    with strategy.scope():
        step = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
    model = Model(strategy, embedding.SGD(lambda: 0.1 / (1.0 + step)))

    results = []
    layer = model.layer

    @tf.function
    def train(features, directions):
        def program(directions):
            activations = layer.dequeue()
            layer.apply_gradients(directions)
            step.assign_add(1.0)
            return activations

        layer.enqueue(features, training=True)
        return strategy.run(program, args=(directions,))

    for k in range(STEPS):
        activations = train(
            model.per_core(lambda core, k=k: model.batch([k, core])[0]),
            model.per_core(lambda core, k=k: model.directions(k, core)),
        )
        results.append(
            [
                [replicas.values(strategy, a)[core] for a in activations]
                for core in model.cores
            ]
        )

    _assert_as_expected(model, results, [lambda k: 0.1 / (1.0 + k)])


def test_a_program_that_sends_nothing_is_inference(strategy):
    model = Model(strategy, embedding.SGD(0.1))
    layer = model.layer

    @tf.function
    def evaluate(features):
        # Says training, and sends no gradients.
        layer.enqueue(features, training=True)
        return strategy.run(layer.dequeue)

    for k in range(3):
        evaluate(model.per_core(lambda core, k=k: model.batch([k, core])[0]))

    _assert_as_expected(model, train(model))


def test_training_and_evaluation_take_turns(strategy):
    model = Model(strategy, embedding.SGD(0.1))
    layer = model.layer

    @tf.function
    def evaluate(features):
        layer.enqueue(features, training=False)
        return strategy.run(layer.dequeue)

    def activations(k):
        features = model.per_core(lambda core: model.batch([k, core])[0])
        return np.array(
            strategy.experimental_local_results(evaluate(features)[0])[0]
        )

    before = activations(0)
    train(model)

    assert (activations(0) != before).any()
    _assert_close(activations(1), activations(1))


def test_bad_ids_on_one_core_are_refused_and_the_next_step_works(strategy):
    model = Model(strategy, embedding.SGD(0.1))
    layer = model.layer
    last = model.cores[-1]

    def with_bad_id(core):
        dense, *rest = model.batch([9, core])[0]
        if core == last:
            dense = tf.fill([BATCH], tf.constant(USERS, tf.int64))
        return (dense, *rest)

    @tf.function
    def step(features):
        def program():
            activations = layer.dequeue()
            layer.apply_gradients(tuple(tf.ones_like(a) for a in activations))

        layer.enqueue(features, training=True)
        strategy.run(program)

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=rf"feature 'dense': id {USERS} of sample 0 .* must be >= 0 and "
        rf"< vocabulary_size \({USERS}\)",
    ):
        step(model.per_core(with_bad_id))

    _assert_as_expected(model, train(model))


def test_an_exception_in_the_model_gives_the_step_up(strategy):
    model = Model(strategy, embedding.SGD(0.1))
    layer = model.layer

    @tf.function
    def step(features, limit):
        def program(limit):
            activations = layer.dequeue()
            with tf.control_dependencies(
                [tf.debugging.assert_less(limit, 1.0, "over the limit")]
            ):
                gradients = tuple(tf.zeros_like(a) for a in activations)
            layer.apply_gradients(gradients)

        layer.enqueue(features, training=True)
        strategy.run(program, args=(limit,))

    features = model.per_core(lambda core: model.batch([9, core])[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="over the limit"):
        step(features, tf.constant(2.0))

    _assert_as_expected(model, train(model))


def test_the_layer_over_plain_variables(strategy):
    with strategy.scope():
        table = embedding.TableConfig(
            vocabulary_size=10,
            dim=4,
            initializer=tf.constant_initializer(2.0),
            combiner="sum",
            name="table",
        )
        layer = embedding.TPUEmbeddingV0(
            (embedding.FeatureConfig(table=table),), embedding.SGD(0.1)
        )

    @tf.function
    def run(ids):
        return strategy.run(lambda x: layer((x,))[0], args=(ids,))

    for value in strategy.experimental_local_results(run(tf.constant([3, 1]))):
        np.testing.assert_array_equal(np.array(value), np.full([2, 4], 2.0))
    assert tpuless.statistics().receives == 0
