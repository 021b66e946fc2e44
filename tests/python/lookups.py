# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Simulators whose rows say which ids were looked up."""

import configs
import numpy as np

# Row r of the table is [r, 100 r].
ROWS = np.float32([[r, 100 * r] for r in range(10)])


def one_feature(simulate, shape):
    """Returns a simulator with a feature 'watched' of a shape."""
    simulator = simulate(
        configs.config(
            configs.table("movie", 10, 2, 0),
            features=[("watched", 0, shape)],
        )
    )
    simulator.load("movie", ROWS)
    return simulator


def three_features(simulate):
    """Returns one with features 'x', 'z' of table 'a' and 'y' of 'b'."""
    simulator = simulate(
        configs.config(
            configs.table("a", 10, 2, 0),
            configs.table("b", 10, 2, 0),
            features=[("x", 0, [2]), ("y", 1, [2]), ("z", 0, [2])],
            mode=configs.INFERENCE,
        )
    )
    simulator.load("a", ROWS)
    simulator.load("b", ROWS)
    return simulator


def first_columns(simulator):
    """Returns the activations, without what says nothing new."""
    return [output[:, 0].tolist() for output in simulator.receive()]
