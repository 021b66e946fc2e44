# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Graph nodes for tests of the op factory: made, expected, read back."""

from __future__ import annotations

import tensorflow as tf

OP = "SendTPUEmbeddingGradients"
CONFIG = b"\x0a\x02\xff\x80"  # Not UTF-8, as most serialized messages.


def placeholder(graph, name, dtype=tf.float32, shape=(2, 3)):
    with graph.as_default():
        return tf.compat.v1.placeholder(dtype, shape, name)


def no_op(graph, name):
    with graph.as_default():
        return tf.raw_ops.NoOp(name=name)


def node_def(name, inputs, n, nn, config=CONFIG, device=""):
    """Builds the node that Java's calls leave in the graph."""
    node = tf.compat.v1.NodeDef(name=name, op=OP, input=inputs, device=device)
    node.attr["config"].s = config
    node.attr["N"].i = n
    node.attr["NN"].i = nn
    return node


def exported(op):
    """Returns the node as the graph exports it."""
    (node,) = (
        node
        for node in op.env().as_graph_def().node
        if node.name == op.op().name
    )
    return node


def names(graph):
    return [operation.name for operation in graph.get_operations()]
