# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The golden vectors through TensorFlow's ops and through the simulator."""

import hashlib

import golden
import numpy as np
import pytest
import raw_ops
import requires
from tpuless import _engine

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_EXPERIMENTAL = [entry for entry in golden.index() if entry.experimental]


def _assert_close(actual, expected, what):
    assert actual.dtype == np.float32
    np.testing.assert_allclose(
        actual,
        expected,
        rtol=golden.RTOL,
        atol=golden.ATOL,
        err_msg=what,
    )


def _run(backend, vector):
    backend.load_whole(vector.initial)
    num_slots = [len(variables) - 1 for variables in vector.initial]
    for k, step in enumerate(vector.steps):
        backend.enqueue(step.op, step.lists, step.attrs, step.mode_override)
        if step.receives:
            activations = backend.receive()
            for i, (actual, expected) in enumerate(
                zip(activations, step.activations, strict=True)
            ):
                _assert_close(actual, expected, f"step {k}, activations {i}")
        if step.gradients is not None:
            backend.send(step.gradients, step.learning_rates)
        if k + 1 in vector.after:
            tables = backend.retrieve_whole(num_slots)
            for t, table in enumerate(vector.tables):
                for name, actual, expected in zip(
                    table["variables"],
                    tables[t],
                    vector.after[k + 1][t],
                    strict=True,
                ):
                    what = f"after {k + 1} steps, {name} of table {t}"
                    _assert_close(actual, expected, what)


@pytest.mark.parametrize("entry", golden.index(), ids=lambda entry: entry.name)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_results_are_those_of_the_vector(entry, backend):
    requires.optimizers(*entry.optimizers)
    vector = golden.read(entry.name)

    _run(
        backend(vector.config, experimental_optimizers=entry.experimental),
        vector,
    )


@pytest.mark.parametrize("entry", _EXPERIMENTAL, ids=lambda entry: entry.name)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_an_experimental_optimizer_is_refused_without_the_option(
    entry, backend
):
    requires.optimizers(*entry.optimizers)

    with raw_ops.refused(
        backend.error("UNIMPLEMENTED"),
        f"table 't0': optimizer '{entry.optimizers[0]}' is experimental, no "
        "public text fixes its formula; set option experimental_optimizers to "
        "run our reading of it",
    ):
        backend(golden.read_config(entry.name))


def test_every_optimizer_has_its_vectors():
    # Cases by optimizer; those of two optimizers count for both.
    expected = {
        "adadelta": 3,
        "adagrad": 51,
        "adagrad_momentum": 8,
        "adam": 16,
        "assign": 2,
        "bounded_adagrad": 4,
        "centered_rms_prop": 3,
        "frequency_aware_adagrad": 3,
        "frequency_estimator": 2,
        "ftrl": 19,
        "lion": 4,
        "momentum": 7,
        "online_yogi": 2,
        "proximal_adagrad": 5,
        "proximal_yogi": 5,
        "rms_prop": 5,
        "stochastic_gradient_descent": 20,
    }

    counts = {
        name: sum(name in entry.optimizers for entry in golden.index())
        for name in {o["name"] for o in _engine.optimizers()}
    }

    assert counts == expected
    assert len(golden.index()) == 156


def test_the_vectors_are_those_that_were_given():
    sums = {}
    for line in (golden.DIRECTORY / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        sums[name] = digest

    actual = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in golden.DIRECTORY.iterdir()
        if path.name != "SHA256SUMS"
    }

    assert actual == sums
    assert {f"{entry.name}.npz" for entry in golden.index()} < {*sums}
