# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The option that says where Java wrote its graphs."""

from __future__ import annotations

import pathlib

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--java-graphs",
        type=pathlib.Path,
        help="folder of the graphs that GraphsTest.java wrote",
    )


def pytest_configure(config):
    if not config.getoption("java_graphs", None):
        raise pytest.UsageError(
            "tests/java needs --java-graphs=, the folder of the graphs that"
            " GraphsTest.java wrote; 'make test-java' gives both"
        )


@pytest.fixture
def java_graphs(request):
    return request.config.getoption("java_graphs")
