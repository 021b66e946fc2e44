# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What every optimizer makes of zeros, of tiny numbers, and of no numbers."""

import numpy as np
import optimizers
import pytest
import raw_ops
from optimizers import ROWS, TOUCHED, VARIANTS, assert_same_bits, draw, run

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)


def each(variants):
    """Runs a test for each of these forms of optimizers."""
    return pytest.mark.parametrize("variant", variants, ids=str)


every = each(VARIANTS)


# Variables that change where a row has ids and its gradient is 0.
_CHANGED_BY_ZERO = {
    "stochastic_gradient_descent": set(),
    "adagrad": set(),
    "adagrad_momentum": {"weights", "momenta"},
    "adagrad_momentum decaying Nesterov": {
        "weights",
        "accumulators",
        "momenta",
    },
    "bounded_adagrad": set(),
    # Their accumulators were above the bound.
    "bounded_adagrad bounded": {"accumulators"},
    "frequency_aware_adagrad": {"accumulators", "counters"},
    "frequency_aware_adagrad regularized": {
        "weights",
        "accumulators",
        "counters",
    },
    "proximal_adagrad": set(),
    "proximal_adagrad l1 l2": {"weights"},
    # They are rebuilt from the slots.
    "ftrl": {"weights"},
    "ftrl multiplied": {"weights"},
    "ftrl power": {"weights"},
    "adam": {"weights", "momenta", "velocities"},
    "adam sum inside": {"weights", "momenta", "velocities"},
    "adam non-lazy": {"weights", "momenta", "velocities"},
    "online_yogi": {"weights"},
    "proximal_yogi": {"weights", "m"},
    "proximal_yogi l1 l2": {"weights", "m"},
    "lion": {"weights", "momenta"},
    "lion non-lazy": {"weights", "momenta"},
    "momentum": {"weights", "momenta"},
    "momentum Nesterov": {"weights", "momenta"},
    "rms_prop": {"weights", "ms", "mom"},
    "centered_rms_prop": {"weights", "ms", "mom", "mg"},
    "adadelta": {"accumulators", "updates"},
    "frequency_estimator": {"weights", "last_hit_step"},
    "assign": {"weights"},
}


@every
@both
def test_a_gradient_of_zero_changes_what_it_should(backend, variant):
    initial, gradients = draw(variant)
    changed = _CHANGED_BY_ZERO[str(variant)]
    if str(variant) == "bounded_adagrad bounded":
        initial[1] += np.float32(1.5)

    result = run(backend, variant, initial, ROWS, 0 * gradients)

    for name, before, after in zip(
        ["weights", *variant.slots], initial, result, strict=True
    ):
        before, after = before[TOUCHED], after[TOUCHED]
        if name in changed:
            assert (after != before).all(), name
        else:
            assert_same_bits([after], [before])


def _without(variant, *names):
    """Returns the variant with hyperparameters that it has set to 0."""
    zeros = {name: 0 for name in names if name in variant.hyperparameters}
    return variant.with_form(**zeros)


# Forms that divide by the root of a slot, and nothing is added to it.
_ROOTS = [
    _without(variant, "epsilon", "initial_accumulator_value")
    for variant in VARIANTS
    if variant.optimizer
    in {
        "adagrad",
        "adagrad_momentum",
        "bounded_adagrad",
        "proximal_adagrad",
        "adam",
        "proximal_yogi",
        "rms_prop",
        "centered_rms_prop",
        "adadelta",
    }
    or str(variant) == "frequency_aware_adagrad"
]


@each(_ROOTS)
@both
def test_zero_over_zero_counts_as_zero(backend, variant):
    (weights, *slots), gradients = draw(variant)
    initial = [weights, *(np.zeros_like(slot) for slot in slots)]

    result = run(backend, variant, initial, ROWS, 0 * gradients)

    if variant.optimizer == "frequency_aware_adagrad":
        initial[2][TOUCHED] = 1  # It counts.
    assert_same_bits(result, initial)


@each(
    [
        _without(variant, "l2", "beta")
        for variant in VARIANTS
        if variant.optimizer in {"ftrl", "online_yogi"}
    ]
)
@both
def test_weights_of_no_slots_are_rebuilt_as_zero(backend, variant):
    (weights, *slots), gradients = draw(variant)
    initial = [weights, *(np.zeros_like(slot) for slot in slots)]

    result = run(backend, variant, initial, ROWS, 0 * gradients)

    initial[0][TOUCHED] = 0
    for actual, expected in zip(result, initial, strict=True):
        np.testing.assert_array_equal(actual, expected)


# Where the learning rate is more than a factor on what is taken from weights.
_RATE_IS_MORE = {
    "assign",
    "centered_rms_prop",
    "frequency_estimator",
    "ftrl",
    "online_yogi",
    "rms_prop",
}


@each([v for v in VARIANTS if v.optimizer not in _RATE_IS_MORE])
@both
def test_learning_rate_of_zero_moves_the_slots_alone(backend, variant):
    initial, gradients = draw(variant)

    expected = run(backend, variant, initial, ROWS, gradients)
    actual = run(backend, variant, initial, ROWS, gradients, learning_rate=0.0)

    assert_same_bits(actual, [initial[0], *expected[1:]])


@each([v for v in VARIANTS if v.optimizer in _RATE_IS_MORE])
@both
def test_learning_rate_of_zero_is_what_the_formula_makes_of_it(
    backend, variant
):
    initial, gradients = draw(variant)
    arguments = variant, initial, ROWS, gradients

    actual = run(backend, *arguments, learning_rate=0.0)
    expected = optimizers.run_reference(*arguments, learning_rate=0.0)

    # One step of numbers of size 1; NaN and infinities are the same ones.
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=4e-6, atol=4e-6)


@every
@both
def test_denormals_count_as_zero(backend, variant):
    initial, gradients = draw(variant)
    tensors = [*initial, gradients]
    zeroed = [tensor.copy() for tensor in tensors]
    for k, (tensor, other) in enumerate(zip(tensors, zeroed, strict=True)):
        # Elements of no other tensor, and a row where all are denormal.
        row = TOUCHED[k % 5] if tensor is not gradients else 0
        tensor[row, k::7] = 1e-40
        other[row, k::7] = 0
        tensor[8 if tensor is not gradients else 1] = -1e-40
        other[8 if tensor is not gradients else 1] = 0

    actual = run(backend, variant, tensors[:-1], ROWS, gradients)
    expected = run(backend, variant, zeroed[:-1], ROWS, zeroed[-1])

    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one[TOUCHED], other[TOUCHED])
        tiny = np.finfo(np.float32).smallest_normal
        size = np.abs(one[TOUCHED])
        assert not ((size > 0) & (size < tiny)).any()


@every
def test_both_paths_give_the_same_bits_of_denormals(variant):
    initial, gradients = draw(variant)
    rng = np.random.default_rng(8)
    for tensor in [*initial, gradients]:
        tensor *= np.float32(10.0) ** rng.integers(-44, 2, tensor.shape)

    assert_same_bits(
        *(
            run(backend, variant, initial, ROWS, gradients, gradients)
            for backend in raw_ops.BACKENDS
        )
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
@every
@both
def test_what_is_no_number_touches_its_element_alone(backend, variant, value):
    initial, gradients = draw(variant)
    last = gradients.shape[1] - 1
    bad = gradients.copy()
    bad[3, last] = value

    actual = run(backend, variant, initial, ROWS, bad)
    expected = run(backend, variant, initial, ROWS, gradients)
    element = [
        variable[6, last]
        for variable in optimizers.run_reference(variant, initial, ROWS, bad)
    ]

    np.testing.assert_allclose(
        [variable[6, last] for variable in actual], element, rtol=4e-6
    )
    if np.isnan(value):
        ignored = variant.optimizer == "frequency_estimator"
        assert np.isnan(actual[0][6, last]) != ignored
    for one, other in zip(actual, expected, strict=True):
        other[6, last] = one[6, last]
    assert_same_bits(actual, expected)


@each([v for v in VARIANTS if v.optimizer != "assign"])
@both
def test_a_weight_that_is_no_number_stays_so(backend, variant):
    initial, gradients = draw(variant)
    last = gradients.shape[1] - 1
    initial[0][6, last] = np.nan

    result = run(
        backend, variant, initial, ROWS, gradients, clip_weights=(-9.0, 9.0)
    )

    assert np.argwhere(np.isnan(result[0])).tolist() == [[6, last]]
