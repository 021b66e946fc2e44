# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for the update of every optimizer, mostly bit for bit."""

import numpy as np
import optimizers
import pytest
import raw_ops
from optimizers import VARIANTS, assert_same_bits, run

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
_LAZY = [variant for variant in VARIANTS if variant.is_lazy]
_NON_LAZY = [variant for variant in VARIANTS if not variant.is_lazy]

_NUM_ROWS = 9
# Ids of five samples, and which rows those are.
_ROWS = [[1], [8, 4], [], [6], [0]]
_TOUCHED = [0, 1, 4, 6, 8]
_OTHERS = [2, 3, 5, 7]


def _draw(variant, seed=3, rows=_ROWS):
    """Returns variables of a table, and gradients, none of them 0."""
    rng = np.random.default_rng(seed)
    shape = [len(rows), optimizers.dimension_of(variant)]
    gradients = rng.uniform(0.25, 2, shape) * rng.choice([-1, 1], shape)
    return (
        optimizers.variables(rng, variant, _NUM_ROWS),
        gradients.astype(np.float32),
    )


def _updated(variant):
    """Returns the rows that a step with _ROWS updates."""
    return _TOUCHED if variant.is_lazy else list(range(_NUM_ROWS))


def test_every_optimizer_has_a_variant():
    assert {variant.optimizer for variant in VARIANTS} == {*optimizers.SLOTS}


@every
@both
def test_permuted_rows_give_permuted_results(backend, variant):
    rows = [[1], [8, 4, 1], [], [6, 6], [0]]
    initial, gradients = _draw(variant, rows=rows)
    to = np.random.default_rng(4).permutation(_NUM_ROWS)
    permuted = [np.empty_like(variable) for variable in initial]
    for new, old in zip(permuted, initial, strict=True):
        new[to] = old

    expected = run(backend, variant, initial, rows, gradients, gradients)
    actual = run(
        backend,
        variant,
        permuted,
        [[int(to[one]) for one in row] for row in rows],
        gradients,
        gradients,
    )

    assert_same_bits([variable[to] for variable in actual], expected)


@every
@both
def test_gradients_of_one_row_act_as_their_sum(backend, variant):
    initial, gradients = _draw(variant)
    summed = np.zeros_like(gradients)
    summed[0] = gradients[0] + gradients[1] + gradients[2]

    several = run(backend, variant, initial, [[4], [4], [4], [], []], gradients)
    one = run(backend, variant, initial, [[4], [], [], [], []], summed)

    assert_same_bits(several, one)


@each(_LAZY)
@both
def test_accumulation_changes_nothing_where_rows_occur_once(backend, variant):
    initial, gradients = _draw(variant)

    with_it, without = (
        run(
            backend,
            variant,
            initial,
            _ROWS,
            gradients,
            gradients,
            accumulate=accumulate,
        )
        for accumulate in (True, False)
    )

    assert_same_bits(with_it, without)


@each(_LAZY)
@both
def test_rows_without_ids_keep_their_bits(backend, variant):
    initial, gradients = _draw(variant)
    bits = np.random.default_rng(6).integers(
        0, 2**32, initial[0][_OTHERS].shape, np.uint32
    )
    for variable in initial:
        variable[_OTHERS] = bits.view(np.float32)

    result = run(
        backend,
        variant,
        initial,
        _ROWS,
        gradients,
        weight_decay=0.125,
        clip_weights=(-0.5, 0.5),
    )

    others = [variable[_OTHERS] for variable in result]
    assert_same_bits(others, [bits.view(np.float32)] * len(initial))


@each(_NON_LAZY)
@both
def test_rows_without_ids_are_updated_by_a_gradient_of_zero(backend, variant):
    initial, gradients = _draw(variant)
    lazy = variant.with_form(use_non_lazy_adam=False)
    if variant.optimizer == "lion":
        lazy = variant.with_form(use_non_lazy_lion=False)
    rows = [*_ROWS, *([row] for row in _OTHERS)]
    zeros = np.zeros_like(gradients[: len(_OTHERS)])
    both_gradients = np.concatenate([gradients, zeros])
    around = {"weight_decay": 0.125, "clip_weights": (-0.5, 0.5)}

    actual = run(backend, variant, initial, _ROWS, gradients, **around)
    expected = run(backend, lazy, initial, rows, both_gradients, **around)

    assert_same_bits(actual, expected)
    assert (actual[0][_OTHERS] != initial[0][_OTHERS]).all()


@every
@both
def test_gradients_are_clipped_before_their_use(backend, variant):
    rows = [[1], [8, 4], [1], [6], [0]]
    initial, gradients = _draw(variant, rows=rows)
    clipped = gradients.copy()
    clipped[0] += clipped[2]  # The sum is clipped.
    clipped = np.clip(clipped, -0.5, 0.375)
    clipped[2] = 0

    actual = run(
        backend, variant, initial, rows, gradients, clip_gradients=(-0.5, 0.375)
    )
    expected = run(backend, variant, initial, rows, clipped)

    assert_same_bits(actual, expected)


@pytest.mark.parametrize("times_rate", [False, True])
@every
@both
def test_weights_decay_before_the_update(backend, variant, times_rate):
    initial, gradients = _draw(variant)
    factor = np.float32(0.01)
    decay = factor * np.float32(variant.learning_rate) if times_rate else factor
    weights = initial[0].copy()
    rows = _updated(variant)
    weights[rows] -= decay * weights[rows]

    actual = run(
        backend,
        variant,
        initial,
        _ROWS,
        gradients,
        weight_decay=factor,
        decay_times_learning_rate=times_rate,
    )
    expected = run(backend, variant, [weights, *initial[1:]], _ROWS, gradients)

    for variable, wanted in zip(actual, expected, strict=True):
        assert_same_bits([variable[rows]], [wanted[rows]])


@every
@both
def test_weights_are_clipped_after_the_update(backend, variant):
    initial, gradients = _draw(variant)
    rows = _updated(variant)

    actual = run(
        backend, variant, initial, _ROWS, gradients, clip_weights=(-0.5, 0.25)
    )
    expected = run(backend, variant, initial, _ROWS, gradients)

    expected[0] = expected[0].copy()
    expected[0][rows] = np.clip(expected[0][rows], -0.5, 0.25)
    assert_same_bits(actual, expected)


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
    initial, gradients = _draw(variant)
    changed = _CHANGED_BY_ZERO[str(variant)]
    if str(variant) == "bounded_adagrad bounded":
        initial[1] += np.float32(1.5)

    result = run(backend, variant, initial, _ROWS, 0 * gradients)

    for name, before, after in zip(
        ["weights", *variant.slots], initial, result, strict=True
    ):
        before, after = before[_TOUCHED], after[_TOUCHED]
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
    (weights, *slots), gradients = _draw(variant)
    initial = [weights, *(np.zeros_like(slot) for slot in slots)]

    result = run(backend, variant, initial, _ROWS, 0 * gradients)

    if variant.optimizer == "frequency_aware_adagrad":
        initial[2][_TOUCHED] = 1  # It counts.
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
    (weights, *slots), gradients = _draw(variant)
    initial = [weights, *(np.zeros_like(slot) for slot in slots)]

    result = run(backend, variant, initial, _ROWS, 0 * gradients)

    initial[0][_TOUCHED] = 0
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
    initial, gradients = _draw(variant)

    expected = run(backend, variant, initial, _ROWS, gradients)
    actual = run(backend, variant, initial, _ROWS, gradients, learning_rate=0.0)

    assert_same_bits(actual, [initial[0], *expected[1:]])


@each([v for v in VARIANTS if v.optimizer in _RATE_IS_MORE])
@both
def test_learning_rate_of_zero_is_what_the_formula_makes_of_it(
    backend, variant
):
    initial, gradients = _draw(variant)
    arguments = variant, initial, _ROWS, gradients

    actual = run(backend, *arguments, learning_rate=0.0)
    expected = optimizers.run_reference(*arguments, learning_rate=0.0)

    # One step of numbers of size 1; NaN and infinities are the same ones.
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=4e-6, atol=4e-6)


@every
@both
def test_denormals_count_as_zero(backend, variant):
    initial, gradients = _draw(variant)
    tensors = [*initial, gradients]
    zeroed = [tensor.copy() for tensor in tensors]
    for k, (tensor, other) in enumerate(zip(tensors, zeroed, strict=True)):
        # Elements of no other tensor, and a row where all are denormal.
        row = _TOUCHED[k % 5] if tensor is not gradients else 0
        tensor[row, k::7] = 1e-40
        other[row, k::7] = 0
        tensor[8 if tensor is not gradients else 1] = -1e-40
        other[8 if tensor is not gradients else 1] = 0

    actual = run(backend, variant, tensors[:-1], _ROWS, gradients)
    expected = run(backend, variant, zeroed[:-1], _ROWS, zeroed[-1])

    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(one[_TOUCHED], other[_TOUCHED])
        tiny = np.finfo(np.float32).smallest_normal
        size = np.abs(one[_TOUCHED])
        assert not ((size > 0) & (size < tiny)).any()


@every
def test_both_paths_give_the_same_bits_of_denormals(variant):
    initial, gradients = _draw(variant)
    rng = np.random.default_rng(8)
    for tensor in [*initial, gradients]:
        tensor *= np.float32(10.0) ** rng.integers(-44, 2, tensor.shape)

    assert_same_bits(
        *(
            run(backend, variant, initial, _ROWS, gradients, gradients)
            for backend in raw_ops.BACKENDS
        )
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
@every
@both
def test_what_is_no_number_touches_its_element_alone(backend, variant, value):
    initial, gradients = _draw(variant)
    last = gradients.shape[1] - 1
    bad = gradients.copy()
    bad[3, last] = value

    actual = run(backend, variant, initial, _ROWS, bad)
    expected = run(backend, variant, initial, _ROWS, gradients)
    element = [
        variable[6, last]
        for variable in optimizers.run_reference(variant, initial, _ROWS, bad)
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
