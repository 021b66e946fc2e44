# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""One small interface over TensorFlow's ops and over the simulator.

Importing this module gives TensorFlow several CPU devices, as many as tests
need cores: it must come before the first op of the process.
"""

from __future__ import annotations

import contextlib
import inspect
import re

import configs
import numpy as np
import pytest
import tensorflow as tf
import tpuless

# TensorFlow has wrappers in tf.raw_ops for all ops of the family but a few;
# those run through the function that the wrappers call.
from tensorflow.python.eager import context, execute

NUM_DEVICES = 4

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * NUM_DEVICES,
)

# What the Load and Retrieve ops call an optimizer; others have none.
OP_NAMES = {
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adagrad_momentum": "AdagradMomentum",
    "adam": "ADAM",
    "centered_rms_prop": "CenteredRMSProp",
    "frequency_estimator": "FrequencyEstimator",
    "ftrl": "FTRL",
    "momentum": "Momentum",
    "proximal_adagrad": "ProximalAdagrad",
    "proximal_yogi": "ProximalYogi",
    "rms_prop": "RMSProp",
    "stochastic_gradient_descent": "StochasticGradientDescent",
}

# The ops that load and retrieve one table.
PARAMETER_OPS = [
    f"{verb}TPUEmbedding{name}Parameters"
    for name in OP_NAMES.values()
    for verb in ("Load", "Retrieve")
]

# Status code -> exception of TensorFlow's ops, of the simulator.
ERRORS = {
    "INVALID_ARGUMENT": (tf.errors.InvalidArgumentError, ValueError),
    "NOT_FOUND": (tf.errors.NotFoundError, LookupError),
    "FAILED_PRECONDITION": (tf.errors.FailedPreconditionError, RuntimeError),
    "ALREADY_EXISTS": (tf.errors.AlreadyExistsError, RuntimeError),
    "ABORTED": (tf.errors.AbortedError, RuntimeError),
    "RESOURCE_EXHAUSTED": (tf.errors.ResourceExhaustedError, MemoryError),
    "DEADLINE_EXCEEDED": (tf.errors.DeadlineExceededError, TimeoutError),
    "UNIMPLEMENTED": (tf.errors.UnimplementedError, NotImplementedError),
}


def message_of(error: Exception) -> str:
    """Returns an error's message without what TensorFlow puts around it."""
    message = getattr(error, "message", None) or str(error)
    message = re.sub(r"^\{\{function_node .*?\}\} ", "", message)
    return re.sub(r" \[Op:\w+\]( name: .*)?$", "", message)


@contextlib.contextmanager
def refused(error_class, message):
    """Expects an error of exactly this class with exactly this message."""
    with pytest.raises(error_class) as info:
        yield
    assert type(info.value) is error_class
    assert message_of(info.value) == message


def load_op(optimizer: str):
    """Returns the op that loads a table of `optimizer`."""
    return getattr(
        tf.raw_ops, f"LoadTPUEmbedding{OP_NAMES[optimizer]}Parameters"
    )


def retrieve_op(optimizer: str):
    """Returns the op that retrieves a table of `optimizer`."""
    return getattr(
        tf.raw_ops, f"RetrieveTPUEmbedding{OP_NAMES[optimizer]}Parameters"
    )


def call_parameter_op(name: str, variable, **attrs):
    """Runs an op that loads, all inputs being `variable`, or retrieves."""
    operation = getattr(tf.raw_ops, name)
    keys = operation.__signature__.parameters
    attr_names = {"num_shards", "shard_id", "table_id", "table_name", "config"}
    tensors = {
        key: variable for key in keys if key not in attr_names | {"name"}
    }
    return operation(**tensors, **{"num_shards": 1, "shard_id": 0, **attrs})


def load_all(parameters, auxiliaries, config=b"", num_shards=1, shard_id=0):
    """Runs LoadAllTPUEmbeddingParameters.

    Args:
      parameters: One tensor a table.
      auxiliaries: Seven lists of one tensor a table.
      config: As the attribute.
      num_shards: As the attribute.
      shard_id: As the attribute.
    """
    flat = [tf.convert_to_tensor(p, tf.float32) for p in parameters]
    for auxiliary in auxiliaries:
        flat += [tf.convert_to_tensor(a, tf.float32) for a in auxiliary]
    attrs = ("NumTables", len(parameters), "config", config)
    attrs += ("num_shards", num_shards, "shard_id", shard_id)
    execute.execute(
        b"LoadAllTPUEmbeddingParameters", 0, flat, attrs, context.context()
    )


def retrieve_all(num_tables, config=b"", num_shards=1, shard_id=0):
    """Runs RetrieveAllTPUEmbeddingParameters: parameters, 7 auxiliaries."""
    attrs = ("NumTables", num_tables, "config", config)
    attrs += ("num_shards", num_shards, "shard_id", shard_id)
    flat = execute.execute(
        b"RetrieveAllTPUEmbeddingParameters",
        8 * num_tables,
        [],
        attrs,
        context.context(),
    )
    lists = [flat[k * num_tables : (k + 1) * num_tables] for k in range(8)]
    return lists[0], lists[1:]


def enqueue_batch(batch):
    """Runs EnqueueTPUEmbeddingBatch on serialized strings."""
    attrs = ("N", len(batch), "device_ordinal", 0, "combiners", [])
    tensors = [tf.constant(one) for one in [*batch, "train"]]
    execute.execute(
        b"EnqueueTPUEmbeddingBatch", 0, tensors, attrs, context.context()
    )


def enqueue_op(op, lists, attrs, mode_override="unspecified", core=0):
    """Runs an Enqueue op; a `core` of None leaves out device_ordinal."""
    ordinal = {} if core is None else {"device_ordinal": core}
    return getattr(tf.raw_ops, op)(
        **lists, **attrs, mode_override=mode_override, **ordinal
    )


class RawOpsBackend:
    """The engine of this TensorFlow process, by its ops, run eagerly."""

    name = "raw_ops"

    def __init__(self, config: bytes, **options):
        if options:
            tpuless.set_options(**options)
        tf.raw_ops.ConfigureTPUEmbedding(config=config)
        self.config = config
        self._tables = configs.parse(config).table_descriptor
        self._num_outputs = len(configs.output_shapes(config))

    def _optimizer(self, table: int) -> str:
        parameters = self._tables[table].optimization_parameters
        return parameters.WhichOneof("parameters")

    def load(self, table, variables, num_shards=1, shard_id=0):
        """Loads a shard of a table: its weights, then its slots."""
        optimizer = self._optimizer(table)
        if optimizer not in OP_NAMES:
            raise NotImplementedError("use load_all()")
        operation = load_op(optimizer)
        names = list(inspect.signature(operation).parameters)
        operation(
            **dict(zip(names, variables, strict=False)),
            table_id=table,
            num_shards=num_shards,
            shard_id=shard_id,
        )

    def load_whole(self, tables, num_shards=1, shard_id=0):
        """Loads all tables, through LoadAll where an optimizer needs it."""
        if all(self._optimizer(t) in OP_NAMES for t in range(len(tables))):
            for table, variables in enumerate(tables):
                self.load(table, variables, num_shards, shard_id)
            return
        empty = np.zeros([0, 0], np.float32)
        auxiliaries = [[empty] * len(tables) for _ in range(7)]
        for table, (parameters, *slots) in enumerate(tables):
            status = self._tables[
                table
            ].optimization_parameters.gradient_accumulation_status
            if status != 2:
                slots = [*slots, np.zeros_like(parameters)]
            for k, slot in enumerate(slots):
                auxiliaries[k][table] = slot
        load_all(
            [table[0] for table in tables],
            auxiliaries,
            num_shards=num_shards,
            shard_id=shard_id,
        )

    def retrieve(self, table, num_shards=1, shard_id=0):
        """Returns a shard of a table: its weights, then its slots."""
        result = retrieve_op(self._optimizer(table))(
            table_id=table, num_shards=num_shards, shard_id=shard_id
        )
        if isinstance(result, tf.Tensor):  # An op with a single output.
            result = [result]
        return [variable.numpy() for variable in result]

    def retrieve_whole(self, num_slots, num_shards=1, shard_id=0):
        """Returns all tables; `num_slots` is by table."""
        tables = range(len(self._tables))
        if all(self._optimizer(t) in OP_NAMES for t in tables):
            return [self.retrieve(t, num_shards, shard_id) for t in tables]
        parameters, auxiliaries = retrieve_all(
            len(self._tables), num_shards=num_shards, shard_id=shard_id
        )
        return [
            [
                parameters[t].numpy(),
                *(auxiliaries[k][t].numpy() for k in range(num_slots[t])),
            ]
            for t in tables
        ]

    def enqueue(
        self, op, lists, attrs=None, mode_override="unspecified", core=0
    ):
        """Runs an Enqueue op."""
        enqueue_op(op, lists, attrs or {}, mode_override, core)

    def receive(self, core=0):
        """Returns the activations."""
        with tf.device(f"/device:CPU:{core}"):
            outputs = tf.raw_ops.RecvTPUEmbeddingActivations(
                num_outputs=self._num_outputs, config=self.config
            )
        return [output.numpy() for output in outputs]

    def send(self, gradients, learning_rates=(), core=0):
        """Sends gradients, as they are: nothing is cast."""
        with tf.device(f"/device:CPU:{core}"):
            tf.raw_ops.SendTPUEmbeddingGradients(
                inputs=[np.asarray(g) for g in gradients],
                learning_rates=[
                    np.asarray(rate, np.float32) for rate in learning_rates
                ],
                config=self.config,
            )

    def statistics(self):
        """Returns the engine's counts."""
        return tpuless.statistics()

    def abandon_step(self):
        """Gives up the oldest step that is not complete."""
        tpuless.abandon_step()

    @classmethod
    def error(cls, code):
        """Returns the exception class of a status code."""
        return ERRORS[code][0]

    def close(self):
        """Drops the engine."""
        tpuless.reset()


_ENQUEUE_METHODS = {
    "EnqueueTPUEmbeddingIntegerBatch": "enqueue_integer_batch",
    "EnqueueTPUEmbeddingSparseBatch": "enqueue_sparse_batch",
    "EnqueueTPUEmbeddingSparseTensorBatch": "enqueue_sparse_tensor_batch",
    "EnqueueTPUEmbeddingRaggedTensorBatch": "enqueue_ragged_tensor_batch",
    "EnqueueTPUEmbeddingArbitraryTensorBatch": (
        "enqueue_arbitrary_tensor_batch"
    ),
}


class SimulatorBackend:
    """An engine of its own, without TensorFlow's ops."""

    name = "simulator"

    def __init__(self, config: bytes, **options):
        self._simulator = tpuless.Simulator(config, **options)
        self.config = config
        self.statistics = self._simulator.statistics
        self.abandon_step = self._simulator.abandon_step
        self.receive = self._simulator.receive
        self.send = self._simulator.send
        self.close = self._simulator.close

    def load(self, table, variables, num_shards=1, shard_id=0):
        """Loads a shard of a table: its weights, then its slots."""
        self._simulator.load(
            table, *variables, num_shards=num_shards, shard_id=shard_id
        )

    def load_whole(self, tables, num_shards=1, shard_id=0):
        """Loads all tables."""
        for table, variables in enumerate(tables):
            self.load(table, variables, num_shards, shard_id)

    def retrieve(self, table, num_shards=1, shard_id=0):
        """Returns a shard of a table: its weights, then its slots."""
        return list(self._simulator.retrieve(table, num_shards, shard_id))

    def retrieve_whole(self, num_slots, num_shards=1, shard_id=0):
        """Returns all tables."""
        return [
            self.retrieve(table, num_shards, shard_id)
            for table in range(len(num_slots))
        ]

    def enqueue(
        self, op, lists, attrs=None, mode_override="unspecified", core=0
    ):
        """Enqueues what an Enqueue op would."""
        getattr(self._simulator, _ENQUEUE_METHODS[op])(
            **lists,
            **(attrs or {}),
            mode_override=mode_override,
            device_ordinal=core,
        )

    @classmethod
    def error(cls, code):
        """Returns the exception class of a status code."""
        return ERRORS[code][1]


BACKENDS = (RawOpsBackend, SimulatorBackend)
