# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Update rules written in TensorFlow, for user_defined_program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2

_TUPLE = 13  # xla.PrimitiveType, which has no Python module.


def make_user_defined_program(
    update: Callable[..., Any], num_slots: int, *, learning_rate: bool = True
) -> hlo_pb2.HloModuleProto:
    """Returns an update rule as the HLO that a configuration takes.

        def adagrad(g, w, a, rate):
            a += g * g
            return w - rate * g / tf.sqrt(a), a

        parameters.user_defined_program.program.CopyFrom(
            tpuless.make_user_defined_program(adagrad, num_slots=1)
        )

    Args:
      update: A function of gradient, weights, each slot and, unless
        `learning_rate` is false, the learning rate. It gets float32 tensors
        of shape [1, 1], the rate as a scalar, and returns weights and each
        slot as a tuple. All that it does must be elementwise; it may use
        numbers of Python and NumPy, but no tensors or variables from outside.
      num_slots: How many slots it takes and returns.
      learning_rate: Whether it takes the learning rate.

    Raises:
      ValueError: It returns something else, or uses a tensor from outside.
    """
    arguments = [tf.zeros([1, 1])] * (2 + num_slots)
    if learning_rate:
        arguments.append(tf.zeros([]))

    def checked(*tensors: tf.Tensor) -> tuple[tf.Tensor, ...]:
        results = update(*tensors)
        if not isinstance(results, tuple) or len(results) != 1 + num_slots:
            raise ValueError(
                "update must return a tuple of weights and each slot, "
                f"{1 + num_slots} in all, got {results!r}"
            )
        return results

    function = tf.function(checked, jit_compile=True, autograph=False)
    captured = function.get_concrete_function(*arguments).captured_inputs
    if captured:
        # It would become a parameter more, taken for a slot or the rate.
        raise ValueError(
            "update must use no tensors or variables from outside, got "
            f"{captured[0]!r}; use numbers of Python or NumPy"
        )
    compiler_ir = function.experimental_get_compiler_ir(*arguments)
    module = hlo_pb2.HloModuleProto.FromString(
        compiler_ir(stage="hlo_serialized")
    )
    _return_tuple(module)
    return module


def _return_tuple(module: hlo_pb2.HloModuleProto) -> None:
    """Makes a tuple of a single result, which TensorFlow returns without."""
    entry = next(
        computation
        for computation in module.computations
        if computation.id == module.entry_computation_id
    )
    root = next(each for each in entry.instructions if each.id == entry.root_id)
    if root.opcode == "tuple":
        return
    last = max(each.id for each in entry.instructions)
    result = entry.instructions.add(
        name="tuple", opcode="tuple", operand_ids=[root.id], id=last + 1
    )
    result.shape.element_type = _TUPLE
    result.shape.tuple_shapes.add().CopyFrom(root.shape)
    entry.root_id = result.id
    for shape in (entry.program_shape, module.host_program_shape):
        shape.result.CopyFrom(result.shape)
