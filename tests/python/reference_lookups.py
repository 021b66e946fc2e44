# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""From an Enqueue op's arguments to a flat list of lookups, slow and obvious.

Only valid arguments are understood; what an engine must refuse is tested by
its messages.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np


@dataclasses.dataclass
class Lookup:
    """One id's part in one row of one output."""

    input: int
    table: int
    output: int
    row: int
    id: int
    weight: float
    combiner: str
    gain: float = 0.0


@dataclasses.dataclass
class Layout:
    """What the configuration says about shapes, for both layouts."""

    vocabulary_sizes: list[int]
    dimensions: list[int]
    num_features: list[int]  # By table; table layout only.
    batch_size: int  # Table layout only.
    features: list[tuple[int, tuple[int, ...]]]  # (table, shape).
    feature_layout: bool

    @classmethod
    def of(cls, config) -> Layout:
        """Reads TensorFlow's message TPUEmbeddingConfiguration."""
        tables = config.table_descriptor
        batch_size = config.batch_size_per_tensor_core
        features = [
            (feature.table_id, tuple(feature.input_shape))
            for feature in config.feature_descriptor
        ]
        feature_layout = bool(features)
        if not feature_layout:
            features = [
                (i, (batch_size * table.num_features,))
                for i, table in enumerate(tables)
            ]
        return cls(
            vocabulary_sizes=[table.vocabulary_size for table in tables],
            dimensions=[table.dimension for table in tables],
            num_features=[table.num_features for table in tables],
            batch_size=batch_size,
            features=features,
            feature_layout=feature_layout,
        )

    def output_shape(self, output: int) -> tuple[int, ...]:
        table, shape = self.features[output]
        return (*shape, self.dimensions[table])


def _weights(weights, num_ids):
    """Returns one float32 weight an id, as a float64."""
    weights = np.asarray(weights)
    if weights.size == 0:
        return np.ones(num_ids)
    return weights.astype(np.float32).astype(np.float64)


def _combiner(combiners, layout, table, i, num_inputs):
    if not combiners:
        return "sum"
    if len(combiners) == len(layout.dimensions):
        return combiners[table]
    assert len(combiners) == num_inputs
    return combiners[i]


def _integer_batch(layout, lists, attrs):
    for table, ids in enumerate(lists["batch"]):
        for row, one in enumerate(ids):
            yield Lookup(table, table, table, row, int(one), 1.0, "sum")


def _sparse_batch(layout, lists, attrs):
    count = len(lists["embedding_indices"])
    for table in range(count):
        ids = lists["embedding_indices"][table]
        rows = lists["sample_indices"][table]
        if len(rows) == 0:
            rows = np.arange(len(ids))
        weights = _weights(lists["aggregation_weights"][table], len(ids))
        combiner = _combiner(
            attrs.get("combiners"), layout, table, table, count
        )
        for row, one, weight in zip(rows, ids, weights, strict=True):
            yield Lookup(
                table, table, table, int(row), int(one), weight, combiner
            )


def _samples_and_positions_of_indices(indices, num_ids):
    """Returns (sample, position) of each id of a SparseTensor input."""
    indices = np.asarray(indices)
    if indices.size == 0:
        return [(k, 0) for k in range(num_ids)]
    if indices.ndim == 2 and indices.shape[1] >= 2:
        return [(int(row[0]), int(row[1])) for row in indices]
    seen: dict[int, int] = {}
    pairs = []
    for sample in indices.reshape(-1):
        pairs.append((int(sample), seen.get(int(sample), 0)))
        seen[int(sample)] = seen.get(int(sample), 0) + 1
    return pairs


def _samples_and_positions_of_splits(splits, num_ids):
    """Returns (sample, position) of each id of a RaggedTensor input."""
    splits = np.asarray(splits)
    if splits.size == 0:
        return [(k, 0) for k in range(num_ids)]
    return [
        (row, position)
        for row in range(len(splits) - 1)
        for position in range(int(splits[row + 1] - splits[row]))
    ]


def _table_inputs(layout, lists, attrs, where, samples_and_positions):
    """Lookups of the ops that have one input a feature of a table."""
    table_ids = attrs["table_ids"]
    count = len(table_ids)
    max_lengths = attrs.get("max_sequence_lengths") or [0] * count
    num_features = attrs.get("num_features") or [1] * count
    next_slot = [0] * len(layout.dimensions)
    for i, table in enumerate(table_ids):
        ids = lists["embedding_indices"][i]
        weights = _weights(lists["aggregation_weights"][i], len(ids))
        combiner = _combiner(attrs.get("combiners"), layout, table, i, count)
        offset = next_slot[table]
        width = max_lengths[i] or num_features[i]
        next_slot[table] += width
        pairs = samples_and_positions(lists[where][i], len(ids))
        for (sample, position), one, weight in zip(
            pairs, ids, weights, strict=True
        ):
            if max_lengths[i]:
                if position >= max_lengths[i]:
                    continue
                element, slot = sample, position
            else:
                element, slot = divmod(sample, num_features[i])
            row = element * layout.num_features[table] + offset + slot
            yield Lookup(i, table, table, row, int(one), weight, combiner)
    assert next_slot == layout.num_features


def _sparse_tensor_batch(layout, lists, attrs):
    return _table_inputs(
        layout,
        lists,
        attrs,
        "sample_indices",
        _samples_and_positions_of_indices,
    )


def _ragged_tensor_batch(layout, lists, attrs):
    return _table_inputs(
        layout,
        lists,
        attrs,
        "sample_splits",
        _samples_and_positions_of_splits,
    )


def _elements(indices_or_splits, num_ids, shape):
    """Returns the index into `shape` of each id, or None if it is dropped."""
    where = np.asarray(indices_or_splits)
    num_elements = math.prod(shape)
    if where.ndim == 2:
        inner = [tuple(int(x) for x in row[:-1]) for row in where]
        return [
            index if all(i < n for i, n in zip(index, shape)) else None
            for index in inner
        ]
    if where.size == 0:
        assert num_ids == num_elements
        return [tuple(np.unravel_index(k, shape)) for k in range(num_ids)]
    rows_and_positions = _samples_and_positions_of_splits(where, num_ids)
    if len(where) - 1 == num_elements:
        return [
            tuple(np.unravel_index(row, shape)) for row, _ in rows_and_positions
        ]
    assert (len(where) - 1) * shape[-1] == num_elements
    return [
        (*np.unravel_index(row, shape[:-1]), position)
        if position < shape[-1]
        else None
        for row, position in rows_and_positions
    ]


def _arbitrary_tensor_batch(layout, lists, attrs):
    count = len(layout.features)
    for i, (table, shape) in enumerate(layout.features):
        ids = lists["embedding_indices"][i]
        weights = _weights(lists["aggregation_weights"][i], len(ids))
        combiner = _combiner(attrs.get("combiners"), layout, table, i, count)
        elements = _elements(
            lists["sample_indices_or_row_splits"][i], len(ids), shape
        )
        for element, one, weight in zip(elements, ids, weights, strict=True):
            if element is None:
                continue
            row = int(np.ravel_multi_index(element, shape))
            yield Lookup(i, table, i, row, int(one), weight, combiner)


_FORMS = {
    "EnqueueTPUEmbeddingIntegerBatch": _integer_batch,
    "EnqueueTPUEmbeddingSparseBatch": _sparse_batch,
    "EnqueueTPUEmbeddingSparseTensorBatch": _sparse_tensor_batch,
    "EnqueueTPUEmbeddingRaggedTensorBatch": _ragged_tensor_batch,
    "DynamicEnqueueTPUEmbeddingRaggedTensorBatch": _ragged_tensor_batch,
    "EnqueueTPUEmbeddingArbitraryTensorBatch": _arbitrary_tensor_batch,
    "DynamicEnqueueTPUEmbeddingArbitraryTensorBatch": _arbitrary_tensor_batch,
}


def lookups_of(layout: Layout, op: str, lists, attrs, skip=False):
    """Returns the lookups of one Enqueue, with their gains.

    The order is the one in which gradients act on a row: by input, output
    row, and order of enqueueing within the row.

    Args:
      layout: The shapes of the configuration.
      op: The name of the Enqueue op.
      lists: Its list arguments, by name.
      attrs: Its attributes, by name.
      skip: Whether ids outside of the table are left out.
    """
    lookups = []
    for lookup in _FORMS[op](layout, lists, attrs):
        inside = 0 <= lookup.id < layout.vocabulary_sizes[lookup.table]
        assert inside or skip
        if inside:
            lookups.append(lookup)
    by_row: dict[tuple[int, int], list[Lookup]] = {}
    for lookup in lookups:
        by_row.setdefault((lookup.output, lookup.row), []).append(lookup)
    for row in by_row.values():
        total = _denominator(row)
        for lookup in row:
            lookup.gain = lookup.weight / total if total else 0.0
    return sorted(lookups, key=lambda lookup: (lookup.output, lookup.row))


def _denominator(row: list[Lookup]) -> float:
    combiner = row[0].combiner
    if combiner == "mean":
        return math.fsum(lookup.weight for lookup in row)
    if combiner == "sqrtn":
        return math.sqrt(math.fsum(lookup.weight**2 for lookup in row))
    assert combiner == "sum"
    return 1.0
