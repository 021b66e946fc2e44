# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""An op definition, sorted the way TensorFlow Java's generator sorts it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tpuless import _raw_ops
from tpuless._names import snake_name

# Python's types of the types of attrs: as given, and as read back.
_GIVEN = {
    "bool": "bool",
    "int": "int",
    "list(int)": "Sequence[int]",
    "list(string)": "Sequence[bytes | str]",
    "string": "bytes | str | Message",
    "type": "tf.DType",
}
_READ = {
    **_GIVEN,
    "list(int)": "list[int]",
    "list(string)": "list[bytes]",
    "string": "bytes",
}


class Definition:
    """Which arguments `create` has, which options, and which outputs.

    Arguments are the inputs, then every attr that has no default and does not
    follow from the inputs. Attrs with a default are options, but for types of
    inputs.
    """

    def __init__(self, op_name: str) -> None:
        self.op_name = op_name
        op_def = _raw_ops.op_def(op_name)
        self.inputs = list(op_def.input_arg)
        self.outputs = list(op_def.output_arg)
        self.attrs = {attr.name: attr for attr in op_def.attr}
        self.lengths = {  # Attrs that hold the length of a list of tensors.
            arg.number_attr for arg in self.inputs + self.outputs
        }
        types = {arg.type_attr for arg in self.inputs}
        lengths = {arg.number_attr for arg in self.inputs}
        self.required, self.optional = [], []
        for attr in op_def.attr:
            if attr.name in types:
                continue
            if attr.HasField("default_value"):
                self.optional.append(attr.name)
            elif attr.name not in lengths:
                self.required.append(attr.name)

    def parameters(self, options_type: str) -> list[inspect.Parameter]:
        """Returns the parameters of `create` behind the scope."""
        kind = inspect.Parameter
        types = {arg.name: _given_tensor(arg) for arg in self.inputs}
        types |= {name: self.given_type(name) for name in self.required}
        parameters = [
            parameter(snake_name(name), given) for name, given in types.items()
        ]
        if self.optional:
            parameters.append(
                kind("options", kind.VAR_POSITIONAL, annotation=options_type)
            )
        for name in self.optional:
            given = f"{self.given_type(name)} | None"
            parameters.append(
                kind(
                    snake_name(name),
                    kind.KEYWORD_ONLY,
                    default=None,
                    annotation=given,
                )
            )
        return parameters

    def given_type(self, attr: str) -> str:
        """Returns the Python type of a value for an attr."""
        return _GIVEN[self.attrs[attr].type]

    def read_types(self) -> dict[str, str]:
        """Returns the Python types of what `Inputs` reads, by name."""
        types = {arg.name: tensor_type(arg) for arg in self.inputs}
        for name, attr in self.attrs.items():
            if name not in self.lengths:
                types[name] = _READ[attr.type]
        return types


def parameter(
    name: str, annotation: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    """Returns a parameter that may be given by position or name."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, annotation=annotation)


def tensor_type(arg: Any) -> str:
    """Returns the Python type of an input or output that is read."""
    return "list[tf.Tensor]" if arg.number_attr else "tf.Tensor"


def by_name(
    args: Sequence[Any], tensors: Sequence[Any], get_attr: Callable[[str], Any]
) -> dict[str, Any]:
    """Returns the inputs or outputs of an op by name, lists as lists.

    Args:
      args: what the op definition says about them.
      tensors: all of them, in order.
      get_attr: returns the value of an attr of the operation.
    """
    flat = iter(tensors)
    return {
        arg.name: list(itertools.islice(flat, get_attr(arg.number_attr)))
        if arg.number_attr
        else next(flat)
        for arg in args
    }


def _given_tensor(arg: Any) -> str:
    return "Iterable[TensorLike]" if arg.number_attr else "TensorLike"
