# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for configurations and batches.

All numbers are small multiples of powers of two: sums of them are exact in
float32, and a comparison with the float64 reference is never decided by
rounding where a formula has a jump.
"""

from __future__ import annotations

import dataclasses
import math

import configs
import numpy as np
import steps
from hypothesis import strategies as st
from table_strategies import AWARE, grid, needs_exact_sums, tables, variables

# Values of dynamic inputs.
_DYNAMIC = {"rate": [0.0625, 0.25], "step": [1, 3, 16]}


@dataclasses.dataclass
class Step:
    """The arguments of one Enqueue, and of its Send."""

    op: str
    lists: dict[str, list[np.ndarray]]
    attrs: dict
    mode_override: str
    gradients: list[np.ndarray]
    learning_rates: list[float]


@dataclasses.dataclass
class Case:
    """A configuration, initial tables, and steps."""

    config: bytes
    initial: list[list[np.ndarray]]
    steps: list[Step]


@st.composite
def cases(draw):
    """Draws a configuration of either layout with a few steps."""
    feature_layout = draw(st.booleans())
    num_tables = draw(st.integers(1, 3))
    rate_tag, step_tag = draw(st.sampled_from([(None, 0), (0, 1), (1, 0)]))
    descriptors = [
        draw(
            tables(
                f"t{i}",
                0 if feature_layout else draw(st.integers(1, 3)),
                rate_tag,
                step_tag,
            )
        )
        for i in range(num_tables)
    ]
    dynamic = _close_holes(descriptors, rate_tag, step_tag)
    features = []
    if feature_layout:
        owners = [*range(num_tables)]
        owners += draw(st.lists(st.integers(0, num_tables - 1), max_size=2))
        shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3)
        features = [
            (f"f{i}", table, draw(shapes))
            for i, table in enumerate(draw(st.permutations(owners)))
        ]
    config = configs.config(
        *descriptors,
        batch_size=0 if feature_layout else draw(st.integers(1, 4)),
        features=features,
        pipelined=draw(st.booleans()),
        sharding=draw(st.sampled_from([configs.DIV, configs.MOD])),
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Case(
        config,
        [variables(rng, table) for table in descriptors],
        [
            _step(rng, config, draw(_FORMS[feature_layout]), dynamic)
            for _ in range(draw(st.integers(1, 4)))
        ],
    )


def _close_holes(descriptors, rate_tag, step_tag):
    """Renumbers tags that tables use; returns what they stand for, by tag."""
    users = {rate_tag: [], step_tag: []}
    for table in descriptors:
        parameters = table.optimization_parameters
        if parameters.learning_rate.HasField("dynamic"):
            users[rate_tag].append(parameters.learning_rate.dynamic)
        if parameters.WhichOneof("parameters") == AWARE:
            users[step_tag].append(
                parameters.frequency_aware_adagrad.step_counter
            )
    used = [tag for tag in (0, 1) if users.get(tag)]
    for new, old in enumerate(used):
        for user in users[old]:
            user.tag = new
    return ["rate" if tag == rate_tag else "step" for tag in used]


def _random_rows(rng, num_rows, vocabulary_size):
    return [
        rng.integers(0, vocabulary_size, rng.integers(0, 5)).tolist()
        for _ in range(num_rows)
    ]


def _random_weights(rng, rows):
    if rng.random() < 0.5:
        return None
    # Positive: those that cancel would make the reference divide by ~ 0.
    return [grid(rng, len(row), 1, 8, 4).tolist() for row in rows]


def _step(rng, config, form, dynamic):
    message = configs.parse(config)
    op, lists, attrs = form(rng, message)
    combiners = ["sum", "mean", "sqrtn"]
    count = len(message.table_descriptor)
    if op != "EnqueueTPUEmbeddingIntegerBatch":
        attrs["combiners"] = [str(c) for c in rng.choice(combiners, count)]
        for t, table in enumerate(message.table_descriptor):
            if needs_exact_sums(table):
                attrs["combiners"][t] = "sum"
    return Step(
        op,
        lists,
        attrs,
        str(rng.choice(["unspecified", "train", "inference"])),
        [grid(rng, shape, -8, 8) for shape in configs.output_shapes(config)],
        [float(rng.choice(_DYNAMIC[what])) for what in dynamic],
    )


def _merged(parts):
    """Joins one-input arguments of ops into lists."""
    return {name: [part[name][0] for part in parts] for name in parts[0]}


def _integer_batch(rng, message):
    batch_size = message.batch_size_per_tensor_core
    return (
        "EnqueueTPUEmbeddingIntegerBatch",
        {
            "batch": [
                rng.integers(
                    0, table.vocabulary_size, batch_size * table.num_features
                ).astype(np.int32)
                for table in message.table_descriptor
            ]
        },
        {},
    )


def _sparse_batch(rng, message):
    parts = []
    for table in message.table_descriptor:
        count = message.batch_size_per_tensor_core * table.num_features
        rows = _random_rows(rng, count, table.vocabulary_size)
        ragged = steps.ragged(rows, _random_weights(rng, rows))
        samples = np.repeat(range(count), [len(row) for row in rows])
        order = rng.permutation(len(samples))
        parts.append(_as_sparse(ragged, samples, order))
    return "EnqueueTPUEmbeddingSparseBatch", _merged(parts), {}


def _as_sparse(ragged, samples, order):
    weights = ragged["aggregation_weights"][0]
    return {
        "sample_indices": [np.asarray(samples, np.int32)[order]],
        "embedding_indices": [ragged["embedding_indices"][0][order]],
        "aggregation_weights": [weights[order] if weights.size else weights],
    }


def _ragged_features(rng, message):
    """Returns table_ids, sequence lengths and one ragged input a slot."""
    inputs = []
    for t, table in enumerate(message.table_descriptor):
        left = table.num_features
        while left:
            width = int(rng.integers(1, left + 1))
            kind = str(rng.choice(["sequence", "wide"]))
            inputs.append((t, width, kind))
            left -= width
    rng.shuffle(inputs)
    return [(int(t), int(width), kind) for t, width, kind in inputs]


def _table_inputs(rng, message):
    parts, attrs = (
        [],
        {
            "table_ids": [],
            "max_sequence_lengths": [],
            "num_features": [],
        },
    )
    batch_size = message.batch_size_per_tensor_core
    for t, width, kind in _ragged_features(rng, message):
        sequence = kind == "sequence"
        count = batch_size if sequence else batch_size * width
        vocabulary_size = message.table_descriptor[t].vocabulary_size
        rows = _random_rows(rng, count, vocabulary_size)
        parts.append(steps.ragged(rows, _random_weights(rng, rows)))
        attrs["table_ids"].append(t)
        attrs["max_sequence_lengths"].append(width if sequence else 0)
        attrs["num_features"].append(1 if sequence else width)
    return parts, attrs


def _ragged_tensor_batch(rng, message):
    parts, attrs = _table_inputs(rng, message)
    return "EnqueueTPUEmbeddingRaggedTensorBatch", _merged(parts), attrs


def _sparse_tensor_batch(rng, message):
    parts, attrs = _table_inputs(rng, message)
    sparse = []
    for part in parts:
        indices = [
            (sample, position)
            for sample, length in enumerate(np.diff(part["sample_splits"][0]))
            for position in range(length)
        ]
        indices = np.array(indices, np.int32).reshape(-1, 2)
        order = rng.permutation(len(indices))
        sparse.append(_as_sparse(part, indices, order))
    return "EnqueueTPUEmbeddingSparseTensorBatch", _merged(sparse), attrs


def _arbitrary_tensor_batch(rng, message):
    """Draws dense, ragged and sparse inputs, and ragged sequences."""
    parts = []
    shapes = [
        (feature.table_id, list(feature.input_shape))
        for feature in message.feature_descriptor
    ] or [
        (t, [message.batch_size_per_tensor_core * table.num_features])
        for t, table in enumerate(message.table_descriptor)
    ]
    for t, shape in shapes:
        vocabulary_size = message.table_descriptor[t].vocabulary_size
        kind = str(rng.choice(["dense", "ragged", "sequence", "sparse"]))
        count = math.prod(shape)
        if kind == "sequence" and len(shape) > 1:
            count //= shape[-1]
        rows = _random_rows(rng, count, vocabulary_size)
        if kind == "dense":
            rows = rng.integers(0, vocabulary_size, [count, 1]).tolist()
        ragged = steps.ragged(rows, _random_weights(rng, rows))
        where = ragged["sample_splits"]
        if kind == "dense":
            where = [np.zeros([0], np.int32)]
        elif kind == "sparse":
            indices = [
                (*np.unravel_index(row, shape), position)
                for row, ids in enumerate(rows)
                for position in range(len(ids))
            ]
            where = [np.array(indices, np.int32).reshape(-1, len(shape) + 1)]
        parts.append(
            {
                "sample_indices_or_row_splits": where,
                "embedding_indices": ragged["embedding_indices"],
                "aggregation_weights": ragged["aggregation_weights"],
            }
        )
    return "EnqueueTPUEmbeddingArbitraryTensorBatch", _merged(parts), {}


# By whether the configuration has feature_descriptors.
_FORMS = {
    False: st.sampled_from(
        [
            _integer_batch,
            _sparse_batch,
            _sparse_tensor_batch,
            _ragged_tensor_batch,
            _arbitrary_tensor_batch,
        ]
    ),
    True: st.just(_arbitrary_tensor_batch),
}
