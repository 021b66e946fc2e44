# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests, and the time that one may take."""

from __future__ import annotations

import faulthandler
import os

import configs
import pytest
import steps
import tpuless

# Of a test that does not say `pytest.mark.timeout(seconds)`.
_SECONDS = 300

_stderr = pytest.StashKey[int]()


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        f"timeout(seconds): how long a test may take, instead of {_SECONDS}",
    )
    config.stash[_stderr] = os.dup(2)  # Not yet captured.


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Ends the run, saying where it hangs, if a test does: it waits in C++."""
    marker = item.get_closest_marker("timeout")
    faulthandler.dump_traceback_later(
        marker.args[0] if marker else _SECONDS,
        exit=True,
        file=item.config.stash[_stderr],
    )
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def engine():
    """Drops this process's engine before a test, as another may have left one,
    and after it; there the options are set back, too.
    """
    tpuless.reset()
    yield
    tpuless.reset()
    tpuless.set_options(
        receive_timeout=60,
        queue_limit=256,
        out_of_range_ids="error",
        experimental_optimizers=False,
    )


@pytest.fixture
def simulate():
    """Returns what makes a simulator and closes it after the test."""
    simulators = []

    def make(config, **options):
        simulators.append(tpuless.Simulator(config, **options))
        return simulators[-1]

    yield make
    for simulator in simulators:
        simulator.close()


@pytest.fixture
def movies_config():
    """Returns what makes a configuration of 'movie' looked up by 'watched'."""

    def make(**table):
        return configs.config(
            configs.table("movie", num_features=0, **table),
            features=[("watched", 0, [2])],
        )

    return make


@pytest.fixture
def movies(simulate, movies_config):
    """Returns a simulator of it that has loaded steps.T3."""
    simulator = simulate(movies_config(), receive_timeout=0.1)
    simulator.load("movie", steps.T3)
    return simulator
