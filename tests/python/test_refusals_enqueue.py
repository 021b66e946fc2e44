# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What Enqueue refuses: the whole message, and nothing changed."""

import dataclasses

import configs
import numpy as np
import pytest
import raw_ops
import tensorflow as tf
from reference import Reference

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_TABLES = configs.config(
    configs.table("user", 3, 2, 2), configs.table("item", 4, 3, 1)
)
_FEATURES = configs.config(
    configs.table("user", 3, 2, 0),
    configs.table("item", 4, 3, 0),
    features=[("watched", 0, [2, 3]), ("", 1, [2])],
)


def _i(*values):
    return np.array(values, np.int32)


def _f(*values):
    return np.array(values, np.float32)


_INTEGER = {"batch": [_i(0, 1, 2, 0), _i(3, 1)]}
_SPARSE = {
    "sample_indices": [_i(0, 3, 3), _i(1)],
    "embedding_indices": [_i(0, 1, 2), _i(3)],
    "aggregation_weights": [_f(1, 2, 1), _f()],
}
# A feature of 'user', one of 'item', and a second one of 'user'.
_SPARSE_TENSOR = {
    "sample_indices": [_i([0, 0], [1, 0]), _i([1, 0]), _i([0, 0])],
    "embedding_indices": [_i(0, 1), _i(3), _i(2)],
    "aggregation_weights": [_f(1, 2), _f(), _f()],
}
_RAGGED = {
    "sample_splits": [_i(0, 1, 2), _i(0, 0, 1), _i(0, 1, 1)],
    "embedding_indices": [_i(0, 1), _i(3), _i(2)],
    "aggregation_weights": [_f(1, 2), _f(), _f()],
}
_ARBITRARY = {
    "sample_indices_or_row_splits": [_i([0, 2, 0], [1, 0, 0]), _i()],
    "embedding_indices": [_i(0, 1), _i(3, 0)],
    "aggregation_weights": [_f(1, 2), _f()],
}
_TABLE_IDS = {"table_ids": [0, 1, 0]}


@dataclasses.dataclass(frozen=True)
class _Form:
    op: str
    config: bytes
    lists: dict
    attrs: dict


_FORMS = {
    "integer": _Form("IntegerBatch", _TABLES, _INTEGER, {}),
    "sparse": _Form("SparseBatch", _TABLES, _SPARSE, {}),
    "sparse_tensor": _Form(
        "SparseTensorBatch", _TABLES, _SPARSE_TENSOR, _TABLE_IDS
    ),
    "ragged": _Form("RaggedTensorBatch", _TABLES, _RAGGED, _TABLE_IDS),
    "arbitrary": _Form("ArbitraryTensorBatch", _FEATURES, _ARBITRARY, {}),
}


@dataclasses.dataclass(frozen=True)
class _Fault:
    """What to change in a form's good arguments, and what it must answer.

    `changes` are attributes or whole list arguments; "name[i]" is an entry.
    """

    form: str
    changes: dict
    message: str
    name: str = ""

    def arguments(self):
        form = _FORMS[self.form]
        lists = {name: [*tensors] for name, tensors in form.lists.items()}
        attrs = dict(form.attrs)
        more = {}
        for key, value in self.changes.items():
            name, _, index = key.removesuffix("]").partition("[")
            if index:
                lists[name][int(index)] = value
            elif name in lists:
                lists[name] = value
            elif name in ("mode_override", "core"):
                more[name] = value
            else:
                attrs[name] = value
        return lists, attrs, more

    def __str__(self):
        return f"{self.form}-{self.message}"


def _common_faults(form, first):
    """Returns the faults that all forms but integer batches share.

    Args:
      form: Which one.
      first: How a message names its first input.
    """
    return [
        _Fault(form, changes, message)
        for changes, message in [
            (
                {"mode_override": "both"},
                "unknown mode_override 'both', expected one of 'unspecified',"
                " 'inference', 'train', 'training', 'backward_pass_only'",
            ),
            (
                {"core": 1},
                "device_ordinal must be >= -1 and < 1, the cores of this "
                "host, got 1",
            ),
            (
                {"core": -2},
                "device_ordinal must be >= -1 and < 1, the cores of this "
                "host, got -2",
            ),
            (
                {"combiners": ["avg", "sum"]},
                "unknown combiner 'avg', expected one of 'sum', 'mean', "
                "'sqrtn'",
            ),
            (
                {"embedding_indices[0]": _i([0], [1])},
                f"{first}: embedding_indices must be int32 or int64 of rank "
                "1, got shape [2, 1]",
            ),
            (
                {"aggregation_weights[0]": _f([1, 2])},
                f"{first}: aggregation_weights must be floats of rank 1, got "
                "shape [1, 2]",
            ),
        ]
    ]


_USER, _ITEM = "table 'user'", "table 'item'"
_INPUT_0, _INPUT_2 = "input 0 (table 'user')", "input 2 (table 'user')"
_INPUT_1 = "input 1 (table 'item')"
_WATCHED, _SECOND = "feature 'watched'", "feature 1"

_FAULTS = [
    # One id an activation row.
    _Fault(
        "integer",
        {"batch[0]": _i(0, 1, 2)},
        f"{_USER}: must have 4 ids, one a sample, got 3",
    ),
    _Fault(
        "integer",
        {"batch[1]": _i(0, 4)},
        f"{_ITEM}: id 4 of sample 1 (embedding_indices[1]) must be >= 0 and "
        "< vocabulary_size (4)",
    ),
    _Fault(
        "integer",
        {"batch[1]": _i([0, 1])},
        f"{_ITEM}: embedding_indices must be int32 or int64 of rank 1, got "
        "shape [1, 2]",
    ),
    _Fault(
        "integer",
        {"batch": [_i(0, 1, 2, 0)]},
        "must have 2 inputs, one a table, got 1",
    ),
    _Fault(
        "integer",
        {"core": 1},
        "device_ordinal must be >= -1 and < 1, the cores of this host, got 1",
    ),
    # Activation rows.
    *_common_faults("sparse", _USER),
    _Fault(
        "sparse",
        {"sample_indices[0]": _i(0, 4, 3)},
        f"{_USER}: sample index 4 of id 1 must be >= 0 and < 4",
    ),
    _Fault(
        "sparse",
        {"sample_indices[0]": _i(0, 3, -1)},
        f"{_USER}: sample index -1 of id 2 must be >= 0 and < 4",
    ),
    _Fault(
        "sparse",
        {"sample_indices[0]": _i([0, 0], [3, 0], [3, 1])},
        f"{_USER}: sample_indices must have rank 1, got shape [3, 2]",
    ),
    _Fault(
        "sparse",
        {"sample_indices[0]": _i(0, 3)},
        f"{_USER}: sample_indices must have one entry an id (3), got 2",
    ),
    _Fault(
        "sparse",
        {"sample_indices[0]": _i()},
        f"{_USER}: must have 4 ids, one a sample, got 3",
    ),
    _Fault(
        "sparse",
        {"embedding_indices[0]": _i(0, -1, 2)},
        f"{_USER}: id -1 of sample 3 (embedding_indices[1]) must be >= 0 and "
        "< vocabulary_size (3)",
    ),
    _Fault(
        "sparse",
        {"embedding_indices[0]": np.array([0, 2**40, 2])},
        f"{_USER}: id {2**40} of sample 3 (embedding_indices[1]) must be >= "
        "0 and < vocabulary_size (3)",
        "sparse-64 bit id",
    ),
    _Fault(
        "sparse",
        {"aggregation_weights[0]": _f(1, 2)},
        f"{_USER}: aggregation_weights must be empty or one an id (3), got 2",
    ),
    _Fault(
        "sparse",
        {"combiners": ["sum"]},
        "combiners must be empty, one a table (2) or one an input (2), got 1",
    ),
    # SparseTensors.
    *_common_faults("sparse_tensor", _INPUT_0),
    _Fault(
        "sparse_tensor",
        {"sample_indices[0]": _i([0, 0], [2, 0])},
        f"{_INPUT_0}: sample index 2 of id 1 must be >= 0 and < 2",
    ),
    _Fault(
        "sparse_tensor",
        {"sample_indices[0]": _i([-1, 0], [1, 0])},
        f"{_INPUT_0}: sample index -1 of id 0 must be >= 0 and < 2",
    ),
    _Fault(
        "sparse_tensor",
        {"sample_indices[0]": np.zeros([2, 2, 1], np.int32)},
        f"{_INPUT_0}: sample_indices must be integers of rank 1 or 2, got "
        "shape [2, 2, 1]",
    ),
    _Fault(
        "sparse_tensor",
        {"sample_indices[0]": _i([0, 0])},
        f"{_INPUT_0}: sample_indices must have one entry an id (2), got 1",
    ),
    _Fault(
        "sparse_tensor",
        {"sample_indices[1]": _i()},
        f"{_INPUT_1}: must have 2 ids, one a sample, got 1",
    ),
    _Fault(
        "sparse_tensor",
        {"table_ids": [0, 1]},
        "must have 2 inputs, one a table_id, got 3",
    ),
    _Fault(
        "sparse_tensor",
        {"table_ids": [0, 2, 0]},
        "input 1: table_ids[1] must be >= 0 and < 2, got 2",
    ),
    _Fault(
        "sparse_tensor",
        {"table_ids": [0, -1, 0]},
        "input 1: table_ids[1] must be >= 0 and < 2, got -1",
    ),
    _Fault(
        "sparse_tensor",
        {"max_sequence_lengths": [0, 0]},
        "max_sequence_lengths must be empty or have 3 entries, one an input, "
        "got 2",
    ),
    _Fault(
        "sparse_tensor",
        {"max_sequence_lengths": [0, 0, -1]},
        f"{_INPUT_2}: max_sequence_lengths must be >= 0, got -1",
    ),
    _Fault(
        "sparse_tensor",
        {
            "max_sequence_lengths": [1, 0, 0],
            "sample_indices[0]": _i([0, 0], [1, -1]),
        },
        f"{_INPUT_0}: position -1 of id 1 must be >= 0",
    ),
    _Fault(
        "sparse_tensor",
        {
            "max_sequence_lengths": [1, 0, 0],
            "sample_indices[0]": _i([0, 0], [1, 5]),
            "embedding_indices[0]": _i(0, 3),
        },
        f"{_INPUT_0}: id 3 of sample 1 (embedding_indices[1]) must be >= 0 "
        "and < vocabulary_size (3)",
        "sparse_tensor-id that is cut off",
    ),
    _Fault(
        "sparse_tensor",
        {"num_features": [1]},
        "num_features must be empty or have 3 entries, one an input, got 1",
    ),
    _Fault(
        "sparse_tensor",
        {"num_features": [1, 0, 1]},
        f"{_INPUT_1}: num_features must be >= 1, got 0",
    ),
    _Fault(
        "sparse_tensor",
        {"num_features": [1, 2, 1], "max_sequence_lengths": [0, 2, 0]},
        f"{_INPUT_1}: num_features must be 1 for a sequence feature, got 2",
    ),
    _Fault(
        "sparse_tensor",
        {"num_features": [2, 1, 1]},
        f"{_USER}: num_features and max_sequence_lengths of its inputs must "
        "add up to its num_features (2), got 2 + 1",
    ),
    _Fault(
        "sparse_tensor",
        {"table_ids": [0, 1, 1]},
        f"{_ITEM}: num_features and max_sequence_lengths of its inputs must "
        "add up to its num_features (1), got 1 + 1",
    ),
    _Fault(
        "sparse_tensor",
        {
            "table_ids": [0, 1],
            "sample_indices": _SPARSE_TENSOR["sample_indices"][:2],
            "embedding_indices": _SPARSE_TENSOR["embedding_indices"][:2],
            "aggregation_weights": _SPARSE_TENSOR["aggregation_weights"][:2],
        },
        f"{_USER}: num_features and max_sequence_lengths of its inputs must "
        "add up to its num_features (2), got 1",
    ),
    _Fault(
        "sparse_tensor",
        {"combiners": ["sum"]},
        "combiners must be empty, one a table (2) or one an input (3), got 1",
    ),
    # RaggedTensors.
    *_common_faults("ragged", _INPUT_0),
    _Fault(
        "ragged",
        {"sample_splits[0]": _i(1, 1, 2)},
        f"{_INPUT_0}: row splits must start at 0, got 1",
    ),
    _Fault(
        "ragged",
        {"sample_splits[0]": _i(0, 1, 1)},
        f"{_INPUT_0}: row splits must end at the number of ids (2), got 1",
    ),
    _Fault(
        "ragged",
        {"sample_splits[0]": _i(0, 3, 2)},
        f"{_INPUT_0}: row splits must not fall, got 3 and then 2 at sample 1",
    ),
    _Fault(
        "ragged",
        {"sample_splits[0]": _i([0], [1], [2])},
        f"{_INPUT_0}: row splits must be integers of rank 1, got shape [3, 1]",
    ),
    _Fault(
        "ragged",
        {"sample_splits[0]": _i(0, 1, 2, 2)},
        f"{_INPUT_0}: row splits must be those of 2 samples, got 3",
    ),
    _Fault(
        "ragged",
        {"sample_splits[0]": _i(0)},
        f"{_INPUT_0}: row splits must be those of 2 samples, got 0",
    ),
    _Fault(
        "ragged",
        {"embedding_indices[2]": _i(3)},
        f"{_INPUT_2}: id 3 of sample 0 (embedding_indices[0]) must be >= 0 "
        "and < vocabulary_size (3)",
    ),
    # Arbitrary.
    *_common_faults("arbitrary", _WATCHED),
    _Fault(
        "arbitrary",
        {"sample_indices_or_row_splits[0]": _i([0, 2], [1, 0])},
        f"{_WATCHED}: sparse indices must be integers of shape [num_ids, 3] "
        "for activations of shape [2, 3] + [dimension], got shape [2, 2]",
    ),
    _Fault(
        "arbitrary",
        {"sample_indices_or_row_splits[0]": np.zeros([1, 1, 1], np.int32)},
        f"{_WATCHED}: sample_indices_or_row_splits must have rank 1 or 2, "
        "got shape [1, 1, 1]",
    ),
    _Fault(
        "arbitrary",
        {"sample_indices_or_row_splits[0]": _i([0, 2, 0])},
        f"{_WATCHED}: sparse indices must have one entry an id (2), got 1",
    ),
    _Fault(
        "arbitrary",
        {"sample_indices_or_row_splits[0]": _i([0, 2, 0], [2, 0, 0])},
        f"{_WATCHED}: sample index 2 of id 1 must be >= 0 and < 2",
    ),
    _Fault(
        "arbitrary",
        {"sample_indices_or_row_splits[0]": _i([0, 2, 0], [1, -1, 0])},
        f"{_WATCHED}: sparse index -1 of id 1 on axis 1 must be >= 0",
    ),
    _Fault(
        "arbitrary",
        {"sample_indices_or_row_splits[0]": _i()},
        f"{_WATCHED}: must have 6 ids, one a sample, got 2",
    ),
    _Fault(
        "arbitrary",
        {"sample_indices_or_row_splits[1]": _i(0, 1, 2, 2)},
        f"{_SECOND}: row splits must be those of 2 samples, got 3",
    ),
    _Fault(
        "arbitrary",
        {"embedding_indices[0]": _i(0, 3)},
        f"{_WATCHED}: id 3 of sample 1 (embedding_indices[1]) must be >= 0 "
        "and < vocabulary_size (3)",
    ),
    _Fault(
        "arbitrary",
        {name: tensors[:1] for name, tensors in _ARBITRARY.items()},
        "must have 2 inputs, one a feature_descriptor, got 1",
    ),
]


def _tables(config):
    rng = np.random.default_rng(4)
    return [
        [rng.standard_normal((t.vocabulary_size, t.dimension), np.float32)]
        for t in configs.parse(config).table_descriptor
    ]


def _started(backend, config):
    engine = backend(config)
    engine.load_whole(_tables(config))
    return engine


def _assert_good_step_works(engine, form, op):
    """Runs a whole step of the form's good arguments."""
    reference = Reference(form.config)
    gradients = [
        np.ones(shape, np.float32)
        for shape in configs.output_shapes(form.config)
    ]
    for table, variables in enumerate(_tables(form.config)):
        reference.load(table, variables)
    for each in (reference, engine):
        each.enqueue(op, form.lists, form.attrs, "train")
    for actual, expected in zip(
        engine.receive(), reference.receive(), strict=True
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6)
    for each in (reference, engine):
        each.send(gradients)
    for table in range(2):
        np.testing.assert_allclose(
            engine.retrieve(table)[0],
            reference.retrieve(table)[0],
            rtol=1e-6,
            atol=1e-6,
        )


def _assert_refused(engine, fault, op):
    form = _FORMS[fault.form]
    lists, attrs, more = fault.arguments()
    before = engine.statistics()

    with raw_ops.refused(engine.error("INVALID_ARGUMENT"), fault.message):
        engine.enqueue(op, lists, attrs, **more)

    assert engine.statistics() == before
    for table, (expected,) in enumerate(_tables(form.config)):
        np.testing.assert_array_equal(engine.retrieve(table)[0], expected)
    _assert_good_step_works(engine, form, op)


@pytest.mark.parametrize("fault", _FAULTS, ids=lambda f: f.name or str(f))
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_enqueue_refuses(backend, fault):
    form = _FORMS[fault.form]
    engine = _started(backend, form.config)

    _assert_refused(engine, fault, f"EnqueueTPUEmbedding{form.op}")


@pytest.mark.parametrize(
    "fault",
    [fault for fault in _FAULTS if fault.form in ("ragged", "arbitrary")],
    ids=lambda f: f.name or str(f),
)
def test_dynamic_enqueue_refuses(fault):
    form = _FORMS[fault.form]
    engine = _started(raw_ops.RawOpsBackend, form.config)

    _assert_refused(engine, fault, f"DynamicEnqueueTPUEmbedding{form.op}")


@pytest.mark.parametrize(
    "name", ["integer", "sparse", "sparse_tensor", "ragged"]
)
@pytest.mark.parametrize("backend", raw_ops.BACKENDS, ids=lambda b: b.name)
def test_feature_descriptors_need_the_arbitrary_op(backend, name):
    form = _FORMS[name]
    engine = _started(backend, _FEATURES)

    with raw_ops.refused(
        backend.error("INVALID_ARGUMENT"),
        "the configuration must have no feature_descriptor for this op; with "
        "them, use EnqueueTPUEmbeddingArbitraryTensorBatch",
    ):
        engine.enqueue(f"EnqueueTPUEmbedding{form.op}", form.lists, form.attrs)

    _assert_good_step_works(
        engine,
        _FORMS["arbitrary"],
        "EnqueueTPUEmbeddingArbitraryTensorBatch",
    )


@pytest.mark.parametrize("name", _FORMS)
def test_mode_override_must_be_a_scalar(name):
    form = _FORMS[name]
    engine = _started(raw_ops.RawOpsBackend, form.config)
    op = f"EnqueueTPUEmbedding{form.op}"

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        "mode_override must be a scalar, got shape [1]",
    ):
        engine.enqueue(op, form.lists, form.attrs, ["train"])

    _assert_good_step_works(engine, form, op)


@pytest.mark.parametrize("name", ["ragged", "arbitrary"])
def test_dynamic_device_ordinal_must_be_a_scalar(name):
    form = _FORMS[name]
    engine = _started(raw_ops.RawOpsBackend, form.config)
    op = f"DynamicEnqueueTPUEmbedding{form.op}"

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        "device_ordinal must be a scalar, got shape [1]",
    ):
        engine.enqueue(op, form.lists, form.attrs, core=[0])

    _assert_good_step_works(engine, form, op)


@pytest.mark.parametrize("name", _FORMS)
def test_enqueue_before_configure_is_refused(name):
    form = _FORMS[name]

    with raw_ops.refused(
        tf.errors.FailedPreconditionError,
        "no engine is configured; run ConfigureTPUEmbedding first",
    ):
        raw_ops.enqueue_op(
            f"EnqueueTPUEmbedding{form.op}", form.lists, form.attrs
        )


@pytest.mark.parametrize("name", _FORMS)
def test_enqueue_needs_no_load(name):
    form = _FORMS[name]
    engine = raw_ops.RawOpsBackend(form.config)
    op = f"EnqueueTPUEmbedding{form.op}"

    engine.enqueue(op, form.lists, form.attrs)

    assert engine.statistics().queued_batches == 1
    engine.load_whole(_tables(form.config))
    assert len(engine.receive()) == 2


def test_private_batch_format_is_not_implemented():
    raw_ops.RawOpsBackend(_TABLES)

    with raw_ops.refused(
        tf.errors.UnimplementedError,
        "EnqueueTPUEmbeddingBatch takes batches in a private format; use "
        "EnqueueTPUEmbeddingArbitraryTensorBatch",
    ):
        raw_ops.enqueue_batch([b""])
