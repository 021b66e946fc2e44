# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Op classes as TensorFlow Java generates them, made from op definitions.

A class below `RawOp` names its op and says what the op is for; `create`,
options, `Inputs` and the method of `Ops.tpu` follow from the definition that
TensorFlow has registered. Java's order of arguments does too: the inputs,
then every attr without a default that the inputs do not decide. Attrs with a
default are options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import tensorflow as tf

from tpuless._arguments import Definition, Options
from tpuless._names import java_name, snake_name, with_java_names
from tpuless._scope import EagerSession, Environment, Scope, TpuOps

_RawOp = TypeVar("_RawOp", bound="RawOp")


@dataclass(frozen=True, eq=False)
class EagerOperation:
    """What is left of an op that ran eagerly; equal to itself only."""

    name: str
    type: str
    env: EagerSession


Operation: TypeAlias = tf.Operation | EagerOperation


class AttributeMetadata(NamedTuple):
    """The form of an attr; the sizes are -1 where they mean nothing."""

    is_list: bool
    list_size: int
    type: str
    total_size: int


@with_java_names
class RawOp:
    """An operation of one type. Base of all op classes.

    Two wrappers are equal if they wrap the same operation, whatever their
    classes. A subclass sets `OP_NAME`; its own name is the default name of
    the node, and the two may differ.
    """

    OP_NAME: ClassVar[str]
    Inputs: ClassVar[type[RawOpInputs]]
    _definition: ClassVar[Definition]
    _signature: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        cls._definition = Definition(cls.OP_NAME)
        cls._signature = cls._definition.signature()
        cls.Inputs = type(
            "Inputs",
            (RawOpInputs,),
            {
                "__doc__": f"What a {cls.OP_NAME} operation was built from.",
                "__module__": cls.__module__,
                "__qualname__": f"{cls.__qualname__}.Inputs",
                "_op_class": cls,
            },
        )
        for attr in cls._definition.optional:
            option = _option_method(cls.OP_NAME, attr)
            setattr(cls, snake_name(attr), staticmethod(option))
            setattr(cls, java_name(attr), staticmethod(option))
        endpoint = _endpoint(cls)
        setattr(TpuOps, endpoint.__name__, endpoint)
        java_endpoint = cls.__name__[0].lower() + cls.__name__[1:]
        setattr(TpuOps, java_endpoint, endpoint)

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
    def create(
        cls: type[_RawOp], scope: Scope, *args: Any, **kwargs: Any
    ) -> _RawOp:
        """Adds the op to the scope's graph, or runs it in eager mode.

        The name is used up even if anything below fails, as in Java.

        Args:
          scope: where and under which name to build it.
          *args: the inputs, the attrs without default, in the order of the
            op definition, then any number of options.
          **kwargs: the same by name, and options by name. An input of
            float32 takes every float type, NumPy and Python values.

        Returns:
          The wrapper of the new operation.

        Raises:
          ValueError: an argument does not fit, or the name is taken.
          tf.errors.OpError: in eager mode, what the kernel returned.
        """
        arguments = cls._signature.bind(*args, **kwargs).arguments
        name = scope.make_op_name(cls.__name__)
        inputs = cls._definition.read_inputs(arguments)
        attrs = cls._definition.read_attrs(arguments, inputs)
        function = getattr(tf.raw_ops, cls.OP_NAME)
        env = scope.env()
        with scope.building(name):
            inputs = cls._definition.convert(scope, name, inputs)
            if isinstance(env, EagerSession):
                function(**inputs, **attrs, name=name)
                return cls(EagerOperation(name, cls.OP_NAME, env))
            # The slash keeps the name as it is.
            function(**inputs, **attrs, name=name + "/")
            operation = env.get_operation_by_name(name)
            scope.add_control_inputs(operation)
        scope.on_op_created(operation)
        return cls(operation)

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
class RawOpInputs:
    """What an operation of a graph was built from, read back.

    The attributes are named like the arguments of `create`: a list of
    tensors, a tensor, or the value of an attr (a string attr as bytes).
    `outputs` is the wrapper of the operation.
    """

    outputs: RawOp
    _op_class: ClassVar[type[RawOp]]

    def __init__(self, operation: tf.Operation) -> None:
        """Reads an operation.

        Args:
          operation: of a graph; an eager one does not keep its inputs.

        Raises:
          TypeError: `operation` is not of a graph.
          ValueError: `operation` is of another type.
        """
        if not isinstance(operation, tf.Operation):
            raise TypeError(f"operation must be of a graph, got {operation!r}")
        self._operation = operation
        self.outputs = self._op_class(operation)
        definition = self._op_class._definition
        values: dict[str, Any] = {}
        flat = iter(operation.inputs)
        for arg in definition.inputs:
            if arg.number_attr:
                length = operation.get_attr(arg.number_attr)
                values[arg.name] = [next(flat) for _ in range(length)]
            elif arg.type_list_attr:
                types = operation.get_attr(arg.type_list_attr)
                values[arg.name] = [next(flat) for _ in types]
            else:
                values[arg.name] = next(flat)
        for name in self.attribute_names():
            values[name] = operation.get_attr(name)
        for name, value in values.items():
            setattr(self, snake_name(name), value)
            setattr(self, java_name(name), value)

    def get_outputs(self) -> RawOp:
        """Returns `outputs`."""
        return self.outputs

    def attribute_names(self) -> frozenset[str]:
        """Returns the names of all attrs but the lengths of input lists."""
        definition = self._op_class._definition
        return frozenset(definition.attrs) - definition.lengths

    def attribute_value(self, name: str) -> tf.compat.v1.AttrValue:
        """Returns the message that holds an attr."""
        if name not in self._op_class._definition.attrs:
            raise ValueError(f"unknown attr '{name}' of {self!r}")
        return self._operation.node_def.attr[name]

    def attribute_values(self) -> dict[str, tf.compat.v1.AttrValue]:
        """Returns the messages of all `attribute_names`."""
        return {
            name: self.attribute_value(name)
            for name in sorted(self.attribute_names())
        }

    def attribute_metadata(self, name: str) -> AttributeMetadata:
        """Returns type and size of an attr."""
        value = self.attribute_value(name)
        kind = self._op_class._definition.attrs[name].type
        strings = value.list.s if value.HasField("list") else [value.s]
        total = sum(map(len, strings)) if "string" in kind else -1
        if not value.HasField("list"):
            return AttributeMetadata(False, -1, kind, total)
        size = max(len(items) for _, items in value.list.ListFields())
        return AttributeMetadata(True, size, kind[5:-1], total)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RawOpInputs):
            return NotImplemented
        return self._operation is other._operation

    def __hash__(self) -> int:
        return hash(self._operation)

    def __repr__(self) -> str:
        return f"Inputs of {self.outputs}"


def _option_method(op_name: str, attr: str) -> Callable[[Any], Options]:
    def option(value: Any) -> Options:
        return Options(op_name, attr, value)

    option.__name__ = snake_name(attr)
    option.__doc__ = f"Returns the option that sets attr '{attr}'."
    return option


def _endpoint(cls: type[RawOp]) -> Callable[..., Any]:
    def endpoint(self: TpuOps, *args: Any, **kwargs: Any) -> Any:
        return cls.create(self._scope, *args, **kwargs)

    endpoint.__name__ = snake_name(cls.__name__)
    endpoint.__doc__ = cls.__doc__
    return endpoint


class SendTPUEmbeddingGradients(RawOp):
    """Updates the embedding tables with the gradients of the activations.

    Arguments of `create` after the scope:
      inputs: gradients, one for each activation that
        `RecvTPUEmbeddingActivations` returned, in its order and shapes.
      learning_rates: one scalar for each tag of a dynamic learning rate;
        empty if all rates are constant.
      config: the `TPUEmbeddingConfiguration`, as a message or serialized.
        A `str` is encoded as UTF-8, as in Java; it cannot hold most
        serialized messages.
      nn: option; the length of `learning_rates`, if given at all.

    Example:
        >>> scope = tpuless.Ops.create(tf.Graph()).scope()
        >>> with scope.env().as_default():
        ...     gradient = tf.zeros([8, 16])
        >>> tpuless.SendTPUEmbeddingGradients.create(
        ...     scope, [gradient], [], b""
        ... )
        <SendTPUEmbeddingGradients 'SendTPUEmbeddingGradients'>
    """

    OP_NAME = "SendTPUEmbeddingGradients"
