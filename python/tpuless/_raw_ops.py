# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What `tf.raw_ops` lacks: ops that have no wrapper there.

Here are private names of TensorFlow, those that its own wrappers call. The
wrappers that `tf.load_op_library` makes would do, but it makes them only for
whoever is the first to load a library.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import (
    kernels,
    op_def_library,
    op_def_registry,
)


def op_def(op_name: str) -> Any:
    """Returns the OpDef of an op, None if this TensorFlow has none."""
    return op_def_registry.get(op_name)


def run_op(op_name: str, /, **arguments: Any) -> Any:
    """Runs an op, or adds it to a graph or function.

    Args:
      op_name: its type.
      **arguments: inputs and attrs as `tf.raw_ops` names them, and `name`, of
        the node.

    Returns:
      The outputs, in one list. For an op without: in a graph the operation,
      for a session to run, else None.
    """
    function = getattr(tf.raw_ops, op_name, None)
    result = (function or functools.partial(_apply, op_name))(**arguments)
    if isinstance(result, tf.Operation):
        # That of a function runs with it.
        return None if tf.inside_function() else result
    return None if result is None else tf.nest.flatten(result) or None


def _apply(op_name: str, name: str | None = None, **arguments: Any) -> Any:
    """Does what the function of `tf.raw_ops` would; inputs are tensors."""
    definition = op_def(op_name)
    if not tf.executing_eagerly():
        inferred = {arg.type_attr for arg in definition.input_arg}
        for attr in definition.attr:
            if attr.HasField("default_value") and attr.name not in inferred:
                arguments.setdefault(attr.name, None)  # Means the default.
        return op_def_library.apply_op(op_name, name=name, **arguments)
    inputs: list[tf.Tensor] = []
    attrs: dict[str, Any] = {}
    for arg in definition.input_arg:
        value = arguments.pop(arg.name)
        tensors = value if arg.number_attr else [value]
        if arg.number_attr:
            attrs[arg.number_attr] = len(tensors)
        if arg.type_attr:
            attrs[arg.type_attr] = tensors[0].dtype.as_datatype_enum
        inputs += tensors
    for key, value in arguments.items():
        attrs[key] = getattr(value, "as_datatype_enum", value)
    num_outputs = sum(
        attrs[arg.number_attr] if arg.number_attr else 1
        for arg in definition.output_arg
    )
    flat = tuple(itertools.chain.from_iterable(attrs.items()))
    return execute.execute(
        op_name, num_outputs, inputs, flat, context.context()
    )


def kernel_devices(name: str) -> set[str]:
    """Returns the types of devices that have a kernel for an op."""
    registered = kernels.get_registered_kernels_for_op(name)
    return {kernel.device_type for kernel in registered.kernel}
