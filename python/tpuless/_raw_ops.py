# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What `tf.raw_ops` lacks: ops that have no wrapper there.

Here are private names of TensorFlow, those that its own wrappers call. The
wrappers that `tf.load_op_library` makes would do, but it makes them only for
whoever is the first to load a library.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import kernels


def run_op(
    name: str,
    inputs: Sequence[tf.Tensor] = (),
    output_dtypes: Sequence[tf.DType] = (),
    attrs: Mapping[str, int | bytes] | None = None,
) -> Any:
    """Runs an op, or adds it to a graph or function.

    Returns:
      The outputs. For an op without: in a graph the operation, for a session
      to run, else None.
    """
    attrs = attrs or {}
    if tf.executing_eagerly():
        flat = tuple(itertools.chain.from_iterable(attrs.items()))
        outputs = execute.execute(
            name, len(output_dtypes), [*inputs], flat, context.context()
        )
        return outputs or None
    graph = tf.compat.v1.get_default_graph()
    operation = graph.create_op(
        name,
        [*inputs],
        [*output_dtypes],
        name=name,
        attrs={
            key: attr_value_pb2.AttrValue(s=value)
            if isinstance(value, bytes)
            else attr_value_pb2.AttrValue(i=value)
            for key, value in attrs.items()
        },
    )
    if tf.inside_function():
        return operation.outputs or None  # It runs with the function.
    return operation.outputs or operation


def kernel_devices(name: str) -> set[str]:
    """Returns the types of devices that have a kernel for an op."""
    registered = kernels.get_registered_kernels_for_op(name)
    return {kernel.device_type for kernel in registered.kernel}
