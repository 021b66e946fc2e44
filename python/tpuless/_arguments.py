# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What an op definition says about the arguments of its op class."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tpuless._names import snake_name
from tpuless._scope import Scope

# What a float32 input takes; everything else is more likely a mistake.
_FLOATS = (tf.float32, tf.float64, tf.float16, tf.bfloat16)


class Options(NamedTuple):
    """One optional attr of one op, made by the op class's own method."""

    op_name: str
    attr: str
    value: Any


class Definition:
    """An op definition, sorted the way Java's generator sorts it."""

    def __init__(self, op_name: str) -> None:
        self.op_name = op_name
        op_def = tf.Graph().op_def_for_type(op_name)
        self.inputs = list(op_def.input_arg)
        self.attrs = {attr.name: attr for attr in op_def.attr}
        self.lengths = {  # Attrs that hold the length of an input list.
            arg.number_attr for arg in self.inputs if arg.number_attr
        }
        inferred = self.lengths | {
            name
            for arg in self.inputs
            for name in (arg.type_attr, arg.type_list_attr)
        }
        self.required, self.optional = [], []
        for attr in op_def.attr:
            if attr.HasField("default_value"):
                self.optional.append(attr.name)
            elif attr.name not in inferred:
                self.required.append(attr.name)

    def signature(self) -> inspect.Signature:
        """Returns the signature of `create` behind the scope."""
        kind = inspect.Parameter
        names = [arg.name for arg in self.inputs] + self.required
        return inspect.Signature(
            [
                *(
                    kind(snake_name(name), kind.POSITIONAL_OR_KEYWORD)
                    for name in names
                ),
                kind("options", kind.VAR_POSITIONAL),
                *(
                    kind(snake_name(name), kind.KEYWORD_ONLY, default=None)
                    for name in self.optional
                ),
            ]
        )

    def read_inputs(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the inputs; lists have the length that the op asks for."""
        inputs = {}
        for arg in self.inputs:
            label = snake_name(arg.name)
            value = arguments[label]
            if _is_list(arg):
                if isinstance(value, (tf.Tensor, tf.Variable, np.ndarray)):
                    raise TypeError(
                        f"{label} must be a list of tensors, got a single one"
                    )
                value = list(value)
            if arg.number_attr:
                minimum = self.attrs[arg.number_attr].minimum
                if len(value) < minimum:
                    # The words are TensorFlow's, as Java users see them.
                    raise ValueError(
                        f"Value for attr '{arg.number_attr}' of {len(value)}"
                        f" must be at least minimum {minimum}"
                    )
            inputs[arg.name] = value
        return inputs

    def read_attrs(
        self, arguments: Mapping[str, Any], inputs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Returns the attrs to set; a given length must be that of `inputs`."""
        values = {name: arguments[snake_name(name)] for name in self.required}
        for option in arguments.get("options", ()):
            if getattr(option, "op_name", None) != self.op_name:
                raise TypeError(
                    f"options must be made for {self.op_name}, got {option!r}"
                )
            values[option.attr] = option.value
        for name in self.optional:
            value = arguments.get(snake_name(name))
            if value is not None:
                values[name] = value
        for arg in self.inputs:
            if arg.number_attr in values:
                length = len(inputs[arg.name])
                given = values.pop(arg.number_attr)
                if given != length:
                    # TensorFlow's words again.
                    raise ValueError(
                        f"Inconsistent values for attr '{arg.number_attr}'"
                        f" {length} vs. {given}"
                    )
        return {
            name: _to_bytes(value, snake_name(name))
            if self.attrs[name].type == "string"
            else value
            for name, value in values.items()
        }

    def convert(
        self, scope: Scope, name: str, inputs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Returns the inputs as tensors; new nodes are named `name/...`."""
        env = scope.env()
        sub_scope = (
            env.name_scope(name + "/")
            if isinstance(env, tf.Graph)
            else contextlib.nullcontext()
        )

        def convert(arg: Any, value: Any, label: str) -> tf.Tensor:
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
            for arg in self.inputs:
                value, label = inputs[arg.name], snake_name(arg.name)
                tensors[arg.name] = (
                    [
                        convert(arg, item, f"{label}[{i}]")
                        for i, item in enumerate(value)
                    ]
                    if _is_list(arg)
                    else convert(arg, value, label)
                )
        return tensors


def _is_list(arg: Any) -> bool:
    return bool(arg.number_attr or arg.type_list_attr)


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
