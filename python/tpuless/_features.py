# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""From a feature's ids as a user holds them to the arrays of an Enqueue op."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tpuless import _arrays
from tpuless._arrays import Array


class FeatureShape(NamedTuple):
    """What is to be filled with ids, one or several an element."""

    title: str  # "feature 'watched'".
    name: str  # The key by which a user may give it.
    shape: tuple[int, ...]
    batch_size: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class FeatureInput(NamedTuple):
    """One input of EnqueueTPUEmbeddingArbitraryTensorBatch."""

    samples: Array
    ids: Array
    weights: Array


def in_order(
    values: Any, features: Sequence[FeatureShape], label: str
) -> list[Any]:
    """Returns one value a feature, None for those that a mapping leaves out.

    Args:
      values: A mapping by name, or a list in the order of the features.
      features: All of them.
      label: The argument's name.

    Raises:
      LookupError: A key is no feature's name.
      ValueError: Names cannot be keys, or a list has another length.
    """
    if not isinstance(values, Mapping):
        entries = _arrays.to_list(values, label)
        if len(entries) != len(features):
            raise ValueError(
                f"{label} must have {len(features)} entries, one a feature, "
                f"got {len(entries)}"
            )
        return entries
    names = [feature.name for feature in features]
    if len(set(names)) < len(names) or "" in names:
        raise ValueError(
            f"{label} must be a list, because names of features are empty "
            "or occur twice"
        )
    for name in values:
        if name not in names:
            raise LookupError(
                f"unknown feature {name!r}, expected one of "
                f"{', '.join(map(repr, names))}"
            )
    return [values.get(name) for name in names]


def read(feature: FeatureShape, ids: Any, weights: Any) -> FeatureInput:
    """Reads one feature; `weights` may be None, else is built as `ids` is.

    Raises:
      ValueError: Something does not fit, which the message says.
    """
    if ids is None:
        raise ValueError(f"{feature.title}: ids must be given")
    samples, values, factors = _reader(ids)(feature, ids, weights)
    return FeatureInput(
        samples,
        _arrays.to_ids(values, f"{feature.title}: ids"),
        _arrays.to_weights(factors, f"{feature.title}: weights"),
    )


def _reader(ids: Any) -> Callable[[FeatureShape, Any, Any], Any]:
    if hasattr(ids, "nested_row_splits"):
        return _read_ragged
    if hasattr(ids, "dense_shape"):
        return _read_sparse
    if isinstance(ids, (list, tuple)) and _is_rows(ids):
        return _read_rows
    return _read_dense


def _read_ragged(feature: FeatureShape, ids: Any, weights: Any) -> Any:
    splits = np.asarray(ids.nested_row_splits[-1])
    if weights is None:
        return splits, ids.flat_values, []
    if not np.array_equal(splits, np.asarray(weights.nested_row_splits[-1])):
        raise ValueError(f"{feature.title}: weights must be rows as the ids")
    return splits, ids.flat_values, weights.flat_values


def _read_sparse(feature: FeatureShape, ids: Any, weights: Any) -> Any:
    indices = np.asarray(ids.indices)
    samples = indices
    if indices.ndim == 2 and indices.shape[1] == len(feature.shape):
        # Positions are elements of the output: nothing is left to reduce.
        samples = np.pad(indices, [(0, 0), (0, 1)])
    if weights is None:
        return samples, ids.values, []
    if not np.array_equal(indices, np.asarray(weights.indices)):
        raise ValueError(
            f"{feature.title}: weights must have the indices of the ids"
        )
    return samples, ids.values, weights.values


def _read_rows(feature: FeatureShape, ids: Any, weights: Any) -> Any:
    title = feature.title
    lengths, values = _flatten(ids, f"{title}: ids", _arrays.to_ids)
    splits = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    if weights is None:
        return splits, values, []
    weight_lengths, factors = _flatten(
        weights, f"{title}: weights", _arrays.to_weights
    )
    if weight_lengths != lengths:
        raise ValueError(f"{title}: weights must be rows as the ids")
    return splits, values, factors


def _flatten(
    rows: Any, label: str, to_array: Callable[[Any, str], Array]
) -> tuple[list[int], Array]:
    """Returns the lengths of the innermost rows, and what they hold."""
    while all(map(_is_row, rows)) and any(map(_is_rows, rows)):
        rows = [inner for row in rows for inner in row]
    arrays = [to_array(row, label) for row in rows]
    if not all(array.ndim == 1 for array in arrays):
        raise ValueError(f"{label} must be nested evenly")
    return [len(array) for array in arrays], np.concatenate(arrays)


def _read_dense(feature: FeatureShape, ids: Any, weights: Any) -> Any:
    values = _arrays.to_ids(ids, f"{feature.title}: ids")
    splits = _dense_splits(feature, values.shape)
    if weights is None:
        return splits, values.ravel(), []
    factors = _arrays.to_weights(weights, f"{feature.title}: weights")
    if factors.shape != values.shape:
        raise ValueError(
            f"{feature.title}: weights must have shape "
            f"{[*values.shape]}, got {[*factors.shape]}"
        )
    return splits, values.ravel(), factors.ravel()


def _dense_splits(feature: FeatureShape, shape: tuple[int, ...]) -> Array:
    """Returns the row splits of an array; none where an element has one id."""
    by_sample = (feature.batch_size, feature.size // feature.batch_size)
    outer_shapes = [feature.shape, (feature.size,), by_sample]
    if shape in outer_shapes:
        return np.zeros([0], np.int64)
    if shape[:-1] in outer_shapes:
        return np.arange(feature.size + 1, dtype=np.int64) * shape[-1]
    raise ValueError(
        f"{feature.title}: ids must have shape {[*feature.shape]}, or that "
        f"and one more axis to combine, got {[*shape]}"
    )


def _is_row(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or np.ndim(value) > 0


def _is_rows(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_row, value))
    return np.ndim(value) > 1
