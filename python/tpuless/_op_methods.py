# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The methods of an op class that follow from its definition."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tpuless import _arguments
from tpuless._arguments import Options
from tpuless._definition import Definition, parameter, tensor_type
from tpuless._names import snake_name
from tpuless._scope import Scope

_CREATE_DOC = """\
Adds the op to the graph of `scope`, or runs it in eager mode. The name is used
up even if that fails, as in Java. An input of float32 takes every float type,
NumPy and Python values. Options may be keywords, too.

Returns:
  The wrapper of the new operation.

Raises:
  TypeError: an argument is missing, too many, or of another kind.
  ValueError: an argument does not fit, or the name is taken.
  tf.errors.OpError: in eager mode, what the kernel returned."""


def create_method(cls: Any) -> Any:
    """Returns the class method that builds the op of `cls`."""

    def create(cls: Any, scope: Scope, *args: Any, **kwargs: Any) -> Any:
        return cls._create(scope, args, kwargs)

    return classmethod(
        with_signature(
            create,
            "create",
            f"{inspect.cleandoc(cls.__doc__)}\n\n{_CREATE_DOC}",
            [
                parameter("cls"),
                parameter("scope", "Scope"),
                *cls._signature.parameters.values(),
            ],
            cls.__name__,
        )
    )


def option_methods(
    options: type[Options], definition: Definition, attr: str
) -> tuple[Any, Any]:
    """Returns the method of `options` that sets an attr, and the static one."""

    def set_one(self: Options, value: Any) -> Options:
        return replace(self, values={**self.values, attr: value})

    def set_many(self: Options, *values: Any) -> Options:
        is_one_list = len(values) == 1 and _arguments.is_list(values[0])
        return set_one(self, [*values[0]] if is_one_list else [*values])

    given = definition.given_type(attr)
    if given.startswith("Sequence"):
        method: Any = set_many
        value = inspect.Parameter(
            "values",
            inspect.Parameter.VAR_POSITIONAL,
            annotation=f"{given} | {given[len('Sequence[') : -1]}",
        )
    else:
        method = set_one
        value = parameter("value", given)

    def start(*args: Any, **kwargs: Any) -> Options:
        return method(options(definition.op_name), *args, **kwargs)

    name, doc = snake_name(attr), f"Sets attr '{attr}'."
    returns = options.__qualname__
    return (
        with_signature(method, name, doc, [parameter("self"), value], returns),
        with_signature(start, name, doc, [value], returns),
    )


def output_method(arg: Any) -> Any:
    """Returns the method that returns an output."""

    def output(self: Any) -> Any:
        return self._outputs()[arg.name]

    return with_signature(
        output,
        snake_name(arg.name),
        f"Returns output '{arg.name}'.",
        [parameter("self")],
        tensor_type(arg),
    )


def with_signature(
    function: Any,
    name: str,
    doc: str,
    parameters: Sequence[inspect.Parameter],
    returns: str,
) -> Any:
    """Returns `function` as `help` shall show it; annotations are text."""
    function.__name__ = name
    function.__doc__ = doc
    function.__signature__ = inspect.Signature(
        parameters, return_annotation=returns
    )
    return function
