# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The golden refusals: right stage, right code, and nothing changed."""

import base64

import configs
import golden
import numpy as np
import pytest
import raw_ops

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_CASES = golden.errors()
# Of the calls that are to run into it, in seconds.
_TIMEOUT = 0.2


def _cases(stage, code=None):
    return [
        pytest.param(case, id=case["name"])
        for case in _CASES
        if case["stage"] == stage and code in (None, case["code"])
    ]


def _config(case):
    return base64.b64decode(case["config"])


def _tables(config):
    """Returns initial variables of all tables: weights, accumulators."""
    rng = np.random.default_rng(7)
    return [
        [
            rng.standard_normal(
                (table.vocabulary_size, table.dimension), np.float32
            ),
            np.full((table.vocabulary_size, table.dimension), 0.1, np.float32),
        ]
        for table in configs.parse(config).table_descriptor
    ]


def _started(backend, config):
    engine = backend(config, receive_timeout=_TIMEOUT)
    engine.load_whole(_tables(config))
    return engine


def _enqueue(engine, spec):
    lists = {
        "sample_indices": np.int32,
        "embedding_indices": np.int32,
        "aggregation_weights": np.float32,
    }
    engine.enqueue(
        spec["op"],
        {
            name: [np.asarray(tensor, dtype) for tensor in spec[name]]
            for name, dtype in lists.items()
        },
        {"combiners": spec["combiners"]},
        spec["mode_override"],
    )


def _enqueue_good(engine, mode_override="train"):
    spec = next(c["spec"] for c in _CASES if c["name"] == "ok_sparse")
    _enqueue(engine, {**spec, "mode_override": mode_override})


def _gradients(config, shapes=None):
    shapes = shapes or configs.output_shapes(config)
    return [np.ones(shape, np.float32) for shape in shapes]


def _good_rates(config):
    dynamic = "dynamic" in str(configs.parse(config))
    return [0.1] if dynamic else []


def _assert_tables_as_loaded(engine, config):
    for t, variables in enumerate(_tables(config)):
        for actual, expected in zip(engine.retrieve(t), variables, strict=True):
            np.testing.assert_array_equal(actual, expected)


def _assert_step_works(engine, config):
    """Runs the step in which row 0 of table 0 is looked up in sample 0."""
    weights = _tables(config)[0][0]

    activations = engine.receive()
    engine.send(_gradients(config), _good_rates(config))

    np.testing.assert_array_equal(activations[0][0], weights[0])
    assert not activations[0][1:].any()
    _assert_first_row_updated(engine, config)


def _assert_first_row_updated(engine, config):
    weights = _tables(config)[0][0]
    after = engine.retrieve(0)[0]
    # One step of Adagrad with gradient 1 and accumulator 0.1.
    np.testing.assert_allclose(
        after[0], weights[0] - 0.1 / np.sqrt(1.1), rtol=1e-6, atol=1e-7
    )
    np.testing.assert_array_equal(after[1:], weights[1:])


@pytest.mark.parametrize("case", _cases("configure"))
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_configure_answers_with_the_code(case, backend):
    if case["code"] == "OK":
        backend(_config(case))
        return

    with pytest.raises(backend.error(case["code"])):
        backend(_config(case))

    good = _config(_CASES[0])
    engine = _started(backend, good)
    _enqueue_good(engine)
    _assert_step_works(engine, good)


@pytest.mark.parametrize("case", _cases("enqueue"))
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_enqueue_answers_with_the_code(case, backend):
    config = _config(case)
    engine = _started(backend, config)
    before = engine.statistics()

    if case["code"] == "OK":
        _enqueue(engine, case["spec"])
        _assert_step_works(engine, config)
        return
    with pytest.raises(backend.error(case["code"])):
        _enqueue(engine, case["spec"])

    assert engine.statistics() == before
    _assert_tables_as_loaded(engine, config)
    _enqueue_good(engine)
    _assert_step_works(engine, config)


@pytest.mark.parametrize("case", _cases("recv"))
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_receive_answers_with_the_code(case, backend):
    config = _config(case)
    engine = _started(backend, config)
    before = engine.statistics()

    with pytest.raises(backend.error(case["code"])):
        engine.receive()

    assert engine.statistics() == before
    _assert_tables_as_loaded(engine, config)
    _enqueue_good(engine)
    _assert_step_works(engine, config)


@pytest.mark.parametrize("case", _cases("send", "INVALID_ARGUMENT"))
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_a_bad_send_leaves_its_step_open(case, backend):
    config = _config(case)
    spec = case["spec"]
    engine = _started(backend, config)
    _enqueue_good(engine)
    engine.receive()
    before = engine.statistics()
    rates = _good_rates(config)
    if "learning_rates" in spec:
        rates = [0.1] * spec["learning_rates"]

    with pytest.raises(backend.error(case["code"])):
        engine.send(_gradients(config, spec.get("shapes")), rates)

    assert engine.statistics() == before
    _assert_tables_as_loaded(engine, config)
    engine.send(_gradients(config), _good_rates(config))
    _assert_first_row_updated(engine, config)


@pytest.mark.parametrize("case", _cases("send", "DEADLINE_EXCEEDED"))
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_a_send_without_its_batch_waits_in_vain(case, backend):
    config = _config(case)
    engine = _started(backend, config)
    if case["name"] == "send_after_inference":
        _enqueue_good(engine, "inference")
        engine.receive()
    before = engine.statistics()

    with pytest.raises(backend.error(case["code"])):
        engine.send(_gradients(config), _good_rates(config))

    assert engine.statistics() == before
    _assert_tables_as_loaded(engine, config)
    _enqueue_good(engine)
    _assert_step_works(engine, config)


def test_all_cases_are_there():
    stages = [case["stage"] for case in _CASES]

    assert {stage: stages.count(stage) for stage in {*stages}} == {
        "configure": 27,
        "enqueue": 10,
        "recv": 1,
        "send": 6,
    }
