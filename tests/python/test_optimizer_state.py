# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Variables of every optimizer, loaded and retrieved by every way."""

import contextlib

import numpy as np
import optimizers
import pytest
import raw_ops
from optimizers import VARIANTS, assert_same_bits

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

both = pytest.mark.parametrize(
    "backend", raw_ops.BACKENDS, ids=lambda b: b.name
)

# One form of each will do; without accumulation the lazy one alone is there.
each = pytest.mark.parametrize(
    "variant",
    [variant for variant in VARIANTS if variant.is_lazy],
    ids=str,
)

_NUM_ROWS = 9


def _random_bits(variant):
    """Returns variables of any bits, NaNs and denormals too."""
    shape = [_NUM_ROWS, optimizers.dimension_of(variant)]
    rng = np.random.default_rng(11)
    return [
        rng.integers(0, 2**32, shape, np.uint32).view(np.float32)
        for _ in range(1 + len(variant.slots))
    ]


@pytest.mark.parametrize("accumulate", [True, False])
@each
@both
def test_shards_bring_back_every_bit(backend, variant, accumulate):
    variables = _random_bits(variant)
    num_slots = [len(variant.slots)]
    serialized = optimizers.config(variant, _NUM_ROWS, 1, accumulate=accumulate)

    with contextlib.closing(
        backend(serialized, experimental_optimizers=True)
    ) as engine:
        # DIV: rows 0 to 2, 3 and 4, 5 and 6, 7 and 8.
        for shard, first in enumerate([0, 3, 5, 7]):
            last = [3, 5, 7, 9][shard]
            part = [variable[first:last] for variable in variables]
            engine.load_whole([part], 4, shard)
        (whole,) = engine.retrieve_whole(num_slots)
        (half,) = engine.retrieve_whole(num_slots, 2, 1)

    assert_same_bits(whole, variables)
    assert_same_bits(half, [variable[5:] for variable in variables])


@pytest.mark.parametrize("accumulate", [True, False])
@each
def test_load_all_carries_every_variable(variant, accumulate):
    variables = _random_bits(variant)
    empty = np.zeros([0, 0], np.float32)
    marks = np.full_like(variables[0].view(np.uint32), 1).view(np.float32)
    lists = [*variables[1:], *([variables[0]] if accumulate else [])]
    lists += [empty] * (7 - len(lists))
    serialized = optimizers.config(variant, _NUM_ROWS, 1, accumulate=accumulate)

    with contextlib.closing(
        raw_ops.RawOpsBackend(serialized, experimental_optimizers=True)
    ):
        raw_ops.load_all([variables[0]], [[one] for one in lists])
        (parameters,), auxiliaries = raw_ops.retrieve_all(1)

    expected = [*variables, *([marks] if accumulate else [])]
    expected += [empty] * (8 - len(expected))
    assert_same_bits(
        [parameters.numpy(), *(one.numpy() for (one,) in auxiliaries)], expected
    )
