# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""A deep learning recommendation model (DLRM), written for a TPU.

It says which flights arrive late. Nothing in it knows of tpuless; on a machine
without a TPU it runs on virtual cores:

    tpuless run --cores 2 examples/dlrm_virtual_tpu.py

The model is that of https://arxiv.org/abs/1906.00091: embeddings of the
categorical features, a bottom MLP for the dense ones, dot products of all pairs
of these vectors, and a top MLP.
"""

from __future__ import annotations

import argparse
import pathlib
import time

import flights_data
import numpy as np
import tensorflow as tf

embedding = tf.tpu.experimental.embedding

DIMENSION = 16


def make_strategy() -> tf.distribute.TPUStrategy:
    """Finds the TPU and starts it."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver()
    tf.config.experimental_connect_to_cluster(resolver)
    tf.tpu.experimental.initialize_tpu_system(resolver)
    return tf.distribute.TPUStrategy(resolver)


class Dlrm:
    """The model and its optimizers, in the scope of a strategy."""

    def __init__(self, vocabularies: dict[str, list[str]], batch_size: int):
        """Makes a table a feature; `batch_size` is a replica's."""
        self.embeddings = embedding.TPUEmbedding(
            {
                name: embedding.FeatureConfig(
                    embedding.TableConfig(
                        vocabulary_size=len(vocabulary),
                        dim=DIMENSION,
                        initializer=tf.random_normal_initializer(stddev=0.1),
                        name=name,
                    ),
                    name=name,
                )
                for name, vocabulary in vocabularies.items()
            },
            embedding.Adagrad(learning_rate=0.1),
        )
        self.embeddings.build(batch_size)
        dense = tf.keras.layers.Dense
        self.bottom = tf.keras.Sequential(
            [tf.keras.Input([4]), dense(32, "relu"), dense(DIMENSION, "relu")]
        )
        num_vectors = len(vocabularies) + 1
        # Where each pair of vectors is in the matrix of their products.
        rows, columns = np.triu_indices(num_vectors, k=1)
        self.pairs = rows * num_vectors + columns
        self.top = tf.keras.Sequential(
            [
                tf.keras.Input([DIMENSION + len(self.pairs)]),
                dense(64, "relu"),
                dense(32, "relu"),
                dense(1),
            ]
        )
        self.optimizer = tf.keras.optimizers.Adam(0.003)
        self.variables = [
            *self.bottom.trainable_variables,
            *self.top.trainable_variables,
        ]
        self.optimizer.build(self.variables)

    def logits(self, dense: tf.Tensor, activations: dict) -> tf.Tensor:
        """Returns one number a flight, shape [batch size]."""
        bottom = self.bottom(dense)
        vectors = tf.stack([bottom, *tf.nest.flatten(activations)], axis=1)
        products = tf.matmul(vectors, vectors, transpose_b=True)
        products = tf.reshape(products, [-1, vectors.shape[1] ** 2])
        pairs = tf.gather(products, self.pairs, axis=1)
        return self.top(tf.concat([bottom, pairs], axis=1))[:, 0]


def make_programs(strategy: tf.distribute.TPUStrategy, model: Dlrm) -> tuple:
    """Returns functions that train on some batches, and that look at one."""
    num_replicas = strategy.num_replicas_in_sync

    def train_step(dense: tf.Tensor, late: tf.Tensor) -> tf.Tensor:
        activations = model.embeddings.dequeue()
        with tf.GradientTape() as tape:
            tape.watch(activations)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(
                late, model.logits(dense, activations)
            )
            loss = tf.reduce_mean(losses) / num_replicas
        gradients, of_activations = tape.gradient(
            loss, (model.variables, activations)
        )
        model.optimizer.apply_gradients(
            zip(gradients, model.variables, strict=True)
        )
        model.embeddings.apply_gradients(of_activations)
        return loss

    @tf.function
    def train(iterator: tf.data.Iterator, num_steps: tf.Tensor) -> tf.Tensor:
        total = 0.0
        for _ in tf.range(num_steps):
            ids, dense, late = next(iterator)
            model.embeddings.enqueue(ids, training=True)
            losses = strategy.run(train_step, args=(dense, late))
            total += strategy.reduce("SUM", losses, axis=None)
        return total / tf.cast(num_steps, tf.float32)

    @tf.function
    def predict(iterator: tf.data.Iterator) -> tuple:
        ids, dense, late = next(iterator)
        model.embeddings.enqueue(ids, training=False)
        logits = strategy.run(
            lambda x: model.logits(x, model.embeddings.dequeue()), args=(dense,)
        )
        return (
            strategy.gather(logits, axis=0),
            strategy.gather(late, axis=0),
        )

    return train, predict


def make_iterator(
    strategy: tf.distribute.TPUStrategy,
    flights: flights_data.Flights,
    batch_size: int,
    shuffle: bool,
) -> tf.data.Iterator:
    """Returns batches of ids, dense features and labels, without end."""
    names = flights_data.FEATURES
    angles = [
        2 * np.pi * flights.ids[:, names.index(name)] / period
        for name, period in (("hour", 24), ("month", 12))
    ]
    dense = np.stack(
        [f(angle) for angle in angles for f in (np.sin, np.cos)], axis=1
    ).astype(np.float32)
    ids = {name: flights.ids[:, i] for i, name in enumerate(names)}
    columns = tf.nest.map_structure(tf.constant, (ids, dense, flights.late))
    rows = tf.data.Dataset.range(len(flights))
    if shuffle:
        rows = rows.shuffle(len(flights), seed=1)
    dataset = rows.repeat().batch(batch_size, drop_remainder=True)
    dataset = dataset.map(
        lambda batch: tf.nest.map_structure(
            lambda column: tf.gather(column, batch), columns
        )
    )
    # The ids of TPU embeddings stay with the host.
    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    return iter(strategy.experimental_distribute_dataset(dataset, options))


def main() -> None:
    """Trains, evaluates, saves."""
    parser = argparse.ArgumentParser(description="Trains a DLRM.")
    parser.add_argument("--rows", type=int, help="use no more flights")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=4096, help="in all")
    parser.add_argument("--checkpoint", type=pathlib.Path)
    arguments = parser.parse_args()

    tf.keras.utils.set_random_seed(1)
    flights = flights_data.load_flights()
    order = np.random.default_rng(1).permutation(len(flights))
    order = order[: arguments.rows]
    num_held_out = len(order) // 10
    held_out = flights.take(order[:num_held_out])
    trained_on = flights.take(order[num_held_out:])

    strategy = make_strategy()
    num_replicas = strategy.num_replicas_in_sync
    batch_size = arguments.batch_size // num_replicas * num_replicas
    with strategy.scope():
        model = Dlrm(flights.vocabularies, batch_size // num_replicas)
    train, predict = make_programs(strategy, model)
    batches = make_iterator(strategy, trained_on, batch_size, shuffle=True)
    num_steps = len(trained_on) // batch_size
    print(f"{num_replicas} replicas, {num_steps} steps an epoch")
    for epoch in range(arguments.epochs):
        start = time.perf_counter()
        loss = train(batches, tf.constant(num_steps))
        seconds = time.perf_counter() - start
        print(f"epoch {epoch + 1}: loss {loss:.4f}, {seconds:.1f} s")

    batches = make_iterator(strategy, held_out, batch_size, shuffle=False)
    scored = [predict(batches) for _ in range(len(held_out) // batch_size)]
    scores, late = (np.concatenate(each) for each in zip(*scored, strict=True))
    print(
        f"AUC on {len(late)} held-out flights: "
        f"{flights_data.auc(scores, late):.4f}"
    )
    if arguments.checkpoint:
        checkpoint = tf.train.Checkpoint(
            embeddings=model.embeddings, bottom=model.bottom, top=model.top
        )
        path = checkpoint.save(str(arguments.checkpoint / "dlrm"))
        print(f"saved {path}")


if __name__ == "__main__":
    main()
