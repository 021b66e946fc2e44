# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The options of an engine, as a user gives them."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, SupportsFloat, SupportsIndex

import numpy as np

if TYPE_CHECKING:
    from tpuless import _engine

OutOfRangeIds = Literal["error", "skip"]

_MAX_SECONDS = 1e9  # For ever, and yet a number of nanoseconds.
_OUT_OF_RANGE_IDS = ("error", "skip")  # Each the number that an op takes.


def as_numbers(
    *,
    receive_timeout: SupportsFloat | None = None,
    queue_limit: SupportsIndex | None = None,
    out_of_range_ids: OutOfRangeIds | None = None,
    experimental_optimizers: bool | None = None,
) -> dict[str, float]:
    """Checks options; returns those that are not None, as an op takes them."""
    numbers: dict[str, float] = {}
    if receive_timeout is not None:
        numbers["receive_timeout"] = _check_timeout(float(receive_timeout))
    if queue_limit is not None:
        numbers["queue_limit"] = _check_limit(operator.index(queue_limit))
    if out_of_range_ids is not None:
        if out_of_range_ids not in _OUT_OF_RANGE_IDS:
            raise ValueError(
                f"unknown out_of_range_ids {out_of_range_ids!r}, "
                "expected one of 'error', 'skip'"
            )
        numbers["out_of_range_ids"] = _OUT_OF_RANGE_IDS.index(out_of_range_ids)
    if experimental_optimizers is not None:
        numbers["experimental_optimizers"] = _check_bool(
            "experimental_optimizers", experimental_optimizers
        )
    return numbers


def change(
    options: _engine.Options, numbers: Mapping[str, float]
) -> _engine.Options:
    """Sets what `as_numbers` returns in a simulator's options."""
    for name, number in numbers.items():
        if name == "out_of_range_ids":
            options.skip_out_of_range_ids = bool(number)
        else:
            setattr(options, name, number)
    return options


def _check_timeout(seconds: float) -> float:
    if not 0 < seconds <= _MAX_SECONDS:
        raise ValueError(
            f"receive_timeout must be > 0 and <= {_MAX_SECONDS:g} seconds, "
            f"got {seconds:g}"
        )
    return seconds


def _check_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _check_limit(batches: int) -> int:
    if batches < 0:
        raise ValueError(f"queue_limit must be >= 0, got {batches}")
    return batches
