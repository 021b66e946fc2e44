# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Functions over the engine of a TensorFlow task, each an op of its own."""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsFloat, SupportsIndex

import numpy as np
import tensorflow as tf

from tpuless import _options, _raw_ops
from tpuless.statistics_pb2 import Statistics, TableStatistics


class StatisticsTensors(NamedTuple):
    """Statistics as the tensors of a graph, or their values.

    Example:

    >>> import tensorflow as tf, tpuless
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     fetched = session.run(tpuless.statistics())
    >>> fetched.message().enqueues
    0
    """

    counter_names: Any  # string [num_counters].
    counters: Any  # int64 [num_counters].
    table_names: Any  # string [num_tables].
    # int64 [num_tables, 4]: vocabulary_size, dimension, bytes, loaded.
    table_values: Any

    def message(self) -> Statistics:
        """Returns the message that the values stand for."""
        names, counters, table_names, table_values = map(np.asarray, self)
        message = Statistics()
        for name, counter in zip(names, counters, strict=True):
            setattr(message, tf.compat.as_str(name), int(counter))
        for name, values in zip(table_names, table_values, strict=True):
            vocabulary_size, dimension, num_bytes, loaded = map(int, values)
            message.tables.append(
                TableStatistics(
                    name=tf.compat.as_str(name),
                    vocabulary_size=vocabulary_size,
                    dimension=dimension,
                    bytes=num_bytes,
                    loaded=bool(loaded),
                )
            )
        return message


@tf.autograph.experimental.do_not_convert
def statistics() -> Statistics | StatisticsTensors:
    """Returns what the engine of the current device's task has done.

    `with tf.device("/job:worker/task:1"):` asks the engine of another task.

    Returns:
      A `tpuless.Statistics` message; its counters are 0 and it has no tables
      where no engine is configured. In a graph or a `tf.function`, tensors
      whose values `StatisticsTensors.message()` makes one of.

    Example:

    >>> import tpuless
    >>> tpuless.statistics().enqueues
    0
    """
    tensors = StatisticsTensors(*_raw_ops.run_op("TpulessStatistics"))
    return tensors.message() if tf.executing_eagerly() else tensors


@tf.autograph.experimental.do_not_convert
def reset() -> tf.Operation | None:
    """Drops the engine of the current device's task, tables and all.

    Calls that wait in it end with `AbortedError`. After it another
    configuration can be set up. Does nothing where no engine is configured.

    Returns:
      None; in a graph, the operation that does it.

    Example:

    >>> import tpuless
    >>> tpuless.reset()
    """
    return _raw_ops.run_op("TpulessReset")


@tf.autograph.experimental.do_not_convert
def set_options(
    *,
    receive_timeout: SupportsFloat | None = None,
    queue_limit: SupportsIndex | None = None,
    out_of_range_ids: _options.OutOfRangeIds | None = None,
    experimental_optimizers: bool | None = None,
) -> tf.Operation | None:
    """Sets options of the current device's task, for engines now and later.

    Args:
      receive_timeout: Seconds that an op may wait for another one, such as
        Recv for its Enqueue; at first 60. Then it fails with
        `DeadlineExceededError` and says what is missing.
      queue_limit: Batches that a core may enqueue ahead; at first 256, and 0
        is no limit.
      out_of_range_ids: What Enqueue does with ids outside their table:
        'error', as at first, refuses the batch; 'skip' leaves them out,
        with their weights.
      experimental_optimizers: Whether ConfigureTPUEmbedding accepts
        optimizers whose formula no public text fixes; at first not.

    Returns:
      None; in a graph, the operation that does it.

    Raises:
      ValueError: A value is out of its range.

    Example:

    >>> import tpuless
    >>> tpuless.set_options(receive_timeout=60, out_of_range_ids="error")
    """
    numbers = _options.as_numbers(
        receive_timeout=receive_timeout,
        queue_limit=queue_limit,
        out_of_range_ids=out_of_range_ids,
        experimental_optimizers=experimental_optimizers,
    )
    names = tf.constant([*numbers], tf.string)
    values = tf.constant([*numbers.values()], tf.float64)
    return _raw_ops.run_op("TpulessSetOptions", names=names, values=values)


@tf.autograph.experimental.do_not_convert
def abandon_step() -> tf.Operation | None:
    """Gives up the oldest step that is not complete, on all cores.

    Its batches and gradients are dropped; tables stay as before it, and ops
    that wait for it end with `AbortedError`. For a step that cannot go on,
    as when one core's program has failed.

    Returns:
      None; in a graph, the operation that does it.

    Raises:
      tf.errors.NotFoundError: No step is open.
      tf.errors.FailedPreconditionError: No engine is configured.

    Example:

    >>> import tpuless
    >>> tpuless.reset()
    >>> try:
    ...     tpuless.abandon_step()
    ... except tf.errors.FailedPreconditionError:
    ...     print("nothing is configured")
    nothing is configured
    """
    return _raw_ops.run_op("TpulessAbandonStep")


def is_active() -> bool:
    """Returns whether the embedding ops run on the kernels of this package.

    False where TensorFlow has kernels of its own for them, as a build for
    TPUs: then the ops run on these, as if this package were not there.

    Example:

    >>> import tpuless
    >>> tpuless.is_active()
    True
    """
    return "CPU" in _raw_ops.kernel_devices("SendTPUEmbeddingGradients")
