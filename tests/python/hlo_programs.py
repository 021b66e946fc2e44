# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Update rules in TensorFlow, for user_defined_program."""

from __future__ import annotations

import tensorflow as tf


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
