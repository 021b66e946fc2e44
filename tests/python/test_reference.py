# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The oracle itself against the golden vectors: are both readings one?"""

import golden
import numpy as np
import pytest
import requires
from reference import Reference
from reference_optimizers import OPTIMIZERS
from tpuless import _engine

pytestmark = pytest.mark.timeout(120)


def _assert_close(actual, expected, what):
    # Both are float64; only the order of additions may differ.
    np.testing.assert_allclose(
        actual, expected, rtol=1e-9, atol=1e-12, err_msg=what
    )


def test_reference_has_every_optimizer():
    actual = {name: slots for name, (slots, _) in OPTIMIZERS.items()}

    assert actual == {
        optimizer["name"]: optimizer["slots"]
        for optimizer in _engine.optimizers()
    }


@pytest.mark.parametrize("entry", golden.index(), ids=lambda entry: entry.name)
def test_reference_agrees_with_the_golden_vector(entry):
    requires.optimizers(*entry.optimizers)
    vector = golden.read(entry.name)
    reference = Reference(vector.config)
    for table, variables in enumerate(vector.initial):
        reference.load(table, variables)

    for k, step in enumerate(vector.steps):
        reference.enqueue(step.op, step.lists, step.attrs, step.mode_override)
        if step.receives:
            activations = reference.receive()
            for i, expected in enumerate(step.activations):
                _assert_close(activations[i], expected, f"step {k} act {i}")
        if step.gradients is not None:
            reference.send(step.gradients, step.learning_rates)
        if k + 1 in vector.after:
            for t, variables in enumerate(vector.after[k + 1]):
                for actual, expected in zip(
                    reference.retrieve(t), variables, strict=True
                ):
                    _assert_close(actual, expected, f"after {k + 1} {t}")
