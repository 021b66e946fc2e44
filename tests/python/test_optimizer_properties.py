# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for the update of every optimizer, mostly bit for bit."""

import numpy as np
import optimizers
import pytest
import raw_ops
from optimizers import (
    NUM_ROWS,
    OTHERS,
    ROWS,
    TOUCHED,
    VARIANTS,
    assert_same_bits,
    draw,
    run,
)

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


def _updated(variant):
    """Returns the rows that a step with ROWS updates."""
    return TOUCHED if variant.is_lazy else list(range(NUM_ROWS))


def test_every_optimizer_has_a_variant():
    assert {variant.optimizer for variant in VARIANTS} == {*optimizers.SLOTS}


@every
@both
def test_permuted_rows_give_permuted_results(backend, variant):
    rows = [[1], [8, 4, 1], [], [6, 6], [0]]
    initial, gradients = draw(variant, rows=rows)
    to = np.random.default_rng(4).permutation(NUM_ROWS)
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
    initial, gradients = draw(variant)
    summed = np.zeros_like(gradients)
    summed[0] = gradients[0] + gradients[1] + gradients[2]

    several = run(backend, variant, initial, [[4], [4], [4], [], []], gradients)
    one = run(backend, variant, initial, [[4], [], [], [], []], summed)

    assert_same_bits(several, one)


@each(_LAZY)
@both
def test_accumulation_changes_nothing_where_rows_occur_once(backend, variant):
    initial, gradients = draw(variant)

    with_it, without = (
        run(
            backend,
            variant,
            initial,
            ROWS,
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
    initial, gradients = draw(variant)
    bits = np.random.default_rng(6).integers(
        0, 2**32, initial[0][OTHERS].shape, np.uint32
    )
    for variable in initial:
        variable[OTHERS] = bits.view(np.float32)

    result = run(
        backend,
        variant,
        initial,
        ROWS,
        gradients,
        weight_decay=0.125,
        clip_weights=(-0.5, 0.5),
    )

    others = [variable[OTHERS] for variable in result]
    assert_same_bits(others, [bits.view(np.float32)] * len(initial))


@each(_NON_LAZY)
@both
def test_rows_without_ids_are_updated_by_a_gradient_of_zero(backend, variant):
    initial, gradients = draw(variant)
    lazy = variant.with_form(use_non_lazy_adam=False)
    if variant.optimizer == "lion":
        lazy = variant.with_form(use_non_lazy_lion=False)
    rows = [*ROWS, *([row] for row in OTHERS)]
    zeros = np.zeros_like(gradients[: len(OTHERS)])
    both_gradients = np.concatenate([gradients, zeros])
    around = {"weight_decay": 0.125, "clip_weights": (-0.5, 0.5)}

    actual = run(backend, variant, initial, ROWS, gradients, **around)
    expected = run(backend, lazy, initial, rows, both_gradients, **around)

    assert_same_bits(actual, expected)
    assert (actual[0][OTHERS] != initial[0][OTHERS]).all()


@each(_NON_LAZY)
@both
def test_every_row_of_a_large_table_is_updated_once(backend, variant):
    num_rows = 5000  # The work of several tasks.
    rng = np.random.default_rng(12)
    initial = optimizers.variables(rng, variant, num_rows)
    rows = [[4999], [0, 2500], [2501], [], [2500]]
    _, gradients = draw(variant)
    some = [0, 1, 2499, 2500, 2501, 4998, 4999]
    few_rows = [[6], [0, 3], [4], [], [3]]

    actual = run(backend, variant, initial, rows, gradients)
    expected = run(
        backend, variant, [one[some] for one in initial], few_rows, gradients
    )
    of_zero = run(backend, variant, initial, [[]], 0 * gradients[:1])

    assert_same_bits([variable[some] for variable in actual], expected)
    others = np.setdiff1d(range(num_rows), some)
    assert_same_bits(
        [variable[others] for variable in actual],
        [variable[others] for variable in of_zero],
    )
    for before, after in zip(initial, actual, strict=True):
        assert (before != after).all()


@every
@both
def test_gradients_are_clipped_before_their_use(backend, variant):
    rows = [[1], [8, 4], [1], [6], [0]]
    initial, gradients = draw(variant, rows=rows)
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
    initial, gradients = draw(variant)
    factor = np.float32(0.01)
    decay = factor * np.float32(variant.learning_rate) if times_rate else factor
    weights = initial[0].copy()
    rows = _updated(variant)
    weights[rows] -= decay * weights[rows]

    actual = run(
        backend,
        variant,
        initial,
        ROWS,
        gradients,
        weight_decay=factor,
        decay_times_learning_rate=times_rate,
    )
    expected = run(backend, variant, [weights, *initial[1:]], ROWS, gradients)

    for variable, wanted in zip(actual, expected, strict=True):
        assert_same_bits([variable[rows]], [wanted[rows]])


@every
@both
def test_weights_are_clipped_after_the_update(backend, variant):
    initial, gradients = draw(variant)
    rows = _updated(variant)

    actual = run(
        backend, variant, initial, ROWS, gradients, clip_weights=(-0.5, 0.25)
    )
    expected = run(backend, variant, initial, ROWS, gradients)

    expected[0] = expected[0].copy()
    expected[0][rows] = np.clip(expected[0][rows], -0.5, 0.25)
    assert_same_bits(actual, expected)
