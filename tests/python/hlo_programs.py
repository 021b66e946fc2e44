# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Update rules in TensorFlow, and the HLO that TensorFlow makes of them."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2

_TUPLE = 13  # In xla_data.proto, which has no Python module.


def hlo_program(update, num_slots, learning_rate=True):
    """Returns update(gradient, weights, *slots[, rate]) as HLO.

    Args:
      update: Returns weights and slots.
      num_slots: How many it takes and returns.
      learning_rate: Whether it takes the rate.
    """
    arguments = [tf.zeros([1, 1])] * (2 + num_slots)
    if learning_rate:
        arguments.append(tf.zeros([]))
    function = tf.function(update, jit_compile=True)
    compiler_ir = function.experimental_get_compiler_ir(*arguments)
    module = hlo_pb2.HloModuleProto.FromString(
        compiler_ir(stage="hlo_serialized")
    )
    (entry,) = (
        each
        for each in module.computations
        if each.id == module.entry_computation_id
    )
    (root,) = (each for each in entry.instructions if each.id == entry.root_id)
    # TensorFlow returns a single result as it is, without a tuple.
    if root.opcode != "tuple":
        last = max(each.id for each in entry.instructions)
        tuple_of_one = entry.instructions.add(
            name="tuple", opcode="tuple", operand_ids=[root.id], id=last + 1
        )
        tuple_of_one.shape.element_type = _TUPLE
        tuple_of_one.shape.tuple_shapes.add().CopyFrom(root.shape)
        entry.root_id = tuple_of_one.id
    return module


def sgd(g, w, rate):
    return (w - rate * g,)


def adagrad(g, w, a, rate):
    a += g * g
    return w - rate * (g / tf.sqrt(a)), a


def momentum_with_its_own_rate(g, w, m):
    m = 0.9 * m + g
    return w - 0.1 * m, m


def adam(g, w, m, v, rate):
    m = 0.9 * m + (1 - 0.9) * g
    v = 0.99 * v + (1 - 0.99) * g * g
    return w - rate * m / (tf.sqrt(v) + 1e-3), m, v


def rprop(g, w, previous, delta, rate):
    """Grows a row's step while the sign stays, halves it where it turns."""
    same = g * previous
    delta = tf.where(same > 0, delta * 1.2, delta)
    delta = tf.where(same < 0, delta * 0.5, delta)
    delta = tf.clip_by_value(delta, 1e-3, 2.0)
    return w - rate * tf.sign(g) * delta, g, delta


def smooth(g, w, s, rate):
    s = tf.tanh(s + tf.math.log1p(tf.abs(g)))
    return w - rate * g * tf.exp(-s) * tf.math.rsqrt(1 + tf.pow(s, 3.0)), s
