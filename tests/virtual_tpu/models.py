# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""A model with TPUEmbedding, and how it is trained."""

from __future__ import annotations

import numpy as np
import replicas
import tensorflow as tf

embedding = tf.tpu.experimental.embedding

BATCH = 4  # Samples a core.
USERS, ITEMS, DIM = 13, 50, 8
STEPS = 3


class Model:
    """Two tables, and features of every kind."""

    def __init__(self, strategy, optimizer, *, pipelined=False, rate=None):
        self.strategy = strategy
        rng = np.random.default_rng(3)
        self.initial = {
            "users": rng.standard_normal([USERS, DIM]).astype(np.float32),
            "items": rng.standard_normal([ITEMS, DIM]).astype(np.float32),
        }
        with strategy.scope():
            users, items = (
                embedding.TableConfig(
                    vocabulary_size=len(table),
                    dim=DIM,
                    initializer=lambda shape, dtype=None, table=table: (
                        tf.constant(table)
                    ),
                    combiner=combiner,
                    name=name,
                )
                for (name, table), combiner in zip(
                    self.initial.items(), ["mean", "sum"], strict=True
                )
            )
            self.features = (
                embedding.FeatureConfig(table=users, name="dense"),
                embedding.FeatureConfig(table=users, name="sparse"),
                embedding.FeatureConfig(table=items, name="ragged"),
                embedding.FeatureConfig(
                    table=items, max_sequence_length=3, name="sequence"
                ),
            )
            self.layer = embedding.TPUEmbedding(
                self.features,
                optimizer,
                pipeline_execution_with_tensor_core=pipelined,
            )
            self.layer.build(BATCH)

    @property
    def cores(self):
        return range(self.strategy.num_replicas_in_sync)

    def batch(self, seed):
        """Returns ids in the form of each feature; also as NumPy."""
        rng = np.random.default_rng(seed)
        rows = [
            [rng.integers(0, size, rng.integers(low, 5)) for _ in range(BATCH)]
            for size, low in ((USERS, 0), (ITEMS, 0), (ITEMS, 1))
        ]
        dense = rng.integers(0, USERS, BATCH)
        sparse, ragged, sequence = (
            tf.ragged.constant([list(row) for row in each], tf.int64)
            for each in rows
        )
        tensors = (tf.constant(dense), sparse.to_sparse(), ragged, sequence)
        splits = [
            np.cumsum([0, *map(len, each)]).astype(np.int64) for each in rows
        ]
        flat = [np.concatenate(each).astype(np.int64) for each in rows]
        empty = np.zeros([0], np.float32)
        lists = {
            "sample_indices_or_row_splits": [np.zeros([0], np.int64), *splits],
            "embedding_indices": [dense.astype(np.int64), *flat],
            "aggregation_weights": [empty] * 4,
        }
        return tensors, lists

    def directions(self, step, core):
        """Returns what each activation is multiplied with in the loss."""
        rng = np.random.default_rng([step, core, 7])
        shapes = [(BATCH, DIM)] * 3 + [(BATCH, 3, DIM)]
        return tuple(
            rng.standard_normal(shape).astype(np.float32) for shape in shapes
        )

    def per_core(self, make):
        return replicas.per_replica(self.strategy, make)

    def look_up(self, batches):
        """Returns the activations of one batch of each of some cores.

        The other cores get the first one's.
        """

        @tf.function
        def evaluate(features):
            self.layer.enqueue(features, training=False)
            return self.strategy.run(self.layer.dequeue)

        activations = evaluate(
            self.per_core(
                lambda core: batches[core if core < len(batches) else 0]
            )
        )
        return [
            [replicas.values(self.strategy, each)[core] for each in activations]
            for core in range(len(batches))
        ]

    def retrieve(self):
        """Returns the variables of each table, by table and slot."""
        self.layer._retrieve_variables()
        return {
            name: {
                slot: np.array(variable.values[0])
                if hasattr(variable, "values")
                else variable.numpy()
                for slot, variable in slots.items()
            }
            for name, slots in self.layer._variables.items()
        }


def train(model, steps=STEPS, enqueue_in_program=False):
    """Trains; returns the activations of each step and core."""
    layer = model.layer

    @tf.function
    def step(features, directions):
        def program(features, directions):
            if enqueue_in_program:
                layer.enqueue(features, training=True)
            activations = layer.dequeue()
            with tf.GradientTape() as tape:
                tape.watch(activations)
                loss = tf.add_n(
                    tf.reduce_sum(a * d)
                    for a, d in zip(activations, directions, strict=True)
                )
            layer.apply_gradients(tape.gradient(loss, activations))
            return activations

        if not enqueue_in_program:
            layer.enqueue(features, training=True)
        return model.strategy.run(program, args=(features, directions))

    results = []
    for k in range(steps):
        features = model.per_core(lambda core, k=k: model.batch([k, core])[0])
        directions = model.per_core(lambda core, k=k: model.directions(k, core))
        activations = step(features, directions)
        results.append(
            [
                [
                    replicas.values(model.strategy, each)[core]
                    for each in activations
                ]
                for core in model.cores
            ]
        )
    return results
