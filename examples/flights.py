# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Trains on real flights with the TPU-embedding ops, and checks the result.

Which of the flights that left New York in 2013 arrived late? Each feature has
an embedding table; a small dense network reads their activations. The tables
live in the engine behind the TPU-embedding ops: `import tpuless` is all that
it takes to run those on a CPU. `EngineTables` shows every op, `Trainer.train`
the order of a step.

The same model is trained a second time from the same start on the same
batches, with the tables in ordinary variables. The two must agree; if they do
not, the script says where and exits with 1. docs/demo.md explains the rest.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

import flights_compare
import flights_data
import flights_peer
import numpy as np
import tensorflow as tf
import tpuless
from flights_peer import Tables
from tensorflow.core.protobuf.tpu import (
    tpu_embedding_configuration_pb2 as config_pb2,
)

DIMENSIONS = {
    "carrier": 8,
    "tailnum": 16,
    "origin": 4,
    "dest": 16,
    "hour": 8,
    "month": 8,
}
LEARNING_RATE = 1.0  # Gradients of a mean over a batch are small.
DENSE_LEARNING_RATE = 0.2
ACCUMULATOR = 0.1


class EngineTables:
    """Embedding tables behind the TPU-embedding ops."""

    def __init__(self, start: Tables, batch_size: int) -> None:
        """Configures the engine, and loads the tables into it."""
        self.config = embedding_config(start, batch_size)
        self.num_features = len(start)
        tpuless.reset()  # One engine at a time: drop that of an earlier run.
        tf.raw_ops.ConfigureTPUEmbedding(config=self.config)
        for name, weights in start.items():
            tf.raw_ops.LoadTPUEmbeddingAdagradParameters(
                parameters=weights,
                accumulators=np.full_like(weights, ACCUMULATOR),
                table_name=name,
                num_shards=1,
                shard_id=0,
            )

    def lookup(self, ids: list[tf.Tensor], mode: str) -> list[tf.Tensor]:
        """Returns the activations [batch, dimension] of each feature."""
        # Empty indices say that sample k has the k-th id and no other,
        # empty weights that each id weighs 1.
        indices = [tf.zeros([0], tf.int32)] * self.num_features
        weights = [tf.zeros([0], tf.float32)] * self.num_features
        tf.raw_ops.EnqueueTPUEmbeddingArbitraryTensorBatch(
            sample_indices_or_row_splits=indices,
            embedding_indices=ids,
            aggregation_weights=weights,
            mode_override=mode,
            combiners=[],
        )
        return tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=self.num_features, config=self.config
        )

    def update(self, ids: list[tf.Tensor], gradients: list[tf.Tensor]) -> None:
        """Runs one optimizer step on each row of the received batch."""
        del ids  # The engine kept them when they were enqueued.
        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=gradients, learning_rates=[], config=self.config
        )

    def read(self) -> Tables:
        """Returns the weights of all tables."""
        return {
            name: tf.raw_ops.RetrieveTPUEmbeddingAdagradParameters(
                table_name=name, num_shards=1, shard_id=0
            ).parameters.numpy()
            for name in DIMENSIONS
        }


def embedding_config(start: Tables, batch_size: int) -> bytes:
    """Returns the serialized configuration: one table for each feature."""
    config = config_pb2.TPUEmbeddingConfiguration(
        mode=config_pb2.TPUEmbeddingConfiguration.TRAINING,
        num_hosts=1,
        num_tensor_cores=1,
    )
    for table_id, (name, weights) in enumerate(start.items()):
        table = config.table_descriptor.add(name=name)
        table.vocabulary_size, table.dimension = weights.shape
        table.optimization_parameters.adagrad.SetInParent()
        table.optimization_parameters.learning_rate.constant = LEARNING_RATE
        config.feature_descriptor.add(
            name=name, table_id=table_id, input_shape=[batch_size]
        )
    return config.SerializeToString()


class Trainer:
    """The model: any kind of tables below the same dense network."""

    def __init__(
        self,
        tables: EngineTables | flights_peer.VariableTables,
        batch_size: int,
        seed: int,
    ) -> None:
        """Makes the dense network; equal seeds make equal ones."""
        self.tables = tables
        self.batch_size = batch_size
        layers = tf.keras.layers
        glorot = tf.keras.initializers.GlorotUniform
        # Swish is smooth. A kink, as that of ReLU, would blow up rounding.
        self.dense = tf.keras.Sequential(
            [
                layers.Dense(32, "swish", kernel_initializer=glorot(seed)),
                layers.Dense(1, kernel_initializer=glorot(seed + 1)),
            ]
        )
        self.dense.build((None, sum(DIMENSIONS.values())))
        self.optimizer = tf.keras.optimizers.Adagrad(DENSE_LEARNING_RATE)
        self.optimizer.build(self.dense.trainable_variables)

    @tf.function
    def train(self, ids: tf.Tensor, late: tf.Tensor) -> tf.Tensor:
        """Trains on one batch and returns its loss."""
        by_feature = tf.unstack(ids, axis=1)
        activations = self.tables.lookup(by_feature, "train")
        with tf.GradientTape() as tape:
            tape.watch(activations)
            logits = self.dense(tf.concat(activations, axis=1))
            loss = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(late, logits[:, 0])
            )
        variables = self.dense.trainable_variables
        gradients, dense_gradients = tape.gradient(
            loss, (activations, variables)
        )
        self.optimizer.apply(dense_gradients, variables)
        self.tables.update(by_feature, gradients)
        return loss

    @tf.function
    def score(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns one score for each flight of a batch."""
        activations = self.tables.lookup(tf.unstack(ids, axis=1), "inference")
        return self.dense(tf.concat(activations, axis=1))[:, 0]

    def auc(self, flights: flights_data.Flights) -> float:
        """Returns the AUC on any number of flights."""
        # The last batch is filled up with id 0, whose scores nobody reads.
        padding = -len(flights) % self.batch_size
        ids = np.pad(flights.ids, [(0, padding), (0, 0)])
        batches = ids.reshape(-1, self.batch_size, ids.shape[1])
        scores = np.concatenate([self.score(ids).numpy() for ids in batches])
        return flights_data.auc(scores[: len(flights)], flights.late)


def start_tables(
    vocabularies: dict[str, list[str]], random: np.random.Generator
) -> Tables:
    """Returns small random weights for the table of each feature."""
    return {
        name: random.uniform(
            -0.05, 0.05, (len(vocabularies[name]), dimension)
        ).astype(np.float32)
        for name, dimension in DIMENSIONS.items()
    }


def compare(
    flights: flights_data.Flights, epochs: int, batch_size: int, seed: int
) -> flights_compare.Comparison:
    """Trains on nine tenths of the flights, drawn by lot, in both ways."""
    tf.keras.utils.set_random_seed(seed)
    random = np.random.default_rng(seed)
    rows = random.permutation(len(flights))
    held_out, train = np.split(rows, [len(flights) // 10])
    start = start_tables(flights.vocabularies, random)
    trainers = [
        Trainer(tables, batch_size, seed)
        for tables in (
            EngineTables(start, batch_size),
            flights_peer.VariableTables(start, LEARNING_RATE, ACCUMULATOR),
            flights_peer.RoundingTwin(start, LEARNING_RATE, ACCUMULATOR),
        )
    ]
    return flights_compare.compare(
        trainers, flights.take(train), flights.take(held_out), epochs, seed
    )


def parse_arguments() -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(
        description="Trains on real flights with the TPU-embedding ops."
    )
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument(
        "--rows", type=int, help="use so many flights only, drawn by lot"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("build/flights.png"),
        help="where to write the training curves",
    )
    return parser.parse_args()


def main() -> int:
    """Runs the demo and returns the exit code."""
    arguments = parse_arguments()
    flights = flights_data.load_flights()
    if arguments.rows:
        rows = np.random.default_rng(arguments.seed).permutation(len(flights))
        flights = flights.take(rows[: arguments.rows])
    minutes = flights_data.LATE_MINUTES
    print(
        f"{len(flights):,} flights with a known arrival delay,"
        f" {flights.late.mean():.1%} of them more than {minutes} minutes late"
    )
    result = compare(
        flights, arguments.epochs, arguments.batch_size, arguments.seed
    )
    print_report(result)
    flights_compare.plot(result, arguments.output)
    print(f"training curves: {arguments.output}")
    for sentence in result.disagreements:
        print(f"NOT EQUAL: {sentence}", file=sys.stderr)
    if result.disagreements:
        return 1
    print("tpuless and TensorFlow trained the same model")
    return 0


def print_report(result: flights_compare.Comparison) -> None:
    """Prints what the two trainers did, side by side."""
    ours, peer = result.ours, result.peer
    steps = len(result.loss_tolerance)
    apart = np.abs(np.subtract(ours.losses[:steps], peer.losses[:steps]))
    print(
        f"first {steps} steps: losses differ by at most {apart.max():.2g}"
        f" (tolerance {result.loss_tolerance.min():.2g} to"
        f" {result.loss_tolerance.max():.2g})"
    )
    for name, (difference, tolerance) in result.tables.items():
        print(
            f"  table '{name}': weights differ by at most {difference:.2g}"
            f" (tolerance {tolerance:.2g})"
        )
    print(
        f"held-out AUC: {ours.aucs[-1]:.4f} (tpuless),"
        f" {peer.aucs[-1]:.4f} (TensorFlow)"
    )
    milliseconds = [1000 * run.step_time() for run in (ours, peer)]
    print(
        f"step time: {milliseconds[0]:.2f} ms (tpuless),"
        f" {milliseconds[1]:.2f} ms (TensorFlow), first to second"
        f" {milliseconds[0] / milliseconds[1]:.2f}"
    )
    print(f"embedding rows updated: {result.rows_per_second():,.0f} a second")
    counted = tpuless.statistics()
    print(
        f"the engine counted {counted.enqueues:,} enqueues,"
        f" {counted.receives:,} receives, {counted.sends:,} sends,"
        f" {counted.ids:,} ids, {counted.unique_rows:,} unique rows"
    )


if __name__ == "__main__":
    sys.exit(main())
