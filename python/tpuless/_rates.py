# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Learning rates for optimizers that leave a correction to their caller."""

from __future__ import annotations

import numbers
from typing import Any

import tensorflow as tf


def bias_corrected_learning_rate(
    learning_rate: Any, step: Any, beta1: Any, beta2: Any
) -> Any:
    """Returns the rate that makes Adam or Yogi correct its bias.

    The optimizers `adam` and `proximal_yogi` of a configuration start their
    moments at 0 and do not correct for it. What Keras and the paper
    (https://arxiv.org/abs/1412.6980, end of section 2) compute is theirs with
    the rate

        learning_rate * sqrt(1 - beta2**step) / (1 - beta1**step)

    Give it to `SendTPUEmbeddingGradients` as dynamic learning rate.

    Args:
      learning_rate: The rate before correction.
      step: Number of this step, from 1.
      beta1: Decay of the first moment, >= 0 and < 1.
      beta2: Decay of the second moment, >= 0 and < 1.

    Each is a number, or a scalar tensor or variable of any numeric type. Only
    numbers are checked for their range: a tensor `step` of 0, as a counter has
    it before the first step, gives NaN.

    Returns:
      A `float`, or a float32 scalar tensor if one of the arguments is a tensor
      or variable; computed in float64.

    Raises:
      ValueError: `step`, `beta1` or `beta2` is a number out of its range, or
        an argument is a tensor and no scalar.
    """
    if _is_number(step) and not step >= 1:
        raise ValueError(f"step must be >= 1, got {step}")
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if _is_number(beta) and not 0 <= beta < 1:
            raise ValueError(f"{name} must be >= 0 and < 1, got {beta}")
    arguments = (learning_rate, step, beta1, beta2)
    if all(map(_is_number, arguments)):
        return _correct(*map(float, arguments))
    return tf.cast(_correct(*map(_float64_tensor, arguments)), tf.float32)


def _correct(learning_rate: Any, step: Any, beta1: Any, beta2: Any) -> Any:
    return learning_rate * (1 - beta2**step) ** 0.5 / (1 - beta1**step)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def _float64_tensor(value: Any) -> tf.Tensor:
    if _is_number(value):
        return tf.constant(float(value), tf.float64)
    if value.shape.rank not in (None, 0):
        raise ValueError(f"expected scalars, got shape {value.shape}")
    return tf.cast(value, tf.float64)
