# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""One small training program, written once for all ways of running it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pathlib
import pickle
import subprocess
import sys

import configs
import numpy as np
import raw_ops
import tensorflow as tf
import tpuless

NUM_STEPS = 4
_ROWS, _DIMENSION, _BATCH = 50, 5, 8
_RATE = 0.1

CONFIG = configs.config(
    configs.table("t", _ROWS, _DIMENSION, learning_rate=_RATE),
    batch_size=_BATCH,
)

_rng = np.random.default_rng(17)
WEIGHTS = _rng.standard_normal([_ROWS, _DIMENSION], np.float32)
_IDS = _rng.integers(0, _ROWS, [NUM_STEPS, _BATCH]).astype(np.int32)
# Not a function of the activations alone, so that Send needs no Recv.
_GRADIENTS = _rng.standard_normal([NUM_STEPS, _BATCH, _DIMENSION], np.float32)


def touched_rows():
    """Returns which rows change; duplicates are summed."""
    return np.unique(_IDS)


def expected_table():
    """Returns the table after all steps."""
    table = WEIGHTS.astype(np.float64)
    for ids, gradients in zip(_IDS, _GRADIENTS, strict=True):
        np.subtract.at(table, ids, _RATE * gradients.astype(np.float64))
    return table


def load():
    """Loads the initial table."""
    return raw_ops.load_op(configs.SGD)(
        parameters=WEIGHTS, num_shards=1, shard_id=0, table_name="t"
    )


def retrieve():
    """Retrieves the table."""
    return raw_ops.retrieve_op(configs.SGD)(
        num_shards=1, shard_id=0, table_name="t"
    )


def start():
    """Configures and loads, eagerly."""
    tf.raw_ops.ConfigureTPUEmbedding(config=CONFIG)
    load()


def table():
    """Returns the table, retrieved eagerly."""
    return retrieve().numpy()


def enqueue(k):
    """Enqueues the batch of step `k`."""
    return tf.raw_ops.EnqueueTPUEmbeddingIntegerBatch(
        batch=[tf.gather(_IDS, k)],
        mode_override="unspecified",
        device_ordinal=0,
    )


def receive(k=None):
    """Receives a batch."""
    return tf.raw_ops.RecvTPUEmbeddingActivations(num_outputs=1, config=CONFIG)


def send(k):
    """Sends the gradients of step `k`."""
    return tf.raw_ops.SendTPUEmbeddingGradients(
        inputs=[tf.gather(_GRADIENTS, k)], learning_rates=[], config=CONFIG
    )


def step(k):
    """Runs step `k`, eagerly or in a function; returns the activations."""
    enqueue(k)
    (activations,) = receive()
    send(k)
    return activations


def ordered_step(k):
    """Builds step `k` in a TF1 graph; returns the last op."""
    with tf.control_dependencies([enqueue(k)]):
        activations = receive()
    with tf.control_dependencies(activations):
        return send(k)


_SERVER = """
import sys
import tensorflow as tf

tf.load_op_library(sys.argv[1])
server = tf.compat.v1.train.Server.create_local_server()
print(server.target, flush=True)
sys.stdin.read()
"""

_CLIENT = """
import pickle
import sys
import tensorflow as tf

assert "tpuless" not in sys.modules
target, num_steps, graph, *ops = pickle.load(sys.stdin.buffer)
configure, load, step, retrieve, shutdown = ops
with tf.Graph().as_default(), tf.compat.v1.Session(target) as session:
    graph_def = tf.compat.v1.GraphDef.FromString(graph)
    tf.import_graph_def(graph_def, name="")
    session.run(configure)
    session.run(load)
    for k in range(num_steps):
        session.run(step, {"k:0": k})
    table = session.run(retrieve)
    session.run(shutdown)
sys.stdout.buffer.write(pickle.dumps(table))
"""


@contextlib.contextmanager
def server():
    """Runs a TensorFlow server in another process; yields its target."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, tpuless.library_path()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def train_at(target):
    """Trains from a process without the library; returns the table."""
    graph = tf.Graph()
    with graph.as_default():
        k = tf.compat.v1.placeholder(tf.int32, [], "k")
        ops = [
            tf.raw_ops.ConfigureTPUEmbedding(config=CONFIG),
            load(),
            ordered_step(k),
            retrieve(),
            tf.raw_ops.ShutdownDistributedTPU(),
        ]
    names = [op.name for op in ops]
    request = (target, NUM_STEPS, graph.as_graph_def().SerializeToString())
    result = subprocess.run(
        [sys.executable, "-c", _CLIENT],
        input=pickle.dumps((*request, *names)),
        capture_output=True,
        check=True,
    )
    return pickle.loads(result.stdout)


# A step of which every part is big enough to be worth several threads.
_BIG = configs.config(
    configs.table("t", 5000, 33, num_features=2, optimizer="adagrad"),
    batch_size=4000,
)


def _big_step(engine):
    rng = np.random.default_rng(23)
    weights = rng.standard_normal([5000, 33], np.float32)
    engine.load(0, [weights, np.full_like(weights, 0.1)])
    digest = hashlib.sha256()
    for _ in range(2):
        rows = np.sort(rng.integers(0, 8000, 30000))
        engine.enqueue(
            "EnqueueTPUEmbeddingSparseBatch",
            {
                "sample_indices": [rows],
                "embedding_indices": [rng.integers(0, 5000, 30000)],
                "aggregation_weights": [rng.random(30000, np.float32)],
            },
            {"combiners": ["mean"]},
        )
        (activations,) = engine.receive()
        engine.send([rng.standard_normal([8000, 33], np.float32)])
        digest.update(activations.tobytes())
    for variable in engine.retrieve(0):
        digest.update(variable.tobytes())
    return digest.hexdigest()


def simulator_digest(num_threads):
    """Returns a digest of all results of the big step."""
    engine = raw_ops.SimulatorBackend(_BIG, num_threads=num_threads)
    return _big_step(engine)


@functools.cache
def digest_with_threads(num_threads):
    """Returns the same of the ops, in a process with so many threads."""
    result = subprocess.run(
        [sys.executable, __file__, str(num_threads)],
        capture_output=True,
        check=True,
        text=True,
        cwd=pathlib.Path(__file__).parent,
    )
    return result.stdout.strip()


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(int(sys.argv[1]))
    print(_big_step(raw_ops.RawOpsBackend(_BIG)))
