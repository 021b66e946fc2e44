# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Op classes as TensorFlow Java generates them, made from op definitions.

A class below `RawOp` names its op and says what the op is for; `create`,
options, `Inputs` and the methods of the outputs follow from the definition
that TensorFlow has registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, TypeVar

import tensorflow as tf

from tpuless import _arguments, _op_docs, _op_methods, _raw_ops
from tpuless._arguments import Options
from tpuless._definition import Definition, by_name
from tpuless._names import java_name, snake_name, with_java_names
from tpuless._op_inputs import RawOpInputs
from tpuless._scope import EagerSession, Environment, Scope

_T = TypeVar("_T")
_RawOp = TypeVar("_RawOp", bound="RawOp")


@dataclass(frozen=True, eq=False)
class EagerOperation:
    """What is left of an op that ran eagerly; equal to itself only."""

    name: str
    type: str
    env: EagerSession
    outputs: Sequence[tf.Tensor] = field(default=(), repr=False)
    attrs: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def get_attr(self, name: str) -> Any:
        """Returns an attr that was given."""
        return self.attrs[name]


Operation: TypeAlias = tf.Operation | EagerOperation


@with_java_names
class RawOp:
    """An operation of one type. Base of all op classes.

    Two wrappers are equal if they wrap the same operation, whatever their
    classes. A subclass sets `OP_NAME`; its own name is the default name of
    the node, and the two may differ. If its docstring is one line, the rest
    is made from the op definition.
    """

    OP_NAME: ClassVar[str]
    Inputs: ClassVar[type[RawOpInputs]]
    create: ClassVar[Any]  # The method that builds the op.
    _definition: ClassVar[Definition]
    _signature: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        if not hasattr(cls, "OP_NAME"):
            return  # A kind of ops.
        cls._definition = Definition(cls.OP_NAME)
        cls._signature = inspect.Signature(
            cls._definition.parameters(f"{cls.__name__}.Options")
        )
        cls.__doc__ = _op_docs.complete(cls.__doc__ or "", cls._definition)
        cls.create = _op_methods.create_method(cls)
        _add_options(cls)
        _add_outputs(cls)
        _add_inputs(cls)

    def __init__(self, operation: Operation) -> None:
        """Wraps an operation that exists.

        Args:
          operation: of a graph, or what `op()` returned in eager mode.

        Raises:
          ValueError: `operation` is of another type.
        """
        if operation.type != self.OP_NAME:
            raise ValueError(
                f"operation '{operation.name}' must be of type"
                f" '{self.OP_NAME}', got '{operation.type}'"
            )
        self._operation = operation

    @classmethod
    def _create(
        cls: type[_RawOp],
        scope: Scope,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> _RawOp:
        definition = cls._definition
        arguments = cls._signature.bind(*args, **kwargs).arguments
        name = scope.make_op_name(cls.__name__)
        inputs = _arguments.read_inputs(definition, arguments)
        attrs = _arguments.read_attrs(definition, arguments, inputs)
        env = scope.env()
        with scope.building(name):
            inputs = _arguments.convert(definition, scope, name, inputs)
            if isinstance(env, EagerSession):
                outputs = _raw_ops.run_op(
                    cls.OP_NAME, **inputs, **attrs, name=name
                )
                return cls(
                    EagerOperation(name, cls.OP_NAME, env, outputs or (), attrs)
                )
            # The slash keeps the name as it is.
            _raw_ops.run_op(cls.OP_NAME, **inputs, **attrs, name=name + "/")
            operation = env.get_operation_by_name(name)
            scope.add_control_inputs(operation)
        scope.on_op_created(operation)
        return cls(operation)

    def _outputs(self) -> dict[str, Any]:
        return by_name(
            self._definition.outputs,
            self._operation.outputs,
            self._operation.get_attr,
        )

    def op(self) -> Operation:
        """Returns the operation; in eager mode a record of it."""
        return self._operation

    def env(self) -> Environment:
        """Returns the graph or eager session that the operation is in."""
        if isinstance(self._operation, EagerOperation):
            return self._operation.env
        return self._operation.graph

    def equals(self, other: object) -> bool:
        """Returns whether `other` wraps the same operation."""
        return self == other

    def hash_code(self) -> int:
        """Returns the hash of the operation."""
        return hash(self)

    def to_string(self) -> str:
        """Returns type and name, like `<Type 'scope/name'>`."""
        return f"<{self._operation.type} '{self._operation.name}'>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RawOp):
            return NotImplemented
        return self._operation is other._operation

    def __hash__(self) -> int:
        return hash(self._operation)

    def __repr__(self) -> str:
        return self.to_string()


@with_java_names
class Operand(RawOp):
    """An op with a single output, which it stands for as an input."""

    def as_output(self) -> tf.Tensor:
        """Returns the output."""
        return self._operation.outputs[0]

    def __tf_tensor__(
        self, dtype: tf.DType | None = None, name: str | None = None
    ) -> tf.Tensor:
        return tf.convert_to_tensor(self.as_output(), dtype, name=name)


class IterableOp(RawOp):
    """An op with one list of outputs, which it iterates over."""

    def __iter__(self) -> Iterator[tf.Tensor]:
        return iter(self._operation.outputs)


def make_op_class(
    name: str, op_name: str, summary: str, module: str
) -> type[RawOp]:
    """Returns the class of an op, as TensorFlow Java has it.

    Args:
      name: of the class.
      op_name: the type of the op.
      summary: the first line of the docstring.
      module: where the class is found.
    """
    outputs = _raw_ops.op_def(op_name).output_arg
    base = RawOp
    if len(outputs) == 1:
        base = IterableOp if outputs[0].number_attr else Operand
    namespace = {"OP_NAME": op_name, "__doc__": summary, "__module__": module}
    return type(name, (base,), namespace)


def _add_options(cls: type[RawOp]) -> None:
    definition = cls._definition
    if not definition.optional:
        return
    options = _nested(cls, Options, "Options", "Optional attrs, in a chain.")
    for attr in definition.optional:
        methods = _op_methods.option_methods(options, definition, attr)
        for name in (snake_name(attr), java_name(attr)):
            setattr(options, name, methods[0])
            setattr(cls, name, staticmethod(methods[1]))


def _add_outputs(cls: type[RawOp]) -> None:
    for arg in cls._definition.outputs:
        method = _op_methods.output_method(arg)
        setattr(cls, snake_name(arg.name), method)
        setattr(cls, java_name(arg.name), method)


def _add_inputs(cls: type[RawOp]) -> None:
    doc = f"What a {cls.OP_NAME} operation was built from."
    inputs = _nested(cls, RawOpInputs, "Inputs", doc)
    inputs._op_class = cls
    inputs.__annotations__ = {"outputs": cls.__name__}
    for name, read in cls._definition.read_types().items():
        inputs.__annotations__[snake_name(name)] = read
        inputs.__annotations__[java_name(name)] = read


def _nested(cls: type[RawOp], base: type[_T], name: str, doc: str) -> type[_T]:
    """Returns a new class `cls.name` below `base`."""
    namespace = {
        "__doc__": doc,
        "__module__": cls.__module__,
        "__qualname__": f"{cls.__qualname__}.{name}",
    }
    nested = type(name, (base,), namespace)
    setattr(cls, name, nested)
    return nested
