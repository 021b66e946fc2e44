# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What an operation of a graph was built from, as `Inputs` of op classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import tensorflow as tf

from tpuless._definition import by_name
from tpuless._names import java_name, snake_name, with_java_names

if TYPE_CHECKING:
    from tpuless._factory import RawOp


class AttributeMetadata(NamedTuple):
    """The form of an attr; the sizes are -1 where they mean nothing."""

    is_list: bool
    list_size: int
    type: str
    total_size: int


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
        values = by_name(
            self._op_class._definition.inputs,
            operation.inputs,
            operation.get_attr,
        )
        for name in self.attribute_names():
            values[name] = operation.get_attr(name)
        for name, value in values.items():
            setattr(self, snake_name(name), value)
            setattr(self, java_name(name), value)

    def get_outputs(self) -> RawOp:
        """Returns `outputs`."""
        return self.outputs

    def attribute_names(self) -> frozenset[str]:
        """Returns the names of all attrs but the lengths of lists."""
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
        # No field is set in an empty list.
        size = max(
            (len(each) for _, each in value.list.ListFields()), default=0
        )
        return AttributeMetadata(True, size, kind[5:-1], total)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RawOpInputs):
            return NotImplemented
        return self._operation is other._operation

    def __hash__(self) -> int:
        return hash(self._operation)

    def __repr__(self) -> str:
        return f"Inputs of {self.outputs}"
