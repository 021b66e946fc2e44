# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Times what one would use today, on a CPU, for lookups with sparse updates.

Prints one JSON object on one line.

    python peers.py --peer fbgemm --optimizer adagrad --workload w1m64 \
                    --dist uniform --threads 1

Peers (each needs the packages of its own environment, see requirements-*.txt):

  tf-raw      tf.nn.embedding_lookup_sparse, then
              tf.raw_ops.ResourceSparseApply* (Adam: gather, compute, scatter,
              the 'lazy Adam' recipe, because TF has no sparse Adam kernel)
  tf-legacy   the same lookup, tf_keras.optimizers.legacy.* (TF 2.10 and before)
  tf-keras2   the same lookup, tf_keras.optimizers.* (TF 2.11 to 2.15)
  tf-keras3   the same lookup, keras.optimizers.*   (TF 2.16 and later)
  fbgemm      FBGEMM's SplitTableBatchedEmbeddingBagsCodegen on the CPU, the
              kernel of TorchRec; sgd, adagrad and rowwise_adagrad only
  torch       torch.nn.EmbeddingBag(sparse=True), torch.optim SGD, Adagrad or
              SparseAdam
  tfra        TensorFlow Recommenders Addons' dynamic embedding (hash tables)
              with its DynamicEmbeddingOptimizer over tf_keras legacy optimizers

What is timed, in turn, on one batch after another (they never repeat within
--batches steps, so that rows of the last step are no more in the cache than
they would be in training):

  fwd     pooled lookup, no gradient
  bwd     gradient of the lookup and the optimizer update; for torch and fbgemm
          timed by itself after an untimed forward, for TF peers the median of
          step - fwd over adjacent pairs (a tf.function runs as a whole)
  step    forward, backward and update

The gradient of the pooled output is a fixed random tensor.  Reported are
medians and minima of the wall time and medians of the process's CPU time, which
on a loaded machine says more about one-thread runs than the wall does.

  ids             lookups in a step, over all tables
  unique          distinct rows touched in a step (mean over the batches)
  ids_per_s       ids / step_s;  unique_rows_per_s = unique / bwd_s
  gbs_fwd, gbs_bwd, gbs_step   least bytes to move / time: forward, each id's
              row and the output once; backward, the output gradient once, and
              each unique row of the weights and of every slot read and written
              once

--check compares three steps on a tiny workload with a NumPy reference of the
TPU-embedding formulas and reports the largest relative difference.
"""

import argparse
import json
import os
import statistics
import sys
import time

WORKLOADS = {
    # name: (tables, rows, dim, batch, ids per sample and table)
    "w1m64": (1, 1_000_000, 64, 4096, 20),
    "w5m32": (1, 5_000_000, 32, 4096, 20),
    "w200k128": (1, 200_000, 128, 4096, 20),
    "t8": (8, 500_000, 64, 16384, 1),
    "t26": (26, 200_000, 64, 16384, 1),
    "tiny": (2, 50, 8, 16, 4),
}
OPTIMIZERS = ("sgd", "adagrad", "rowwise_adagrad", "adam", "ftrl")
SLOTS = {"sgd": 0, "adagrad": 1, "rowwise_adagrad": 0, "adam": 2, "ftrl": 2}
LR, ADAGRAD_INIT = 0.01, 0.1
BETA1, BETA2, EPS = 0.9, 0.999, 1e-7
L1, L2 = 0.001, 0.001


class UnsupportedError(Exception):
    """The peer has no such optimizer or combiner."""


# ---------------------------------------------------------------- the data ---
def make_ids(rng, dist, rows, n):
    """Returns n ids below rows.

    They are uniform, or Zipf with exponent 1.05 over all rows, its ranks
    scattered over the table.
    """
    import numpy as np

    if dist == "uniform":
        return rng.integers(0, rows, n, dtype=np.int64)
    p = np.arange(1, rows + 1, dtype=np.float64) ** -1.05
    cdf = np.cumsum(p)
    rank = np.searchsorted(cdf, rng.random(n) * cdf[-1]).astype(np.int64)
    step = 2654435761 % rows
    while np.gcd(step, rows) != 1:
        step += 1
    return (np.minimum(rank, rows - 1) * step + 12345) % rows


def make_batches(shape, dist, count, seed=1):
    """Returns count batches.

    Each is a list with one [batch * ids_per_sample] array of ids for every
    table; sample s owns ids[s * L : (s + 1) * L].
    """
    import numpy as np

    tables, rows, _, batch, length = shape
    rng = np.random.default_rng(seed)
    flat = make_ids(rng, dist, rows, count * tables * batch * length)
    flat = flat.reshape(count, tables, batch * length)
    return [[flat[c, t] for t in range(tables)] for c in range(count)]


def make_tables(shape, seed=2):
    """Yields the initial weights of one table after another."""
    import numpy as np

    tables, rows, dim, _, _ = shape
    rng = np.random.default_rng(seed)
    for _ in range(tables):
        yield rng.random((rows, dim), dtype=np.float32) * np.float32(
            0.1
        ) - np.float32(0.05)


def make_grads(shape, seed=3):
    """Returns the gradients of the pooled outputs, one a table."""
    import numpy as np

    tables, _, dim, batch, _ = shape
    rng = np.random.default_rng(seed)
    return [
        (rng.standard_normal((batch, dim)) * 0.1).astype(np.float32)
        for _ in range(tables)
    ]


# ---------------------------------------------------------------- TF peers ---
class TfPeer:
    """tf.nn.embedding_lookup_sparse with four ways to update."""

    def __init__(self, args, shape):
        """Imports the framework and makes the tables."""
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        if args.peer == "tf-keras3":
            os.environ["KERAS_BACKEND"] = "tensorflow"
        import tensorflow as tf

        self.tf, self.args, self.shape = tf, args, shape
        tf.config.threading.set_intra_op_parallelism_threads(args.threads)
        tf.config.threading.set_inter_op_parallelism_threads(args.threads)
        if args.optimizer == "rowwise_adagrad":
            raise UnsupportedError("no row-wise Adagrad in TensorFlow")
        self.versions = {"tensorflow": tf.__version__}
        self.grads = [tf.constant(g) for g in make_grads(shape)]
        self.make_variables()
        self.make_optimizer()
        spec = [
            tf.SparseTensorSpec([shape[3], None], tf.int64)
            for _ in range(shape[0])
        ]
        self.fwd_fn = tf.function(self.lookup, input_signature=[spec])
        self.step_fn = tf.function(self.train, input_signature=[spec])

    def make_variables(self):
        """Makes the tables as the peer keeps them."""
        tf = self.tf
        if self.args.peer == "tf-keras3":
            import keras

            self.variables = [
                keras.Variable(t, name=f"t{i}")
                for i, t in enumerate(make_tables(self.shape))
            ]
            self.tf_vars = [v.value for v in self.variables]
        else:
            self.variables = self.tf_vars = [
                tf.Variable(t, name=f"t{i}")
                for i, t in enumerate(make_tables(self.shape))
            ]

    def make_optimizer(self):
        """Makes the optimizer and its slots."""
        tf, name, peer = self.tf, self.args.optimizer, self.args.peer
        if peer == "tf-raw":
            init = {
                "adagrad": [ADAGRAD_INIT],
                "adam": [0, 0],
                "ftrl": [ADAGRAD_INIT, 0],
            }.get(name, [])
            self.slots = [
                [tf.Variable(tf.fill(v.shape, float(i))) for i in init]
                for v in self.tf_vars
            ]
            self.iteration = tf.Variable(0, dtype=tf.int64)
            return
        if peer == "tf-keras3":
            import keras

            space, self.versions["keras"] = keras.optimizers, keras.__version__
        else:
            import tf_keras

            self.versions["tf_keras"] = tf_keras.__version__
            space = (
                tf_keras.optimizers.legacy
                if peer == "tf-legacy"
                else tf_keras.optimizers
            )
        extra = (
            {}
            if peer == "tf-legacy" or peer == "tf-keras3"
            else {"jit_compile": False}
        )
        if name == "sgd":
            self.opt = space.SGD(LR, **extra)
        elif name == "adagrad":
            self.opt = space.Adagrad(
                LR, initial_accumulator_value=ADAGRAD_INIT, epsilon=EPS, **extra
            )
        elif name == "adam":
            self.opt = space.Adam(
                LR, beta_1=BETA1, beta_2=BETA2, epsilon=EPS, **extra
            )
        else:
            self.opt = space.Ftrl(
                LR,
                learning_rate_power=-0.5,
                initial_accumulator_value=ADAGRAD_INIT,
                l1_regularization_strength=L1,
                l2_regularization_strength=L2,
                **extra,
            )
        if peer == "tf-legacy":
            self.opt._create_all_weights(self.variables)
        else:
            self.opt.build(self.variables)

    def lookup(self, batch):
        """Returns the pooled outputs, one a table or all in one."""
        return [
            self.tf.nn.embedding_lookup_sparse(
                v, ids, None, combiner=self.args.combiner
            )
            for v, ids in zip(self.tf_vars, batch, strict=True)
        ]

    def train(self, batch):
        """Looks up, differentiates and updates."""
        with self.tf.GradientTape() as tape:
            out = self.lookup(batch)
        grads = tape.gradient(out, self.tf_vars, output_gradients=self.grads)
        if self.args.peer == "tf-raw":
            self.apply_raw(grads)
        else:
            self.opt.apply_gradients(zip(grads, self.variables, strict=True))

    def apply_raw(self, grads):
        """Updates with TensorFlow's training ops."""
        tf, raw, name = self.tf, self.tf.raw_ops, self.args.optimizer
        if name == "adam":
            t = tf.cast(self.iteration.assign_add(1), tf.float32)
            rate = LR * tf.sqrt(1 - tf.pow(BETA2, t)) / (1 - tf.pow(BETA1, t))
        for g, v, s in zip(grads, self.tf_vars, self.slots, strict=True):
            # The gradient of sparse_segment_sum has one row for every distinct
            # id already, so no further combining is needed.
            val, idx = g.values, g.indices
            if name == "sgd":
                raw.ResourceScatterSub(
                    resource=v.handle, indices=idx, updates=val * LR
                )
            elif name == "adagrad":
                raw.ResourceSparseApplyAdagradV2(
                    var=v.handle,
                    accum=s[0].handle,
                    lr=LR,
                    epsilon=EPS,
                    grad=val,
                    indices=idx,
                )
            elif name == "ftrl":
                raw.ResourceSparseApplyFtrl(
                    var=v.handle,
                    accum=s[0].handle,
                    linear=s[1].handle,
                    grad=val,
                    indices=idx,
                    lr=LR,
                    l1=L1,
                    l2=L2,
                    lr_power=-0.5,
                )
            else:
                m = BETA1 * tf.gather(s[0], idx) + (1 - BETA1) * val
                n = BETA2 * tf.gather(s[1], idx) + (1 - BETA2) * tf.square(val)
                raw.ResourceScatterUpdate(
                    resource=s[0].handle, indices=idx, updates=m
                )
                raw.ResourceScatterUpdate(
                    resource=s[1].handle, indices=idx, updates=n
                )
                raw.ResourceScatterSub(
                    resource=v.handle,
                    indices=idx,
                    updates=rate * m / (tf.sqrt(n) + EPS),
                )

    def prepare(self, batch):
        """Returns the ids of a batch in the form that the peer takes."""
        import numpy as np

        _, _, _, rows, length = self.shape
        where = np.stack(
            [
                np.repeat(np.arange(rows), length),
                np.tile(np.arange(length), rows),
            ],
            1,
        )
        where = self.tf.constant(where.astype(np.int64))
        return [
            self.tf.SparseTensor(where, ids, [rows, length]) for ids in batch
        ]

    def fwd(self, batch):
        """Looks up, without a gradient."""
        self.fwd_fn(batch)

    def step(self, batch):
        """Runs one step."""
        self.step_fn(batch)

    bwd = None

    def tables(self):
        """Returns the weights as they are."""
        return [v.numpy() for v in self.tf_vars]


class TfraPeer(TfPeer):
    """TFRA dynamic embedding: weights and slots live in cuckoo hash tables."""

    def __init__(self, args, shape):
        """Imports the framework and makes the tables."""
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        if args.optimizer in ("rowwise_adagrad",):
            raise UnsupportedError("no row-wise Adagrad in TFRA")
        super().__init__(args, shape)

    def make_variables(self):
        """Makes the tables as the peer keeps them."""
        import tensorflow_recommenders_addons as tfra
        from tensorflow_recommenders_addons import dynamic_embedding as de

        self.versions["tensorflow-recommenders-addons"] = tfra.__version__
        tf, (_, rows, dim, _, _) = self.tf, self.shape
        self.de, self.dynamic, self.shadows = de, [], []
        for i, t in enumerate(make_tables(self.shape)):
            v = de.get_variable(
                f"t{i}",
                key_dtype=tf.int64,
                value_dtype=tf.float32,
                dim=dim,
                devices=["/CPU:0"],
                initializer=0.0,
                init_size=2 * rows,
            )
            for lo in range(0, rows, 100_000):  # all rows exist from the start
                hi = min(rows, lo + 100_000)
                v.upsert(
                    tf.range(lo, hi, dtype=tf.int64), tf.constant(t[lo:hi])
                )
            self.dynamic.append(v)
            self.shadows.append(
                de.shadow_ops.ShadowVariable(v, name=f"shadow{i}")
            )
        self.variables = self.tf_vars = self.shadows
        de.enable_train_mode()

    def make_optimizer(self):
        """Makes the optimizer and its slots."""
        import tf_keras

        self.versions["tf_keras"] = tf_keras.__version__
        legacy = tf_keras.optimizers.legacy
        opt = {
            "sgd": lambda: legacy.SGD(LR),
            "adagrad": lambda: legacy.Adagrad(
                LR, initial_accumulator_value=ADAGRAD_INIT, epsilon=EPS
            ),
            "adam": lambda: legacy.Adam(
                LR, beta_1=BETA1, beta_2=BETA2, epsilon=EPS
            ),
            "ftrl": lambda: legacy.Ftrl(
                LR,
                initial_accumulator_value=ADAGRAD_INIT,
                l1_regularization_strength=L1,
                l2_regularization_strength=L2,
            ),
        }[self.args.optimizer]()
        self.opt = self.de.DynamicEmbeddingOptimizer(opt)
        self.opt._create_slots(self.shadows)

    def lookup(self, batch):
        """Returns the pooled outputs, one a table or all in one."""
        tf, out = self.tf, []
        reduce = {
            "sum": tf.sparse.segment_sum,
            "mean": tf.sparse.segment_mean,
            "sqrtn": tf.sparse.segment_sqrt_n,
        }[self.args.combiner]
        for shadow, ids in zip(self.shadows, batch, strict=True):
            unique, idx = tf.unique(ids.values)
            rows = self.de.shadow_ops.embedding_lookup(shadow, unique)
            out.append(reduce(rows, idx, ids.indices[:, 0]))
        return out

    def train(self, batch):
        """Looks up, differentiates and updates."""
        tf = self.tf
        with tf.GradientTape() as tape:
            out = self.lookup(batch)
        grads = tape.gradient(out, self.shadows, output_gradients=self.grads)
        self.opt.apply_gradients(zip(grads, self.shadows, strict=True))

    def tables(self):
        """Returns the weights as they are."""
        keys = self.tf.range(self.shape[1], dtype=self.tf.int64)
        return [v.lookup(keys).numpy() for v in self.dynamic]


# ------------------------------------------------------------- torch peers ---
class TorchPeer:
    """torch.nn.EmbeddingBag with sparse gradients."""

    def __init__(self, args, shape):
        """Imports the framework and makes the tables."""
        import torch

        torch.set_num_threads(args.threads)
        torch.set_num_interop_threads(1)
        self.torch, self.args, self.shape = torch, args, shape
        self.versions = {"torch": torch.__version__}
        self.grads = [torch.from_numpy(g) for g in make_grads(shape)]
        self.build()

    def build(self):
        """Makes the tables and the optimizer."""
        torch, name = self.torch, self.args.optimizer
        if self.args.combiner == "sqrtn":
            raise UnsupportedError("no sqrtn combiner in EmbeddingBag")
        self.bags = []
        for t in make_tables(self.shape):
            self.bags.append(
                torch.nn.EmbeddingBag.from_pretrained(
                    torch.from_numpy(t),
                    freeze=False,
                    mode=self.args.combiner,
                    sparse=True,
                )
            )
        params = [b.weight for b in self.bags]
        if name == "sgd":
            self.opt = torch.optim.SGD(params, lr=LR)
        elif name == "adagrad":
            self.opt = torch.optim.Adagrad(
                params, lr=LR, initial_accumulator_value=ADAGRAD_INIT, eps=EPS
            )
        elif name == "adam":
            self.opt = torch.optim.SparseAdam(
                params, lr=LR, betas=(BETA1, BETA2), eps=EPS
            )
        else:
            raise UnsupportedError(f"no {name} in torch.optim")

    def prepare(self, batch):
        """Returns the ids of a batch in the form that the peer takes."""
        torch, (_, _, _, rows, length) = self.torch, self.shape
        off = torch.arange(0, rows * length, length)
        return [(torch.from_numpy(ids.copy()), off) for ids in batch]

    def lookup(self, batch):
        """Returns the pooled outputs, one a table or all in one."""
        return [
            bag(ids, off)
            for bag, (ids, off) in zip(self.bags, batch, strict=True)
        ]

    def fwd(self, batch):
        """Looks up, without a gradient."""
        with self.torch.no_grad():
            self.lookup(batch)

    def bwd(self, batch):
        """Returns a function that differentiates and updates."""
        self.opt.zero_grad()
        out = self.lookup(batch)

        def timed():
            self.torch.autograd.backward(out, self.grads)
            self.opt.step()

        return timed

    def step(self, batch):
        """Runs one step."""
        self.opt.zero_grad()
        self.torch.autograd.backward(self.lookup(batch), self.grads)
        self.opt.step()

    def tables(self):
        """Returns the weights as they are."""
        return [b.weight.detach().numpy() for b in self.bags]


class FbgemmPeer(TorchPeer):
    """FBGEMM's table-batched embedding bags."""

    def build(self):
        """Makes the tables and the optimizer."""
        torch, name = self.torch, self.args.optimizer
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
            "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
        }
        if name not in kinds:
            raise UnsupportedError(f"FBGEMM's CPU backend has no {name}")
        if self.args.combiner == "sqrtn":
            raise UnsupportedError("no sqrtn pooling in FBGEMM")
        tables, rows, dim, _, _ = self.shape
        pool = (
            PoolingMode.SUM if self.args.combiner == "sum" else PoolingMode.MEAN
        )
        self.emb = SplitTableBatchedEmbeddingBagsCodegen(
            [(rows, dim, EmbeddingLocation.HOST, ComputeDevice.CPU)] * tables,
            optimizer=kinds[name],
            learning_rate=LR,
            eps=EPS,
            pooling_mode=pool,
            stochastic_rounding=False,
        )
        for w, t in zip(
            self.emb.split_embedding_weights(),
            make_tables(self.shape),
            strict=True,
        ):
            w.data.copy_(torch.from_numpy(t))
        for states in self.emb.split_optimizer_states():
            for s in states:
                s.fill_(ADAGRAD_INIT)
        self.grad = torch.cat(self.grads, 1)

    def prepare(self, batch):
        """Returns the ids of a batch in the form that the peer takes."""
        torch, (tables, _, _, rows, length) = self.torch, self.shape
        import numpy as np

        off = torch.arange(0, tables * rows * length + 1, length)
        return torch.from_numpy(np.concatenate(batch)), off

    def lookup(self, batch):
        """Returns the pooled outputs, one a table or all in one."""
        return self.emb(*batch)

    def bwd(self, batch):
        """Returns a function that differentiates and updates."""
        out = self.lookup(batch)
        return lambda: out.backward(self.grad)

    def step(self, batch):
        """Runs one step."""
        self.lookup(batch).backward(self.grad)

    def tables(self):
        """Returns the weights as they are."""
        return [w.detach().numpy() for w in self.emb.split_embedding_weights()]


PEERS = {
    "tf-raw": TfPeer,
    "tf-legacy": TfPeer,
    "tf-keras2": TfPeer,
    "tf-keras3": TfPeer,
    "fbgemm": FbgemmPeer,
    "torch": TorchPeer,
    "tfra": TfraPeer,
}


# --------------------------------------------------------------- reference ---
def reference(args, shape, batches, steps):
    """Returns the tables after `steps` steps.

    The formulas are those of the TPU embedding optimizers (Adagrad without
    epsilon, lazy Adam with the bias correction in the rate).
    """
    import numpy as np

    _, rows, dim, n, length = shape
    scale = {"sum": 1.0, "mean": 1.0 / length, "sqrtn": length**-0.5}[
        args.combiner
    ]
    out = []
    for t, w in enumerate(make_tables(shape)):
        w = w.astype(np.float64)
        g_out = make_grads(shape)[t].astype(np.float64) * scale
        a = np.full((rows, dim), ADAGRAD_INIT)
        row_a = np.full((rows, 1), ADAGRAD_INIT)
        m, v, lin = (
            np.zeros((rows, dim)),
            np.zeros((rows, dim)),
            np.zeros((rows, dim)),
        )
        for k in range(steps):
            ids = batches[k % len(batches)][t]
            g = np.zeros((rows, dim))
            np.add.at(g, ids, np.repeat(g_out, length, 0))
            u = np.unique(ids)
            g = g[u]
            if args.optimizer == "sgd":
                w[u] -= LR * g
            elif args.optimizer == "adagrad":
                a[u] += g * g
                w[u] -= LR * g / np.sqrt(a[u])
            elif args.optimizer == "rowwise_adagrad":
                row_a[u] += (g * g).mean(1, keepdims=True)
                w[u] -= LR * g / np.sqrt(row_a[u])
            elif args.optimizer == "adam":
                rate = (
                    LR * np.sqrt(1 - BETA2 ** (k + 1)) / (1 - BETA1 ** (k + 1))
                )
                m[u] = BETA1 * m[u] + (1 - BETA1) * g
                v[u] = BETA2 * v[u] + (1 - BETA2) * g * g
                w[u] -= rate * m[u] / (np.sqrt(v[u]) + EPS)
            else:
                new = a[u] + g * g
                lin[u] += g - (np.sqrt(new) - np.sqrt(a[u])) / LR * w[u]
                a[u] = new
                x = np.clip(lin[u], -L1, L1) - lin[u]
                w[u] = x / (np.sqrt(new) / LR + 2 * L2)
        out.append(w)
    return out


def check(args):
    """Compares three steps with the reference."""
    import numpy as np

    shape = WORKLOADS["tiny"]
    raw = make_batches(shape, "uniform", 3)
    peer = PEERS[args.peer](args, shape)
    start = list(make_tables(shape))
    for b in raw:
        peer.step(peer.prepare(b))
    worst = 0.0
    for w0, got, want in zip(
        start, peer.tables(), reference(args, shape, raw, 3), strict=True
    ):
        worst = max(
            worst, float(np.abs(got - want).max() / np.abs(want - w0).max())
        )
    return {"check_max_diff_over_max_change": worst, "versions": peer.versions}


# ------------------------------------------------------------------ timing ---
def timed(f, *a):
    """Returns the wall and the CPU time of f(*a)."""
    cpu, wall = time.process_time(), time.perf_counter()
    f(*a)
    return time.perf_counter() - wall, time.process_time() - cpu


def bench(args):
    """Returns the measurements as a dictionary."""
    import numpy as np

    shape = list(WORKLOADS[args.workload])
    if args.rows:
        shape[1] = args.rows
    if args.batch_size:
        shape[3] = args.batch_size
    if args.ids_per_sample:
        shape[4] = args.ids_per_sample
    tables, rows, dim, batch, length = shape
    raw = make_batches(shape, args.dist, args.batches)
    unique = statistics.mean(sum(len(np.unique(t)) for t in b) for b in raw)
    ids = tables * batch * length
    peer = PEERS[args.peer](args, shape)
    data = [peer.prepare(b) for b in raw]

    fwd, bwd, step = [], [], []
    k = 0
    began = None
    while len(step) < args.steps:
        warm = k < args.warmup
        if not warm and began is None:
            began = time.perf_counter()
        b = data[3 * k % len(data)]
        f = timed(peer.fwd, b)
        b = data[(3 * k + 1) % len(data)]
        s = timed(peer.step, b)
        if peer.bwd:
            w = timed(peer.bwd(data[(3 * k + 2) % len(data)]))
        else:
            w = (s[0] - f[0], s[1] - f[1])
        k += 1
        if warm:
            continue
        fwd.append(f), bwd.append(w), step.append(s)
        if time.perf_counter() - began > args.max_seconds and len(step) >= 3:
            break

    result = {
        "peer": args.peer,
        "optimizer": args.optimizer,
        "workload": args.workload,
        "dist": args.dist,
        "combiner": args.combiner,
        "threads": args.threads,
        "thp": bool(args.thp),
        "versions": peer.versions,
        "tables": tables,
        "rows": rows,
        "dim": dim,
        "batch": batch,
        "ids_per_sample": length,
        "ids": ids,
        "unique": round(unique),
        "steps": len(step),
    }
    for name, v in (("fwd", fwd), ("bwd", bwd), ("step", step)):
        result[f"{name}_s"] = round(statistics.median(x[0] for x in v), 6)
        result[f"{name}_min_s"] = round(min(x[0] for x in v), 6)
        result[f"{name}_cpu_s"] = round(statistics.median(x[1] for x in v), 6)
    if not peer.bwd:  # the least of some differences says nothing
        result["bwd_min_s"] = round(
            result["step_min_s"] - result["fwd_min_s"], 6
        )
    move_f = 4 * dim * (ids + tables * batch)
    move_b = (
        4 * dim * (tables * batch + 2 * unique * (1 + SLOTS[args.optimizer]))
    )
    result.update(
        ids_per_s=round(ids / result["step_s"]),
        unique_rows_per_s=round(unique / max(result["bwd_s"], 1e-9)),
        gbs_fwd=round(move_f / result["fwd_s"] / 1e9, 3),
        gbs_bwd=round(move_b / max(result["bwd_s"], 1e-9) / 1e9, 3),
        gbs_step=round((move_f + move_b) / result["step_s"] / 1e9, 3),
    )
    return result


def main():
    """Parses the command line and prints one line."""
    p = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("--peer", required=True, choices=sorted(PEERS))
    p.add_argument("--optimizer", default="adagrad", choices=OPTIMIZERS)
    p.add_argument("--workload", default="w1m64", choices=sorted(WORKLOADS))
    p.add_argument("--dist", default="uniform", choices=("uniform", "zipf"))
    p.add_argument(
        "--combiner", default="sum", choices=("sum", "mean", "sqrtn")
    )
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--steps", type=int, default=30)
    p.add_argument("--warmup", type=int, default=3)
    p.add_argument("--batches", type=int, default=12)
    p.add_argument(
        "--max-seconds",
        type=float,
        default=60,
        help="stop early after this long (3 steps at least)",
    )
    p.add_argument(
        "--rows", type=int, help="override the workload's table rows"
    )
    p.add_argument(
        "--batch-size", type=int, help="override the workload's batch size"
    )
    p.add_argument(
        "--ids-per-sample",
        type=int,
        help="override the workload's ids per sample",
    )
    p.add_argument(
        "--thp",
        action="store_true",
        help="ask for transparent huge pages (glibc.malloc.hugetlb=1 and"
        " torch's THP_MEM_ALLOC_ENABLE)",
    )
    p.add_argument(
        "--check",
        action="store_true",
        help="compare with a NumPy reference instead of timing",
    )
    args = p.parse_args()

    if args.thp and os.environ.get("PEERS_THP") != "1":
        os.environ.update(
            PEERS_THP="1",
            GLIBC_TUNABLES="glibc.malloc.hugetlb=1",
            THP_MEM_ALLOC_ENABLE="1",
        )
        os.execv(sys.executable, [sys.executable] + sys.argv)
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    load = os.getloadavg()[0]
    try:
        result = check(args) if args.check else bench(args)
    except UnsupportedError as e:
        result = {"unsupported": str(e)}
    head = {
        "peer": args.peer,
        "optimizer": args.optimizer,
        "workload": args.workload,
        "dist": args.dist,
        "threads": args.threads,
    }
    print(json.dumps({**head, **result, "load": round(load, 2)}))


if __name__ == "__main__":
    main()
