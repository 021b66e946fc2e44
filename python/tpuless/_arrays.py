# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What a user passes as an array, made one that the engine can read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_IDS = ("int32", "int64")
_WEIGHTS = ("float32", "float64")
_FLOATS = ("float32", "float64", "float16", "bfloat16")


def to_ids(value: npt.ArrayLike, label: str) -> Array:
    """Returns ids, indices or row splits; Python's integers become int64.

    Raises:
      ValueError: They are neither int32 nor int64; named `label`.
    """
    return _to_array(value, label, _IDS, np.int64)


def to_weights(value: npt.ArrayLike, label: str) -> Array:
    """Returns aggregation weights; Python's numbers become float32.

    Raises:
      ValueError: They are neither float32 nor float64; named `label`.
    """
    return _to_array(value, label, _WEIGHTS, np.float32)


def to_float32(value: npt.ArrayLike, label: str) -> Array:
    """Returns float32 of any floats or of Python's numbers.

    Raises:
      ValueError: They are not floats; named `label`.
    """
    array = _to_array(value, label, _FLOATS, np.float32)
    return _row_major(array, np.dtype(np.float32))


def to_list(values: Any, label: str) -> list[Any]:
    """Returns the entries of a list of arrays, which is not itself one.

    Raises:
      ValueError: It is a single array; named `label`.
    """
    if hasattr(values, "dtype") or not isinstance(values, Iterable):
        raise ValueError(
            f"{label} must be a list of arrays, got a single "
            f"{type(values).__name__}"
        )
    return list(values)


def to_float32_list(values: Any, label: str) -> list[Array]:
    """Returns the entries of a list, each as `to_float32` does."""
    return [
        to_float32(value, f"{label}[{i}]")
        for i, value in enumerate(to_list(values, label))
    ]


def _to_array(
    value: npt.ArrayLike,
    label: str,
    accepted: tuple[str, ...],
    default: type[np.generic],
) -> Array:
    array = np.asarray(value)
    # Python's numbers have no type to be strict about, but ids are whole.
    if not hasattr(value, "dtype") and (
        array.size == 0
        or (array.dtype.kind in "iuf" and np.issubdtype(default, np.floating))
    ):
        array = array.astype(default)
    if array.dtype.name not in accepted:
        raise ValueError(
            f"{label} must have a dtype of "
            f"{', '.join(map(repr, accepted))}, got '{array.dtype.name}'"
        )
    return _row_major(array, array.dtype.newbyteorder("="))


def _row_major(array: Array, dtype: np.dtype[Any]) -> Array:
    return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])
