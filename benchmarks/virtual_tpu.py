# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Times the DLRM of the examples on virtual TPU cores against the raw ops.

    python benchmarks/virtual_tpu.py

Both sides train the same model on the same flights with the same batch size in
all: on virtual cores by TPUStrategy and TPUEmbedding, and on one core by the
ops that TPUEmbedding is made of, without a strategy. Each has a process of its
own, since an engine has one configuration; they take turns.

It also times the first call of a program with many cores and features, in
which TensorFlow traces, optimizes and expands it. A summary goes to stderr,
one line of JSON to stdout.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import rounds

WARMUP = 2
FIRST_CALL = {
    "cores": 8,
    "features": 26,
    "vocabulary": 1000,
    "batch_size": 4096,
}

sys.path.append(str(pathlib.Path(__file__).parents[1] / "examples"))


class RawEmbeddings:
    """What the example uses of TPUEmbedding, by raw ops on one core."""

    def __init__(
        self, vocabularies: dict[str, list[str]], batch_size: int, dim: int
    ):
        """Configures an engine and loads its tables."""
        import numpy as np
        import tensorflow as tf
        import tpuless
        from tensorflow.core.protobuf.tpu import (
            tpu_embedding_configuration_pb2 as pb,
        )

        # TPUEmbedding has the features in this order, too.
        self.names = sorted(vocabularies)
        config = pb.TPUEmbeddingConfiguration(
            mode=pb.TPUEmbeddingConfiguration.TRAINING,
            num_hosts=1,
            num_tensor_cores=1,
        )
        rng = np.random.default_rng(1)
        tables = {}
        for i, name in enumerate(self.names):
            table = config.table_descriptor.add(
                name=name,
                vocabulary_size=len(vocabularies[name]),
                dimension=dim,
            )
            optimizer = table.optimization_parameters
            optimizer.learning_rate.constant = 0.1
            optimizer.adagrad.SetInParent()
            config.feature_descriptor.add(
                name=name, table_id=i, input_shape=[batch_size]
            )
            weights = 0.1 * rng.standard_normal([table.vocabulary_size, dim])
            tables[name] = {
                "parameters": weights.astype(np.float32),
                "accumulators": np.full(weights.shape, 0.1, np.float32),
            }
        self.config = config.SerializeToString()
        tpuless.reset()
        tf.raw_ops.ConfigureTPUEmbedding(config=self.config)
        tpuless.load_tables(self.config, tables)

    def enqueue(self, features: dict[str, Any], training: bool) -> None:
        """Enqueues one id a sample of each feature."""
        import tensorflow as tf

        n = len(self.names)
        tf.raw_ops.EnqueueTPUEmbeddingArbitraryTensorBatch(
            sample_indices_or_row_splits=[tf.zeros([0], tf.int32)] * n,
            embedding_indices=[features[name] for name in self.names],
            aggregation_weights=[tf.zeros([0])] * n,
            mode_override="train" if training else "inference",
            device_ordinal=0,
            combiners=["mean"] * n,
        )

    def dequeue(self) -> dict[str, Any]:
        """Receives the activations of the features."""
        import tensorflow as tf

        activations = tf.raw_ops.RecvTPUEmbeddingActivations(
            num_outputs=len(self.names), config=self.config
        )
        return dict(zip(self.names, activations, strict=True))

    def apply_gradients(self, gradients: dict[str, Any]) -> None:
        """Sends gradients of the activations."""
        import tensorflow as tf

        tf.raw_ops.SendTPUEmbeddingGradients(
            inputs=[gradients[name] for name in self.names],
            learning_rates=[],
            config=self.config,
        )


def flights_trainer(
    cores: int, steps: int, batch_size: int
) -> Callable[[], float]:
    """Returns a function that trains on some batches of flights.

    Args:
      cores: How many virtual cores; 0 means the raw ops.
      steps: How many batches a call takes.
      batch_size: The size of a batch, in all.
    """
    import dlrm_virtual_tpu as example
    import flights_data
    import tensorflow as tf
    import tpuless

    tf.keras.utils.set_random_seed(1)
    flights = flights_data.load_flights()
    if cores:
        tpuless.virtual_tpu(cores)
        strategy = example.make_strategy()
    else:
        strategy = tf.distribute.get_strategy()
    with strategy.scope():
        model = example.Dlrm(
            flights.vocabularies, batch_size // strategy.num_replicas_in_sync
        )
    if not cores:
        model.embeddings = RawEmbeddings(
            flights.vocabularies, batch_size, example.DIMENSION
        )
    train, _ = example.make_programs(strategy, model)
    batches = example.make_iterator(strategy, flights, batch_size, shuffle=True)
    return lambda: float(train(batches, tf.constant(steps)))


def first_call() -> float:
    """Returns how many seconds the first call of a large program takes."""
    import dlrm_virtual_tpu as example
    import numpy as np
    import tensorflow as tf
    import tpuless

    cores, vocabulary = FIRST_CALL["cores"], FIRST_CALL["vocabulary"]
    batch_size = FIRST_CALL["batch_size"]
    tpuless.virtual_tpu(cores)
    strategy = example.make_strategy()
    names = [f"feature {i}" for i in range(FIRST_CALL["features"])]
    with strategy.scope():
        model = example.Dlrm(
            {name: [""] * vocabulary for name in names}, batch_size // cores
        )
    train, _ = example.make_programs(strategy, model)
    ids = np.random.default_rng(1).integers(0, vocabulary, batch_size)
    batch = (
        dict.fromkeys(names, ids.astype(np.int32)),
        np.zeros([batch_size, 4], np.float32),
        np.zeros([batch_size], np.float32),
    )
    dataset = tf.data.Dataset.from_tensor_slices(batch).repeat()
    dataset = dataset.batch(batch_size, drop_remainder=True)
    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    batches = iter(strategy.experimental_distribute_dataset(dataset, options))
    start = time.perf_counter()
    train(batches, tf.constant(1))
    return time.perf_counter() - start


class Side:
    """A process that trains when it is told to."""

    def __init__(self, cores: int, steps: int, batch_size: int):
        """Starts the process, and waits for its first call."""
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(end, cores, steps, batch_size), daemon=True
        )
        self.process.start()
        self.train()

    def train(self) -> float:
        """Trains on the next batches; returns their mean loss."""
        self.pipe.send(None)
        return self.pipe.recv()


def _serve(pipe: Connection, cores: int, steps: int, batch_size: int) -> None:
    train = flights_trainer(cores, steps, batch_size)
    with contextlib.suppress(EOFError):  # The other end is gone.
        while True:
            pipe.recv()
            pipe.send(train())


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Times both sides and the first call."""
    import tensorflow as tf
    import tpuless

    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        first = pool.apply(first_call)
    virtual = Side(arguments.cores, arguments.steps, arguments.batch_size)
    raw = Side(0, arguments.steps, arguments.batch_size)
    times = rounds.interleave(
        {"virtual": lambda k: virtual.train(), "raw": lambda k: raw.train()},
        arguments.rounds,
        WARMUP,
    )
    return {
        "benchmark": "virtual_tpu",
        **vars(arguments),
        "seconds": {
            name: rounds.quartiles([t / arguments.steps for t in each.wall])
            for name, each in times.items()
        },
        "ratio": rounds.ratio(times["virtual"], times["raw"])["wall"],
        "loss": {"virtual": virtual.train(), "raw": raw.train()},
        "first_call": {**FIRST_CALL, "seconds": round(first, 2)},
        "versions": {
            "tpuless": tpuless.__version__,
            "tensorflow": tf.__version__,
        },
        "machine": rounds.machine(),
    }


def report(result: dict[str, Any]) -> str:
    """Returns a few lines for people."""
    virtual, raw = (
        rounds.spread(result["seconds"][side], 1e3)
        for side in ("virtual", "raw")
    )
    return "\n".join(
        [
            f"a step of the DLRM, batch size {result['batch_size']}",
            f"  {result['cores']} virtual cores  {virtual:>20} ms, "
            f"loss {result['loss']['virtual']:.4f}",
            f"  raw ops          {raw:>20} ms, "
            f"loss {result['loss']['raw']:.4f}",
            f"  ratio            {rounds.spread(result['ratio']):>20}",
            "first call with {cores} cores and {features} features: "
            "{seconds} s".format(**result["first_call"]),
        ]
    )


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=4096, help="in all")
    parser.add_argument("--steps", type=int, default=20, help="in a round")
    parser.add_argument("--rounds", type=int, default=20)
    result = measure(parser.parse_args())
    print(report(result), file=sys.stderr, flush=True)
    print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
