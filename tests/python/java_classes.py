# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow Java's op classes look like, and arguments for each."""

from __future__ import annotations

import functools
import pathlib
import re
from dataclasses import dataclass

import configs
import nodes
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.python.framework import op_def_library, op_def_registry

# Of two tables, as every list of tensors has two.
CONFIG = configs.config(configs.table("t"), configs.table("u"))

# Values of attrs, by name or type.
_VALUES = {
    "bool": True,
    "float_type": tf.float32,
    "int": 2,
    "integer_type": tf.int64,
    "list(int)": [1, 0],
    "list(string)": [b"sum", b"mean"],
    "shard_id": 1,
    "string": CONFIG,
    # Of two elements, an integer and a float.
    "tuple_mask": tensor_pb2.TensorProto(
        dtype=tf.int32.as_datatype_enum,
        tensor_shape=tf.TensorShape([2, 2]).as_proto(),
        int_val=[0, 1, 1, 1],
    ).SerializeToString(),
}


@dataclass(frozen=True)
class JavaClass:
    """One line of java_tpu_classes.txt."""

    name: str
    op_name: str
    arguments: list[str]
    options: list[str]
    outputs: list[str]
    interface: str
    fields: list[str]
    endpoint: str

    def op_def(self):
        """Returns TensorFlow's definition, None where it has none."""
        return op_def_registry.get(self.op_name)

    def op_names(self, java_names):
        """Returns the op's own names of these arguments or outputs."""
        op_def = self.op_def()
        args = [*op_def.input_arg, *op_def.attr, *op_def.output_arg]
        by_java_name = {camel(arg.name): arg.name for arg in args}
        return [by_java_name[name.rstrip("*")] for name in java_names]

    def make_inputs(self, graph):
        """Returns placeholders for the inputs, by the op's names."""
        attrs = {attr.name: attr for attr in self.op_def().attr}
        inputs = {}
        for arg in self.op_def().input_arg:
            dtype = arg.type or attrs[arg.type_attr].default_value.type
            dtype = dtype or _VALUES[arg.type_attr]
            count = 2 if arg.number_attr else 1
            tensors = [
                nodes.placeholder(graph, f"{arg.name}{i}", dtype, None)
                for i in range(count)
            ]
            inputs[arg.name] = tensors if arg.number_attr else tensors[0]
        return inputs

    def make_attrs(self, java_names):
        """Returns values of those that are attrs, by the op's names."""
        types = {attr.name: attr.type for attr in self.op_def().attr}
        return {
            name: _VALUES.get(name, _VALUES.get(types[name]))
            for name in self.op_names(java_names)
            if name in types
        }

    def make_arguments(self, graph):
        """Returns the arguments of create() by the op's names, in order."""
        values = {**self.make_attrs(self.arguments), **self.make_inputs(graph)}
        return {name: values[name] for name in self.op_names(self.arguments)}

    def make_options(self, *java_names):
        """Returns values of options, and of those it takes to build a node."""
        names = set(java_names)
        if "tableId" in self.options and "tableName" not in names:
            names.add("tableId")
        return self.make_attrs(names)

    def expected_node(self, name, options=None, control=None, device=""):
        """Returns the node that `tf.raw_ops` makes of the same arguments."""
        with tf.Graph().as_default() as graph:
            arguments = dict.fromkeys(self.op_names(self.options))
            arguments |= self.make_options() if options is None else options
            arguments.pop("NN", None)  # It follows from the inputs.
            arguments |= self.make_arguments(graph)
            function = getattr(tf.raw_ops, self.op_name, None)
            function = function or functools.partial(
                op_def_library.apply_op, self.op_name
            )
            function(name=name, **arguments)
            node = graph.get_operation_by_name(name).node_def
        node.device = device
        node.input.extend([f"^{control}"] if control else [])
        return node


def read_classes():
    """Returns all classes."""
    path = pathlib.Path(__file__).with_name("java_tpu_classes.txt")
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        if not line.startswith("#"):
            columns = ["" if c == "-" else c for c in line.split(" | ")]
            yield JavaClass(
                *columns[:2],
                *(column.split() for column in columns[2:5]),
                columns[5],
                columns[6].split(),
                columns[7],
            )


def snake(name):
    """Returns the Python form of a Java name, star and all cut off."""
    name = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name.rstrip("*"))
    return re.sub("(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel(name):
    """Returns the Java form of an op's own name."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
