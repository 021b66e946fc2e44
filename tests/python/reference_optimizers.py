# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Every optimizer's update of one row in NumPy float64, slow and obvious.

Each takes the row's weights `w`, its slot variables, the gradient `g`, the
learning rate and the optimizer's message, one also the value of its step
counter, and returns the new weights and slot variables.
"""

from __future__ import annotations

import numpy as np


def _divide_or_zero(a, b):
    """Returns a / b, where 0 / 0 counts as 0."""
    zero = (a == 0) & (b == 0)
    return np.where(zero, 0.0, a / np.where(zero, 1.0, b))


def _shrink(x, limit):
    return np.sign(x) * np.maximum(np.abs(x) - limit, 0.0)


def _sgd(w, slots, g, lr, p):
    return w - lr * g, []


def _adagrad(w, slots, g, lr, p):
    a = slots[0] + g * g
    return w - lr * _divide_or_zero(g, np.sqrt(a)), [a]


def _adagrad_momentum(w, slots, g, lr, p):
    a, m = slots
    if p.beta2 == 1:
        a = a + g * g
    else:
        a = p.beta2 * a + (1 - p.beta2) * g * g
    root = (a + p.epsilon) ** (1 / p.exponent)
    scaled = _divide_or_zero(g, root)
    m = p.momentum * m + scaled
    u = p.momentum * m + scaled if p.use_nesterov else m
    return w - lr * u, [a, m]


def _bounded_adagrad(w, slots, g, lr, p):
    a = slots[0] + g * g
    if p.max_accumulator > 0:
        a = np.minimum(a, p.max_accumulator)
    used = a if p.update_accumulator_first else slots[0]
    u = lr * _divide_or_zero(g, np.sqrt(used))
    if p.max_var_update > 0:
        u = np.clip(u, -p.max_var_update, p.max_var_update)
    return w - u, [a]


def _frequency_aware_adagrad(w, slots, g, lr, p, step):
    a, c = slots
    c = c + 1
    a = np.maximum(p.accumulator_decay * a + g * g, p.initial_accumulator_value)
    s = np.minimum((step / c) ** p.probability_exponent, p.max_lr_multiplier)
    u = _divide_or_zero(g * s, np.sqrt(a))
    if p.l1_regularization_strength > 0:
        u = u + p.l1_regularization_strength * np.sign(w)
    if p.l2_regularization_strength > 0:
        u = u + p.l2_regularization_strength * w
    return w - lr * u, [a, c]


def _ftrl(w, slots, g, lr, p):
    a, z = slots
    k = -p.lr_power
    a_new = a + g * g
    delta = a_new**k - a**k
    if p.multiply_linear_by_lr:
        z = z + lr * g - delta * w
        numerator = np.clip(z, -lr * p.l1, lr * p.l1) - z
        denominator = a_new**k + 2 * lr * p.l2 + p.beta
    else:
        z = z + g - delta * w / lr
        numerator = np.clip(z, -p.l1, p.l1) - z
        denominator = (a_new**k + p.beta) / lr + 2 * p.l2
    safe = np.where(denominator == 0, 1.0, denominator)
    return np.where(denominator == 0, 0.0, numerator / safe), [a_new, z]


def _adam(w, slots, g, lr, p):
    m = p.beta1 * slots[0] + (1 - p.beta1) * g
    v = p.beta2 * slots[1] + (1 - p.beta2) * g * g
    if p.use_sum_inside_sqrt:
        root = np.sqrt(v + p.epsilon**2)
    else:
        root = np.sqrt(v) + p.epsilon
    return w - _divide_or_zero(lr * m, root), [m, v]


def _momentum(w, slots, g, lr, p):
    m = p.momentum * slots[0] + g
    if p.use_nesterov:
        return w - (lr * g + lr * p.momentum * m), [m]
    return w - lr * m, [m]


def _lion(w, slots, g, lr, p):
    u = p.beta1 * slots[0] + (1 - p.beta1) * g
    m = p.beta2 * slots[0] + (1 - p.beta2) * g
    return w - lr * np.sign(u), [m]


def _rms_prop(w, slots, g, lr, p):
    ms, mom = slots
    ms = ms + (g * g - ms) * (1 - p.rho)
    mom = p.momentum * mom + _divide_or_zero(lr * g, np.sqrt(ms + p.epsilon))
    return w - mom, [ms, mom]


def _centered_rms_prop(w, slots, g, lr, p):
    ms, mom, mg = slots
    ms = ms + (g * g - ms) * (1 - p.rho)
    mg = mg + (g - mg) * (1 - p.rho)
    root = np.sqrt(ms - mg * mg + p.epsilon)
    mom = p.momentum * mom + _divide_or_zero(lr * g, root)
    return w - mom, [ms, mom, mg]


def _adadelta(w, slots, g, lr, p):
    a, d = slots
    a = p.rho * a + (1 - p.rho) * g * g
    u = _divide_or_zero(np.sqrt(d + p.epsilon) * g, np.sqrt(a + p.epsilon))
    d = p.rho * d + (1 - p.rho) * u * u
    return w - lr * u, [a, d]


def _proximal_adagrad(w, slots, g, lr, p):
    a = slots[0] + g * g
    rate = _divide_or_zero(np.full_like(a, lr), np.sqrt(a))
    rate = np.where(a == 0, 0.0, rate)
    x = w - rate * g
    if p.l1 > 0:
        x = _shrink(x, rate * p.l1)
    return x / (1 + p.l2 * rate), [a]


def _online_yogi(w, slots, g, lr, p):
    v, z = slots
    v_new = v - (1 - p.beta2) * np.sign(v - g * g) * g * g
    z = z + g - (np.sqrt(v_new) - np.sqrt(v)) / lr * w
    numerator = np.clip(z, -p.l1, p.l1) - z
    denominator = np.sqrt(v_new) / lr + 2 * p.l2
    safe = np.where(denominator == 0, 1.0, denominator)
    return np.where(denominator == 0, 0.0, numerator / safe), [v_new, z]


def _proximal_yogi(w, slots, g, lr, p):
    v, m = slots
    m = p.beta1 * m + (1 - p.beta1) * g
    v = v + (1 - p.beta2) * np.sign(g * g - v) * g * g
    root = np.sqrt(v) + p.epsilon
    # Where lr * m / root is 0 / 0, nothing else of the step counts either.
    rate = np.where((root == 0) & (lr * m == 0), 0.0, lr / root)
    x = w - rate * m
    if p.l1 > 0:
        x = _shrink(x, p.l1 * rate) / (1 + p.l2 * rate)
    elif p.l2 > 0:
        x = x / (1 + p.l2 * rate)
    return x, [v, m]


def _frequency_estimator(w, slots, g, lr, p):
    elapsed = lr - slots[0]
    delta = np.minimum(elapsed, p.max_delta)
    averaged = w * (1 - p.tau) + delta * p.tau
    outlier = elapsed >= p.outlier_threshold * w
    return np.where(outlier, delta, averaged), [np.full_like(w, lr)]


def _assign(w, slots, g, lr, p):
    return g, []


# Field of OptimizationParameters -> (slot variables in load order, update).
OPTIMIZERS = {
    "stochastic_gradient_descent": ([], _sgd),
    "adagrad": (["accumulators"], _adagrad),
    "adagrad_momentum": (["accumulators", "momenta"], _adagrad_momentum),
    "bounded_adagrad": (["accumulators"], _bounded_adagrad),
    "frequency_aware_adagrad": (
        ["accumulators", "counters"],
        _frequency_aware_adagrad,
    ),
    "ftrl": (["accumulators", "linears"], _ftrl),
    "adam": (["momenta", "velocities"], _adam),
    "momentum": (["momenta"], _momentum),
    "lion": (["momenta"], _lion),
    "rms_prop": (["ms", "mom"], _rms_prop),
    "centered_rms_prop": (["ms", "mom", "mg"], _centered_rms_prop),
    "adadelta": (["accumulators", "updates"], _adadelta),
    "proximal_adagrad": (["accumulators"], _proximal_adagrad),
    "online_yogi": (["vs", "linears"], _online_yogi),
    "proximal_yogi": (["v", "m"], _proximal_yogi),
    "frequency_estimator": (["last_hit_step"], _frequency_estimator),
    "assign": ([], _assign),
}


def _limits(message):
    lower = message.lower.value if message.HasField("lower") else -np.inf
    upper = message.upper.value if message.HasField("upper") else np.inf
    return lower, upper


class TableUpdate:
    """The update of one row of a table, with what surrounds the optimizer."""

    def __init__(self, optimization_parameters):
        """Reads TensorFlow's message OptimizationParameters."""
        self._message = optimization_parameters
        self.optimizer = optimization_parameters.WhichOneof("parameters")
        self.slots, self._update = OPTIMIZERS[self.optimizer]
        self._hyperparameters = getattr(optimization_parameters, self.optimizer)

    @property
    def accumulates(self) -> bool:
        return self._message.gradient_accumulation_status != 2

    @property
    def updates_all_rows(self) -> bool:
        return getattr(
            self._hyperparameters, "use_non_lazy_adam", False
        ) or getattr(self._hyperparameters, "use_non_lazy_lion", False)

    def inputs(self, learning_rates) -> dict[str, float]:
        """Returns what the update takes of a step: `lr`, maybe `step`."""
        rate = self._message.learning_rate
        inputs = {"lr": rate.constant}
        if rate.WhichOneof("learning_rate") == "dynamic":
            inputs["lr"] = float(np.float32(learning_rates[rate.dynamic.tag]))
        if self.optimizer == "frequency_aware_adagrad":
            tag = self._hyperparameters.step_counter.tag
            inputs["step"] = float(np.float32(learning_rates[tag]))
        return inputs

    def __call__(self, weights, slots, gradient, inputs):
        """Returns the row's new weights and slot variables."""
        message = self._message
        if message.HasField("gradient_clipping_limits"):
            gradient = np.clip(
                gradient, *_limits(message.gradient_clipping_limits)
            )
        decay = message.weight_decay_factor
        if message.multiply_weight_decay_factor_by_learning_rate:
            decay = decay * inputs["lr"]
        if decay != 0:  # Infinite weights stay so.
            weights = weights - decay * weights
        with np.errstate(divide="ignore", invalid="ignore"):
            weights, slots = self._update(
                weights, slots, gradient, p=self._hyperparameters, **inputs
            )
        if message.HasField("clipping_limits"):
            weights = np.clip(weights, *_limits(message.clipping_limits))
        return weights, slots
