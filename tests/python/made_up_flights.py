# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Flights that nobody flew, for the examples' code."""

from __future__ import annotations

import pathlib
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples"))

import flights_data


def make_flights(count: int = 3000) -> flights_data.Flights:
    """Returns flights of which some carriers' are late more often."""
    random = np.random.default_rng(7)
    sizes = {
        "carrier": 16,
        "tailnum": 700,
        "origin": 3,
        "dest": 104,
        "hour": 19,
        "month": 12,
    }
    rows = []
    for _ in range(count):
        row = {name: str(random.integers(n)) for name, n in sizes.items()}
        delay = random.normal(5 + 2 * int(row["carrier"]), 20)
        rows.append(row | {"arr_delay": str(int(delay))})
    return flights_data.encode(rows)
