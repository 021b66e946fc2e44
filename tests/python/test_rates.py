# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The learning rate that corrects the bias of Adam and Yogi."""

import re

import numpy as np
import pytest
import tensorflow as tf
import tpuless


def test_rates_of_the_first_steps():
    rates = [
        tpuless.bias_corrected_learning_rate(0.01, step, 0.9, 0.999)
        for step in (1, 2)
    ]

    assert all(type(rate) is float for rate in rates)
    np.testing.assert_allclose(rates, [0.00316228, 0.00235317], rtol=2e-6)


def test_after_many_steps_the_rate_is_the_given_one():
    rate = tpuless.bias_corrected_learning_rate(0.01, 10**6, 0.9, 0.999)

    assert rate == 0.01


@pytest.mark.parametrize(
    "step",
    [
        np.int64(3),
        np.float32(3),
        tf.constant(3),
        tf.constant(3, tf.int64),
        tf.Variable(3, dtype=tf.int64),
        tf.constant(3.0),
    ],
    ids=lambda step: f"{type(step).__name__}-{getattr(step, 'dtype', None)}",
)
def test_step_in_any_form(step):
    expected = tpuless.bias_corrected_learning_rate(0.01, 3, 0.9, 0.999)

    rate = tpuless.bias_corrected_learning_rate(0.01, step, 0.9, 0.999)

    assert np.float32(rate) == np.float32(expected)


def test_all_arguments_may_be_tensors_of_a_function():
    @tf.function
    def rate(learning_rate, step, beta1, beta2):
        return tpuless.bias_corrected_learning_rate(
            learning_rate, step, beta1, beta2
        )

    actual = rate(*map(tf.constant, (0.01, 2, 0.9, 0.999)))

    assert actual.dtype == tf.float32
    assert actual.shape == []
    expected = tpuless.bias_corrected_learning_rate(
        *map(float, (np.float32(0.01), 2, np.float32(0.9), np.float32(0.999)))
    )
    assert actual.numpy() == np.float32(expected)


def test_adam_with_it_is_keras_adam():
    config_rate = 0.01
    variable = tf.Variable([1.0, -2.0])
    keras = tf.keras.optimizers.Adam(config_rate, epsilon=0.0)
    m = v = np.zeros(2)
    w = np.array([1.0, -2.0])
    for step in range(1, 6):
        g = np.array([0.3, -0.2]) * step
        keras.apply_gradients([(tf.constant(g, tf.float32), variable)])
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        rate = tpuless.bias_corrected_learning_rate(
            config_rate, step, 0.9, 0.999
        )
        w = w - rate * m / np.sqrt(v)

    # Five updates of about ten roundings each.
    np.testing.assert_allclose(variable.numpy(), w, rtol=50 * 6e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.1, 0, 0.9, 0.99), "step must be >= 1, got 0"),
        ((0.1, float("nan"), 0.9, 0.99), "step must be >= 1, got nan"),
        ((0.1, 1, 1.0, 0.99), "beta1 must be >= 0 and < 1, got 1.0"),
        ((0.1, 1, 0.9, -0.5), "beta2 must be >= 0 and < 1, got -0.5"),
    ],
)
def test_numbers_out_of_their_range_are_refused(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tpuless.bias_corrected_learning_rate(*arguments)


def test_tensors_that_are_no_scalars_are_refused():
    message = "expected scalars, got shape (2,)"

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tpuless.bias_corrected_learning_rate(
            0.1, tf.constant([1, 2]), 0.9, 0.99
        )
