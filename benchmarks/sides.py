# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The same training step twice: TPU-embedding ops, and TensorFlow's own.

Each side keeps tables of its own, and its step is one `tf.function` of the
same ids, which returns the activations too: else TensorFlow would leave out
the half of the forward pass that no gradient needs. The loss is
`sum(activations * direction)`, so that both sides see the same gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import peers
import tensorflow as tf
import tpuless
from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2

LEARNING_RATE = peers.LR
INITIAL_ACCUMULATOR = peers.ADAGRAD_INIT


class Shape(NamedTuple):
    """A workload, as `peers.WORKLOADS` has it."""

    num_tables: int
    vocabulary_size: int
    dimension: int
    num_samples: int
    ids_per_sample: int


def make_ids(shape: Shape, batch: list[np.ndarray]) -> list[tf.SparseTensor]:
    """Returns the ids of one batch as both sides take them, one a table."""
    positions = np.indices((shape.num_samples, shape.ids_per_sample))
    indices = tf.constant(positions.reshape(2, -1).T, tf.int64)
    dense_shape = [shape.num_samples, shape.ids_per_sample]
    return [tf.SparseTensor(indices, ids, dense_shape) for ids in batch]


def adagrad_config(shape: Shape) -> bytes:
    """Returns the configuration of tables with one feature each."""
    config = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration(
        mode=tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration.TRAINING,
        num_hosts=1,
        num_tensor_cores=1,
    )
    for t in range(shape.num_tables):
        table = config.table_descriptor.add(
            name=f"table{t}",
            vocabulary_size=shape.vocabulary_size,
            dimension=shape.dimension,
        )
        parameters = table.optimization_parameters
        parameters.learning_rate.constant = LEARNING_RATE
        parameters.adagrad.SetInParent()
        config.feature_descriptor.add(
            name=f"feature{t}", table_id=t, input_shape=[shape.num_samples]
        )
    return config.SerializeToString()


class Side:
    """One way to keep the tables and to train them."""

    def __init__(self, shape: Shape) -> None:
        """Makes the step; the tables come from the subclass."""
        self.shape = shape
        self.directions = [tf.constant(d) for d in peers.make_grads(shape)]
        ids = tf.SparseTensorSpec([shape.num_samples, None], tf.int64)
        signature = [[ids] * shape.num_tables]
        self.step = tf.function(self._step, input_signature=signature)

    def _step(self, ids: list[tf.SparseTensor]) -> list[tf.Tensor]:
        """Trains one step and returns the loss, then the activations."""
        raise NotImplementedError

    def table(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the weights and the accumulators of a table."""
        raise NotImplementedError

    def _loss(self, activations: Sequence[tf.Tensor]) -> tf.Tensor:
        return tf.add_n(
            [
                tf.reduce_sum(a * d)
                for a, d in zip(activations, self.directions, strict=True)
            ]
        )


class TpulessSide(Side):
    """Enqueue, receive and send; the tables live in the engine."""

    def __init__(self, shape: Shape) -> None:
        """Drops what is configured, then configures and loads."""
        super().__init__(shape)
        tpuless.reset()
        self.config = adagrad_config(shape)
        tf.raw_ops.ConfigureTPUEmbedding(config=self.config)
        for t, weights in enumerate(peers.make_tables(shape)):
            tf.raw_ops.LoadTPUEmbeddingAdagradParameters(
                parameters=weights,
                accumulators=tf.fill(weights.shape, INITIAL_ACCUMULATOR),
                num_shards=1,
                shard_id=0,
                table_id=t,
            )
        signature = self.step.input_signature
        self.enqueue = tf.function(self._enqueue, input_signature=signature)
        self.receive = tf.function(self._receive, input_signature=[])
        self.send = tf.function(self._send, input_signature=[])

    def _step(self, ids: list[tf.SparseTensor]) -> list[tf.Tensor]:
        self._enqueue(ids)
        activations = self._receive()
        with tf.GradientTape() as tape:
            tape.watch(activations)
            loss = self._loss(activations)
        self._send(tape.gradient(loss, activations))
        return [loss, *activations]

    def _enqueue(self, ids: list[tf.SparseTensor]) -> None:
        tf.raw_ops.EnqueueTPUEmbeddingArbitraryTensorBatch(
            sample_indices_or_row_splits=[i.indices for i in ids],
            embedding_indices=[i.values for i in ids],
            aggregation_weights=[tf.zeros([0])] * len(ids),
            mode_override="train",
        )

    def _receive(self) -> list[tf.Tensor]:
        return tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=self.shape.num_tables, config=self.config
        )

    def _send(self, gradients: Sequence[tf.Tensor] | None = None) -> None:
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=self.directions if gradients is None else gradients,
            learning_rates=[],
            config=self.config,
        )

    def table(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the weights and the accumulators of a table."""
        variables = tf.raw_ops.RetrieveTPUEmbeddingAdagradParameters(
            num_shards=1, shard_id=0, table_id=t
        )
        return variables.parameters.numpy(), variables.accumulators.numpy()


class TensorFlowSide(Side):
    """`embedding_lookup_sparse`, its gradient, and the Adagrad kernel."""

    def __init__(self, shape: Shape) -> None:
        """Makes the variables."""
        super().__init__(shape)
        self.weights, self.accumulators = [], []
        for weights in peers.make_tables(shape):
            initial = tf.fill(weights.shape, INITIAL_ACCUMULATOR)
            self.weights.append(tf.Variable(weights))
            self.accumulators.append(tf.Variable(initial))

    def _step(self, ids: list[tf.SparseTensor]) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            activations = [
                tf.nn.embedding_lookup_sparse(w, i, None, combiner="sum")
                for w, i in zip(self.weights, ids, strict=True)
            ]
            loss = self._loss(activations)
        gradients = tape.gradient(loss, self.weights)
        for weights, accumulators, gradient in zip(
            self.weights, self.accumulators, gradients, strict=True
        ):
            # The lookup takes each distinct id once, so that its gradient
            # has one row an id: there is nothing left to sum.
            tf.raw_ops.ResourceSparseApplyAdagradV2(
                var=weights.handle,
                accum=accumulators.handle,
                lr=LEARNING_RATE,
                epsilon=0.0,
                grad=gradient.values,
                indices=gradient.indices,
            )
        return [loss, *activations]

    def table(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the weights and the accumulators of a table."""
        return self.weights[t].numpy(), self.accumulators[t].numpy()
