# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""A training step by the TPU-embedding ops, as the peers have it.

The tables live in the engine. The step is one `tf.function` of the batch:
Enqueue, where ids are grouped by row, Receive and Send.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import peers
import workloads
from workloads import ADAGRAD_INIT, ADAM_EPSILON, BETA1, BETA2, L1, L2, LR

# Steps in a call of the operation "loop", in which no Python runs.
LOOP = 100
# How ids are handed over: by feature, in the op that all others can be put as,
# or by table.
FORMS = {
    "ragged": "ArbitraryTensorBatch",
    "sparse": "ArbitraryTensorBatch",
    "dense": "ArbitraryTensorBatch",
    "ragged by table": "RaggedTensorBatch",
    "sparse by table": "SparseTensorBatch",
    "sample indices": "SparseBatch",
    "integers": "IntegerBatch",
}
# The argument that says which sample an id belongs to, of ops that have one.
POSITIONS = {
    "ArbitraryTensorBatch": "sample_indices_or_row_splits",
    "RaggedTensorBatch": "sample_splits",
    "SparseTensorBatch": "sample_indices",
    "SparseBatch": "sample_indices",
}


def make_config(
    shape: workloads.Shape, optimizer: str, by_table: bool = False
) -> bytes:
    """Returns the configuration of tables with one feature each.

    Args:
      shape: Of the tables and the batch.
      optimizer: Its name, as in `workloads.SLOTS`.
      by_table: Whether the features are left to the tables.
    """
    from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2

    proto = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration
    config = proto(mode=proto.TRAINING, num_hosts=1, num_tensor_cores=1)
    for t in range(shape.num_tables):
        table = config.table_descriptor.add(
            name=f"table{t}",
            vocabulary_size=shape.vocabulary_size,
            dimension=shape.dimension,
        )
        parameters = table.optimization_parameters
        if optimizer == "adam":
            parameters.learning_rate.dynamic.tag = 0
            parameters.adam.beta1 = BETA1
            parameters.adam.beta2 = BETA2
            parameters.adam.epsilon = ADAM_EPSILON
        else:
            parameters.learning_rate.constant = LR
        if optimizer == "sgd":
            parameters.stochastic_gradient_descent.SetInParent()
        elif optimizer == "adagrad":
            parameters.adagrad.SetInParent()
        elif optimizer == "ftrl":
            parameters.ftrl.l1 = L1
            parameters.ftrl.l2 = L2
            parameters.ftrl.lr_power = -0.5
        if by_table:
            table.num_features = 1
        else:
            config.feature_descriptor.add(
                name=f"feature{t}", table_id=t, input_shape=[shape.num_samples]
            )
    if by_table:
        config.batch_size_per_tensor_core = shape.num_samples
    return config.SerializeToString()


class TpulessSide(peers.Side):
    """Enqueue, receive and send."""

    def __init__(
        self,
        shape: workloads.Shape,
        optimizer: str,
        threads: int,
        form: str = "ragged",
        calls_at_once: int = 1,
    ) -> None:
        """Drops what is configured, then configures and loads.

        Args:
          shape: Of the tables and the batch.
          optimizer: Its name, as in `workloads.SLOTS`.
          threads: Those of an op.
          form: One of `FORMS`.
          calls_at_once: From so many threads are functions called.
        """
        super().__init__(shape, optimizer, threads)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        import tensorflow as tf
        import tpuless

        self.tf, self.form = tf, form
        self.ids_dtype = tf.int32 if form == "integers" else tf.int64
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(
            max(threads, calls_at_once)
        )
        self.versions = {
            "tpuless": tpuless.__version__,
            "tensorflow": tf.__version__,
        }
        self.gradients = [tf.constant(g) for g in workloads.make_grads(shape)]
        self.iteration = tf.Variable(0, dtype=tf.int64)
        tpuless.reset()
        self.config = make_config(
            shape, optimizer, FORMS[form] != "ArbitraryTensorBatch"
        )
        tf.raw_ops.ConfigureTPUEmbedding(config=self.config)
        self._load()
        self._make_functions()

    def _load(self) -> None:
        tf = self.tf
        name, slots = {
            "sgd": ("StochasticGradientDescent", {}),
            "adagrad": ("Adagrad", {"accumulators": ADAGRAD_INIT}),
            "adam": ("ADAM", {"momenta": 0.0, "velocities": 0.0}),
            "ftrl": ("FTRL", {"accumulators": ADAGRAD_INIT, "linears": 0.0}),
        }[self.optimizer]
        load = getattr(tf.raw_ops, f"LoadTPUEmbedding{name}Parameters")
        self.retrieve = getattr(
            tf.raw_ops, f"RetrieveTPUEmbedding{name}Parameters"
        )
        for t, weights in enumerate(workloads.make_tables(self.shape)):
            load(
                parameters=weights,
                num_shards=1,
                shard_id=0,
                table_id=t,
                **{
                    slot: tf.fill(weights.shape, value)
                    for slot, value in slots.items()
                },
            )

    def _make_functions(self) -> None:
        tf, shape = self.tf, self.shape
        rank = 2 if self.form.startswith("sparse") else 1
        positions = tf.TensorSpec([None] * rank, tf.int64)
        ids = tf.TensorSpec([None], self.ids_dtype)
        batch = ([positions] * shape.num_tables, [ids] * shape.num_tables)
        self._step = peers.concrete(tf, self._train, [batch])
        enqueue = peers.concrete(
            tf, lambda batch: self._enqueue(batch, "train"), [batch]
        )
        look = peers.concrete(
            tf, lambda batch: self._enqueue(batch, "inference"), [batch]
        )
        receive = peers.concrete(tf, self._receive, [])
        send = peers.concrete(tf, self._send, [])

        def time_enqueue(batch: Any) -> Callable[[], Any]:
            self.waiting = True
            return lambda: enqueue(batch)

        def time_send(batch: Any) -> Callable[[], Any]:
            enqueue(batch)
            receive()
            return send

        def time_receive(batch: Any) -> Callable[[], Any]:
            look(batch)
            return receive

        @tf.function(input_signature=[batch])
        def loop(batch: Any) -> None:
            for _ in tf.range(LOOP):
                self._train(batch)

        self.waiting = False
        self.look, self.receive, self.send = look, receive, send
        self.operations.update(
            enqueue=time_enqueue,
            forward=time_receive,
            send=time_send,
            loop=lambda batch: lambda: loop(batch),
        )

    def _train(self, batch: Any) -> list[Any]:
        self._enqueue(batch, "train")
        activations = self._receive()
        self._send()
        return activations

    def _enqueue(self, batch: Any, mode: str) -> None:
        positions, ids = batch
        name = FORMS[self.form]
        enqueue = getattr(self.tf.raw_ops, f"EnqueueTPUEmbedding{name}")
        if name == "IntegerBatch":
            enqueue(batch=ids, mode_override=mode)
            return
        arguments = {POSITIONS[name]: positions}
        if name in ("RaggedTensorBatch", "SparseTensorBatch"):
            arguments["table_ids"] = list(range(len(ids)))
        enqueue(
            embedding_indices=ids,
            aggregation_weights=[self.tf.zeros([0])] * len(ids),
            mode_override=mode,
            **arguments,
        )

    def _receive(self) -> Sequence[Any]:
        return self.tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=self.shape.num_tables, config=self.config
        )

    def _send(self) -> None:
        tf = self.tf
        rates = []
        if self.optimizer == "adam":
            t = tf.cast(self.iteration.assign_add(1), tf.float32)
            rates = [
                LR * tf.sqrt(1 - tf.pow(BETA2, t)) / (1 - tf.pow(BETA1, t))
            ]
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=self.gradients, learning_rates=rates, config=self.config
        )

    def prepare(self, batch: list[np.ndarray]) -> Any:
        """Returns positions and ids, each one a table."""
        tf, shape = self.tf, self.shape
        ids = [tf.constant(each, self.ids_dtype) for each in batch]
        if self.form.startswith("sparse"):
            sparse = peers.sparse_tensors(tf, shape, batch)
            return [s.indices for s in sparse], ids
        length = shape.ids_per_sample
        if self.form in ("dense", "integers"):
            positions = tf.zeros([0], tf.int64)
        elif self.form == "sample indices":
            positions = tf.repeat(
                tf.range(shape.num_samples, dtype=tf.int64), length
            )
        else:
            end = shape.num_samples * length + 1
            positions = tf.range(0, end, length, tf.int64)
        return [positions] * len(batch), ids

    def finish(self) -> None:
        """Ends the step of a batch that was only enqueued."""
        if self.waiting:
            self.receive()
            self.send()
        self.waiting = False

    def forward(self, batch: Any) -> Any:
        """Looks up, without a gradient."""
        self.look(batch)
        return self.receive()

    def step(self, batch: Any) -> list[Any]:
        """Trains one step and returns the activations, one a table."""
        return self._step(batch)

    def table(self, t: int) -> np.ndarray:
        """Returns the weights of a table as they are."""
        variables = self.retrieve(num_shards=1, shard_id=0, table_id=t)
        weights = variables if self.optimizer == "sgd" else variables.parameters
        return weights.numpy()
