# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the arguments of `create`: tensors and attrs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from tpuless._definition import Definition
from tpuless._names import snake_name
from tpuless._scope import Scope

# A tensor, what becomes one, or a wrapper that is an `Operand`.
TensorLike: TypeAlias = Any

# What a float32 input takes; everything else is more likely a mistake.
_FLOATS = (tf.float32, tf.float64, tf.float16, tf.bfloat16)


@dataclass(frozen=True)
class Options:
    """Optional attrs of one op; each method returns one more of them."""

    op_name: str
    values: Mapping[str, Any] = field(default_factory=dict)


def read_inputs(
    definition: Definition, arguments: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the inputs; lists have the length that the op asks for."""
    inputs = {}
    for arg in definition.inputs:
        label = snake_name(arg.name)
        value = arguments[label]
        if arg.number_attr:
            if not is_list(value):
                raise TypeError(
                    f"{label} must be a list of tensors, got a single one"
                )
            value = list(value)
            minimum = definition.attrs[arg.number_attr].minimum
            if len(value) < minimum:
                # The words are TensorFlow's, as Java users see them.
                raise ValueError(
                    f"Value for attr '{arg.number_attr}' of {len(value)}"
                    f" must be at least minimum {minimum}"
                )
        inputs[arg.name] = value
    return inputs


def read_attrs(
    definition: Definition,
    arguments: Mapping[str, Any],
    inputs: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns the attrs to set; lengths must be those of `inputs`."""
    values = {name: arguments[snake_name(name)] for name in definition.required}
    for options in arguments.get("options", ()):
        if getattr(options, "op_name", None) != definition.op_name:
            raise TypeError(
                f"options must be made for {definition.op_name},"
                f" got {options!r}"
            )
        values |= options.values
    for name in definition.optional:
        value = arguments.get(snake_name(name))
        if value is not None:
            values[name] = value
    for attr, length in _lengths(definition, inputs).items():
        _check_length(attr, length, values.pop(attr, length))
    return {
        name: _to_bytes(value, snake_name(name))
        if definition.attrs[name].type == "string"
        else value
        for name, value in values.items()
    }


def _lengths(
    definition: Definition, inputs: Mapping[str, Any]
) -> dict[str, int]:
    """Returns the lengths of lists of inputs, by the attrs that hold them."""
    lengths: dict[str, int] = {}
    for arg in definition.inputs:
        if arg.number_attr:
            length = len(inputs[arg.name])
            expected = lengths.setdefault(arg.number_attr, length)
            _check_length(arg.number_attr, expected, length)
    return lengths


def _check_length(attr: str, expected: int, length: int) -> None:
    if length != expected:
        # TensorFlow's words again.
        raise ValueError(
            f"Inconsistent values for attr '{attr}' {expected} vs. {length}"
        )


def convert(
    definition: Definition, scope: Scope, name: str, inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the inputs as tensors; new nodes are named `name/...`."""
    env = scope.env()
    sub_scope = (
        env.name_scope(name + "/")
        if isinstance(env, tf.Graph)
        else contextlib.nullcontext()
    )

    def convert(value: Any, arg: Any, label: str) -> tf.Tensor:
        dtype = tf.as_dtype(arg.type) if arg.type else None
        tensor = _to_tensor(value, dtype, label)
        scope.check_input(tensor, label)
        if isinstance(value, tf.Variable) and isinstance(env, tf.Graph):
            read = tensor.op
            # It must see what a control input of the op assigns.
            if read.name.startswith(name + "/"):
                scope.add_control_inputs(read)
        return _to_float(tensor, label) if dtype == tf.float32 else tensor

    tensors = {}
    with sub_scope:
        for arg in definition.inputs:
            value, label = inputs[arg.name], snake_name(arg.name)
            if arg.number_attr:
                tensors[arg.name] = [
                    convert(item, arg, f"{label}[{i}]")
                    for i, item in enumerate(_typed(definition, arg, value))
                ]
            else:
                tensors[arg.name] = convert(value, arg, label)
    return tensors


def _typed(
    definition: Definition, arg: Any, values: Sequence[Any]
) -> Sequence[Any]:
    """Returns `values` with a dtype for empty lists, which have none."""
    if not arg.type_attr:
        return values
    dtypes = [value.dtype for value in values if hasattr(value, "dtype")]
    dtype = (
        dtypes[0]
        if dtypes
        else definition.attrs[arg.type_attr].default_value.type
    )
    return [
        np.zeros(0, tf.as_dtype(dtype).as_numpy_dtype)
        if isinstance(value, (list, tuple)) and not value
        else value
        for value in values
    ]


def is_list(value: Any) -> bool:
    """Returns whether `value` is several tensors or values, not a single."""
    single = (tf.Tensor, tf.Variable, np.ndarray, str, bytes)
    return isinstance(value, Iterable) and not isinstance(value, single)


def _to_bytes(value: Any, label: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{label} must be bytes, str or a message, got {value!r}")


def _to_tensor(value: Any, dtype: tf.DType | None, label: str) -> tf.Tensor:
    """Returns `value` as a tensor; for float32 it may yet be another float."""
    if isinstance(value, tf.Tensor):
        return value
    if dtype != tf.float32:
        return tf.convert_to_tensor(value, dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        _check_float(tf.as_dtype(value.dtype), label)
        value = value.astype(np.float32)  # One node, not two.
    return tf.convert_to_tensor(value, dtype_hint=tf.float32)


def _to_float(tensor: tf.Tensor, label: str) -> tf.Tensor:
    _check_float(tensor.dtype, label)
    if tensor.dtype == tf.float32:
        return tensor
    return tf.cast(tensor, tf.float32)


def _check_float(dtype: tf.DType, label: str) -> None:
    if dtype not in _FLOATS:
        raise ValueError(
            f"{label} must have a dtype of"
            f" {', '.join(repr(each.name) for each in _FLOATS)},"
            f" got '{dtype.name}'"
        )
