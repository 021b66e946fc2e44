# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What one would use instead: the same step by other libraries.

  tf-raw      tf.nn.embedding_lookup_sparse, its gradient, and
              tf.raw_ops.ResourceSparseApply*; Adam by gather, compute and
              scatter, the 'lazy Adam' recipe, as TensorFlow has no sparse one
  tf-legacy   the same lookup, tf_keras.optimizers.legacy (TensorFlow <= 2.10)
  tf-keras3   the same lookup, keras.optimizers (TensorFlow >= 2.16)
  fbgemm      FBGEMM's SplitTableBatchedEmbeddingBagsCodegen on the CPU, the
              kernel of TorchRec; SGD and Adagrad only
  torch       torch.nn.EmbeddingBag(sparse=True), torch.optim's SGD, Adagrad or
              SparseAdam
  tfra        TensorFlow Recommenders Addons' dynamic embedding (hash tables)
              with its DynamicEmbeddingOptimizer over tf_keras legacy optimizers

Each needs the packages of its own environment, see requirements-*.in, and
nothing of tpuless. The gradients of the outputs are fixed random tensors.
Adagrad has an epsilon of 0 wherever that can be said, as the TPU's has none.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import workloads
from workloads import ADAGRAD_INIT, ADAM_EPSILON, BETA1, BETA2, L1, L2, LR

# Which environment a peer needs.
ENVIRONMENTS = {
    "tf-raw": "tf",
    "tf-legacy": "tf",
    "tf-keras3": "tf",
    "fbgemm": "torch",
    "torch": "torch",
    "tfra": "tfra",
}


class UnsupportedError(Exception):
    """The peer has no such optimizer."""


class Side:
    """Tables in training by one library.

    Attributes:
      versions: Of the packages that count, by name.
      operations: What can be timed, by name: a function of a prepared batch
        that returns the call to time.
    """

    def __init__(
        self, shape: workloads.Shape, optimizer: str, threads: int
    ) -> None:
        """Makes the tables.

        Raises:
          UnsupportedError: The library has no such optimizer.
        """
        self.shape, self.optimizer, self.threads = shape, optimizer, threads
        self.versions: dict[str, str] = {}
        self.operations: dict[str, Callable[[Any], Callable[[], Any]]] = {
            "step": lambda batch: lambda: self.step(batch),
            "forward": lambda batch: lambda: self.forward(batch),
        }

    def prepare(self, batch: list[np.ndarray]) -> Any:
        """Returns a batch of `make_batches` as the library takes it."""
        raise NotImplementedError

    def forward(self, batch: Any) -> Any:
        """Looks up, without a gradient."""
        raise NotImplementedError

    def step(self, batch: Any) -> list[Any]:
        """Trains one step and returns the activations, one a table."""
        raise NotImplementedError

    def finish(self) -> None:
        """Ends what an operation left open, after its time was taken."""

    def table(self, t: int) -> np.ndarray:
        """Returns the weights of a table as they are."""
        raise NotImplementedError


class TensorFlowSide(Side):
    """tf.nn.embedding_lookup_sparse with three ways to update."""

    def __init__(
        self, peer: str, shape: workloads.Shape, optimizer: str, threads: int
    ) -> None:
        """Makes the variables."""
        super().__init__(shape, optimizer, threads)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        if peer == "tf-keras3":
            os.environ["KERAS_BACKEND"] = "tensorflow"
        import tensorflow as tf

        self.tf, self.peer = tf, peer
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
        self.versions["tensorflow"] = tf.__version__
        self.gradients = [tf.constant(g) for g in workloads.make_grads(shape)]
        self.make_variables()
        self.make_optimizer()
        ids = tf.SparseTensorSpec([shape.num_samples, None], tf.int64)
        signature = [[ids] * shape.num_tables]
        self._forward = concrete(tf, self.lookup, signature)
        self._step = concrete(tf, self.train, signature)

    def make_variables(self) -> None:
        """Makes the tables as the peer keeps them."""
        tables = enumerate(workloads.make_tables(self.shape))
        if self.peer == "tf-keras3":
            import keras

            self.versions["keras"] = keras.__version__
            self.variables = [
                keras.Variable(t, name=f"t{i}") for i, t in tables
            ]
            self.tf_variables = [v.value for v in self.variables]
        else:
            self.variables = [
                self.tf.Variable(t, name=f"t{i}") for i, t in tables
            ]
            self.tf_variables = self.variables

    def make_optimizer(self) -> None:
        """Makes the optimizer and its slots."""
        tf = self.tf
        if self.peer == "tf-raw":
            initial = {
                "adagrad": [ADAGRAD_INIT],
                "adam": [0.0, 0.0],
                "ftrl": [ADAGRAD_INIT, 0.0],
            }.get(self.optimizer, [])
            self.slots = [
                [tf.Variable(tf.fill(v.shape, value)) for value in initial]
                for v in self.tf_variables
            ]
            self.iteration = tf.Variable(0, dtype=tf.int64)
            return
        if self.peer == "tf-keras3":
            import keras

            space = keras.optimizers
        else:
            import tf_keras

            self.versions["tf_keras"] = tf_keras.__version__
            space = tf_keras.optimizers.legacy
        self.keras_optimizer = keras_optimizer(space, self.optimizer)
        if self.peer == "tf-legacy":
            self.keras_optimizer._create_all_weights(self.variables)
        else:
            self.keras_optimizer.build(self.variables)

    def lookup(self, batch: list[Any]) -> list[Any]:
        """Returns the pooled outputs, one a table."""
        return [
            self.tf.nn.embedding_lookup_sparse(v, ids, None, combiner="sum")
            for v, ids in zip(self.tf_variables, batch, strict=True)
        ]

    def train(self, batch: list[Any]) -> list[Any]:
        """Looks up, differentiates and updates.

        Returns:
          The pooled outputs: else TensorFlow would leave out the half of the
          forward pass that no gradient needs.
        """
        with self.tf.GradientTape() as tape:
            out = self.lookup(batch)
        gradients = tape.gradient(
            out, self.tf_variables, output_gradients=self.gradients
        )
        if self.peer == "tf-raw":
            self.apply_raw(gradients)
        else:
            self.keras_optimizer.apply_gradients(
                zip(gradients, self.variables, strict=True)
            )
        return out

    def apply_raw(self, gradients: list[Any]) -> None:
        """Updates with TensorFlow's training ops."""
        tf, raw = self.tf, self.tf.raw_ops
        if self.optimizer == "adam":
            t = tf.cast(self.iteration.assign_add(1), tf.float32)
            rate = LR * tf.sqrt(1 - tf.pow(BETA2, t)) / (1 - tf.pow(BETA1, t))
        for gradient, v, slots in zip(
            gradients, self.tf_variables, self.slots, strict=True
        ):
            # The lookup takes each distinct id once, so that its gradient has
            # one row an id: there is nothing left to sum.
            g, rows = gradient.values, gradient.indices
            if self.optimizer == "sgd":
                raw.ResourceScatterSub(
                    resource=v.handle, indices=rows, updates=g * LR
                )
            elif self.optimizer == "adagrad":
                raw.ResourceSparseApplyAdagradV2(
                    var=v.handle,
                    accum=slots[0].handle,
                    lr=LR,
                    epsilon=0.0,
                    grad=g,
                    indices=rows,
                )
            elif self.optimizer == "ftrl":
                raw.ResourceSparseApplyFtrl(
                    var=v.handle,
                    accum=slots[0].handle,
                    linear=slots[1].handle,
                    grad=g,
                    indices=rows,
                    lr=LR,
                    l1=L1,
                    l2=L2,
                    lr_power=-0.5,
                )
            else:
                m = BETA1 * tf.gather(slots[0], rows) + (1 - BETA1) * g
                n = BETA2 * tf.gather(slots[1], rows)
                n += (1 - BETA2) * tf.square(g)
                raw.ResourceScatterUpdate(
                    resource=slots[0].handle, indices=rows, updates=m
                )
                raw.ResourceScatterUpdate(
                    resource=slots[1].handle, indices=rows, updates=n
                )
                raw.ResourceScatterSub(
                    resource=v.handle,
                    indices=rows,
                    updates=rate * m / (tf.sqrt(n) + ADAM_EPSILON),
                )

    def prepare(self, batch: list[np.ndarray]) -> list[Any]:
        """Returns SparseTensors."""
        return sparse_tensors(self.tf, self.shape, batch)

    def forward(self, batch: list[Any]) -> list[Any]:
        """Looks up, without a gradient."""
        return self._forward(batch)

    def step(self, batch: list[Any]) -> list[Any]:
        """Trains one step and returns the activations, one a table."""
        return self._step(batch)

    def table(self, t: int) -> np.ndarray:
        """Returns the weights of a table as they are."""
        return self.tf_variables[t].numpy()


def concrete(tf: Any, function: Any, signature: list[Any]) -> Any:
    """Returns a function that spends no time on choosing a trace."""
    traced = tf.function(function, input_signature=signature)
    return traced.get_concrete_function()


def sparse_tensors(
    tf: Any, shape: workloads.Shape, batch: list[np.ndarray]
) -> list[Any]:
    """Returns the ids of a batch as `tf.SparseTensor`s."""
    positions = np.indices((shape.num_samples, shape.ids_per_sample))
    indices = tf.constant(positions.reshape(2, -1).T, tf.int64)
    dense_shape = [shape.num_samples, shape.ids_per_sample]
    return [tf.SparseTensor(indices, ids, dense_shape) for ids in batch]


def keras_optimizer(space: Any, optimizer: str) -> Any:
    """Returns a Keras optimizer of a module of them."""
    if optimizer == "sgd":
        return space.SGD(LR)
    if optimizer == "adagrad":
        return space.Adagrad(
            LR, initial_accumulator_value=ADAGRAD_INIT, epsilon=0.0
        )
    if optimizer == "adam":
        return space.Adam(LR, BETA1, BETA2, ADAM_EPSILON)
    return space.Ftrl(
        LR,
        learning_rate_power=-0.5,
        initial_accumulator_value=ADAGRAD_INIT,
        l1_regularization_strength=L1,
        l2_regularization_strength=L2,
    )


class TfraSide(TensorFlowSide):
    """TFRA dynamic embedding: weights and slots live in cuckoo hash tables."""

    def __init__(
        self, shape: workloads.Shape, optimizer: str, threads: int
    ) -> None:
        """Imports the framework and makes the tables."""
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        super().__init__("tfra", shape, optimizer, threads)

    def make_variables(self) -> None:
        """Makes the tables as the peer keeps them."""
        import tensorflow_recommenders_addons as tfra
        from tensorflow_recommenders_addons import dynamic_embedding as de

        self.versions["tensorflow-recommenders-addons"] = tfra.__version__
        tf, rows = self.tf, self.shape.vocabulary_size
        self.de, self.dynamic, self.shadows = de, [], []
        for i, t in enumerate(workloads.make_tables(self.shape)):
            v = de.get_variable(
                f"t{i}",
                key_dtype=tf.int64,
                value_dtype=tf.float32,
                dim=self.shape.dimension,
                devices=["/CPU:0"],
                initializer=0.0,
                init_size=2 * rows,
            )
            for begin in range(0, rows, 100_000):  # All rows from the start.
                end = min(rows, begin + 100_000)
                v.upsert(
                    tf.range(begin, end, dtype=tf.int64),
                    tf.constant(t[begin:end]),
                )
            self.dynamic.append(v)
            self.shadows.append(
                de.shadow_ops.ShadowVariable(v, name=f"shadow{i}")
            )
        self.variables = self.tf_variables = self.shadows
        de.enable_train_mode()

    def make_optimizer(self) -> None:
        """Makes the optimizer and its slots."""
        import tf_keras

        self.versions["tf_keras"] = tf_keras.__version__
        self.keras_optimizer = self.de.DynamicEmbeddingOptimizer(
            keras_optimizer(tf_keras.optimizers.legacy, self.optimizer)
        )
        self.keras_optimizer._create_slots(self.shadows)

    def lookup(self, batch: list[Any]) -> list[Any]:
        """Returns the pooled outputs, one a table."""
        tf, out = self.tf, []
        for shadow, ids in zip(self.shadows, batch, strict=True):
            unique, where = tf.unique(ids.values)
            rows = self.de.shadow_ops.embedding_lookup(shadow, unique)
            out.append(tf.sparse.segment_sum(rows, where, ids.indices[:, 0]))
        return out

    def table(self, t: int) -> np.ndarray:
        """Returns the weights of a table as they are."""
        keys = self.tf.range(self.shape.vocabulary_size, dtype=self.tf.int64)
        return self.dynamic[t].lookup(keys).numpy()


class TorchSide(Side):
    """torch.nn.EmbeddingBag with sparse gradients."""

    def __init__(
        self, shape: workloads.Shape, optimizer: str, threads: int
    ) -> None:
        """Imports the framework and makes the tables."""
        super().__init__(shape, optimizer, threads)
        import torch

        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        self.torch = torch
        self.versions["torch"] = torch.__version__
        self.gradients = [
            torch.from_numpy(g) for g in workloads.make_grads(shape)
        ]
        self.build()

    def build(self) -> None:
        """Makes the tables and the optimizer."""
        torch, optimizer = self.torch, self.optimizer
        self.bags = [
            torch.nn.EmbeddingBag.from_pretrained(
                torch.from_numpy(t), freeze=False, mode="sum", sparse=True
            )
            for t in workloads.make_tables(self.shape)
        ]
        weights = [bag.weight for bag in self.bags]
        if optimizer == "sgd":
            self.torch_optimizer = torch.optim.SGD(weights, lr=LR)
        elif optimizer == "adagrad":
            self.torch_optimizer = torch.optim.Adagrad(
                weights, lr=LR, initial_accumulator_value=ADAGRAD_INIT, eps=0.0
            )
        elif optimizer == "adam":
            self.torch_optimizer = torch.optim.SparseAdam(
                weights, lr=LR, betas=(BETA1, BETA2), eps=ADAM_EPSILON
            )
        else:
            raise UnsupportedError(f"no {optimizer} in torch.optim")

    def prepare(self, batch: list[np.ndarray]) -> Any:
        """Returns ids and offsets, a pair a table."""
        torch, length = self.torch, self.shape.ids_per_sample
        offsets = torch.arange(0, self.shape.num_samples * length, length)
        return [(torch.from_numpy(ids.copy()), offsets) for ids in batch]

    def lookup(self, batch: Any) -> Any:
        """Returns the pooled outputs."""
        return [
            bag(ids, offsets)
            for bag, (ids, offsets) in zip(self.bags, batch, strict=True)
        ]

    def forward(self, batch: Any) -> Any:
        """Looks up, without a gradient."""
        with self.torch.no_grad():
            return self.lookup(batch)

    def step(self, batch: Any) -> list[Any]:
        """Trains one step and returns the activations, one a table."""
        self.torch_optimizer.zero_grad()
        out = self.lookup(batch)
        self.torch.autograd.backward(out, self.gradients)
        self.torch_optimizer.step()
        return [each.detach() for each in out]

    def table(self, t: int) -> np.ndarray:
        """Returns the weights of a table as they are."""
        return self.bags[t].weight.detach().numpy()


class FbgemmSide(TorchSide):
    """FBGEMM's table-batched embedding bags."""

    def build(self) -> None:
        """Makes the tables and the optimizer."""
        import fbgemm_gpu
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import (
            EmbeddingLocation,
            PoolingMode,
        )
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice,
            SplitTableBatchedEmbeddingBagsCodegen,
        )

        self.versions["fbgemm-gpu-cpu"] = fbgemm_gpu.__version__
        kinds = {
            "sgd": EmbOptimType.EXACT_SGD,
            "adagrad": EmbOptimType.EXACT_ADAGRAD,
        }
        if self.optimizer not in kinds:
            raise UnsupportedError(
                f"FBGEMM's CPU backend has no {self.optimizer}"
            )
        table = (
            self.shape.vocabulary_size,
            self.shape.dimension,
            EmbeddingLocation.HOST,
            ComputeDevice.CPU,
        )
        self.bags = SplitTableBatchedEmbeddingBagsCodegen(
            [table] * self.shape.num_tables,
            optimizer=kinds[self.optimizer],
            learning_rate=LR,
            eps=0.0,
            pooling_mode=PoolingMode.SUM,
            stochastic_rounding=False,
        )
        for weights, initial in zip(
            self.bags.split_embedding_weights(),
            workloads.make_tables(self.shape),
            strict=True,
        ):
            weights.data.copy_(self.torch.from_numpy(initial))
        for states in self.bags.split_optimizer_states():
            for state in states:
                state.fill_(ADAGRAD_INIT)
        self.gradient = self.torch.cat(self.gradients, 1)

    def prepare(self, batch: list[np.ndarray]) -> Any:
        """Returns ids and offsets of all tables in one."""
        torch, length = self.torch, self.shape.ids_per_sample
        offsets = torch.arange(0, self.shape.num_ids + 1, length)
        return torch.from_numpy(np.concatenate(batch)), offsets

    def lookup(self, batch: Any) -> Any:
        """Returns the pooled outputs, the tables side by side."""
        return self.bags(*batch)

    def step(self, batch: Any) -> list[Any]:
        """Trains one step and returns the activations, one a table."""
        out = self.lookup(batch)
        out.backward(self.gradient)
        return out.detach().split(self.shape.dimension, 1)

    def table(self, t: int) -> np.ndarray:
        """Returns the weights of a table as they are."""
        return self.bags.split_embedding_weights()[t].detach().numpy()


def make_peer(
    peer: str, shape: workloads.Shape, optimizer: str, threads: int
) -> Side:
    """Returns a peer by name."""
    classes = {"torch": TorchSide, "fbgemm": FbgemmSide, "tfra": TfraSide}
    if peer in classes:
        return classes[peer](shape, optimizer, threads)
    return TensorFlowSide(peer, shape, optimizer, threads)
