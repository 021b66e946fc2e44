# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Builds serialized TPUEmbeddingConfigurations for tests."""

from __future__ import annotations

import requires
from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2

_Configuration = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration

INFERENCE = _Configuration.INFERENCE
TRAINING = _Configuration.TRAINING
BACKWARD_PASS_ONLY = _Configuration.BACKWARD_PASS_ONLY
DIV = _Configuration.DIV_DEFAULT
MOD = _Configuration.MOD

SGD = "stochastic_gradient_descent"


def _set_limits(message, limits):
    lower, upper = limits
    if lower is not None:
        message.lower.value = lower
    if upper is not None:
        message.upper.value = upper


def _set_hyperparameters(message, hyperparameters):
    for field, value in hyperparameters.items():
        if field == "step_counter":
            message.step_counter.tag = value
        else:
            setattr(message, field, value)


def table(
    name="t",
    vocabulary_size=3,
    dimension=2,
    num_features=1,
    *,
    optimizer=SGD,
    hyperparameters=None,
    learning_rate=0.1,
    tag=None,
    clip_weights=None,
    clip_gradients=None,
    weight_decay=0.0,
    decay_times_learning_rate=False,
    accumulate=True,
    quantization=None,
):
    """Returns a TableDescriptor.

    Limits are (lower, upper), None where there is none; `quantization` is
    (lower, upper, num_buckets). A `tag` takes the place of `learning_rate`;
    a `step_counter` among the hyperparameters is a tag, too. An `optimizer`
    of None leaves it out. Skips the test where TensorFlow lacks the optimizer.
    """
    message = _Configuration.TableDescriptor(
        name=name,
        vocabulary_size=vocabulary_size,
        dimension=dimension,
        num_features=num_features,
    )
    parameters = message.optimization_parameters
    if optimizer is not None:
        requires.optimizers(optimizer)
        getattr(parameters, optimizer).SetInParent()
        _set_hyperparameters(
            getattr(parameters, optimizer), hyperparameters or {}
        )
    if tag is None:
        parameters.learning_rate.constant = learning_rate
    else:
        parameters.learning_rate.dynamic.tag = tag
    if clip_weights:
        _set_limits(parameters.clipping_limits, clip_weights)
    if clip_gradients:
        _set_limits(parameters.gradient_clipping_limits, clip_gradients)
    if weight_decay:
        parameters.weight_decay_factor = weight_decay
    parameters.multiply_weight_decay_factor_by_learning_rate = (
        decay_times_learning_rate
    )
    if not accumulate:
        parameters.gradient_accumulation_status = 2  # DISABLED
    if quantization:
        lower, upper, num_buckets = quantization
        parameters.simulated_quantization.enabled = True
        parameters.simulated_quantization.num_buckets = num_buckets
        _set_limits(
            parameters.simulated_quantization.clipping_limits, (lower, upper)
        )
    return message


def config(
    *tables,
    batch_size=None,
    features=(),
    mode=TRAINING,
    cores=1,
    hosts=1,
    sharding=DIV,
    pipelined=False,
) -> bytes:
    """Returns a serialized configuration.

    Args:
      *tables: Results of table(); by default one of them.
      batch_size: Samples a core; by default 2, or none with `features`.
      features: (name, table, input shape) of each feature_descriptor.
      mode: INFERENCE, TRAINING or BACKWARD_PASS_ONLY.
      cores: Of all hosts.
      hosts: How many there are.
      sharding: DIV or MOD.
      pipelined: Whether a step's update runs after the next step's lookup.
    """
    if batch_size is None:
        batch_size = 0 if features else 2
    message = _Configuration(
        table_descriptor=tables or [table()],
        mode=mode,
        batch_size_per_tensor_core=batch_size,
        num_hosts=hosts,
        num_tensor_cores=cores,
        sharding_strategy=sharding,
        pipeline_execution_with_tensor_core=pipelined,
    )
    for name, table_id, shape in features:
        message.feature_descriptor.add(
            name=name, table_id=table_id, input_shape=shape
        )
    return message.SerializeToString(deterministic=True)


def parse(serialized: bytes):
    """Returns the message that `serialized` stands for."""
    return _Configuration.FromString(serialized)


def output_shapes(serialized: bytes) -> list[tuple[int, ...]]:
    """Returns the shapes of the outputs of RecvTPUEmbeddingActivations."""
    message = parse(serialized)
    tables = message.table_descriptor
    if message.feature_descriptor:
        return [
            (*feature.input_shape, tables[feature.table_id].dimension)
            for feature in message.feature_descriptor
        ]
    batch_size = message.batch_size_per_tensor_core
    return [
        (batch_size * table.num_features, table.dimension) for table in tables
    ]
