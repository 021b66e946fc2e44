# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Skips tests of what the installed TensorFlow lacks, and says what that is."""

from __future__ import annotations

import pathlib
import re

import pytest
import tensorflow as tf
from tensorflow.core.protobuf.tpu import (
    optimization_parameters_pb2,
    tpu_embedding_configuration_pb2,
)

_PARAMETERS = optimization_parameters_pb2.OptimizationParameters.DESCRIPTOR
_CONFIGURATION = (
    tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration.DESCRIPTOR
)


def minor_of(version: str) -> tuple[int, ...]:
    """Returns the minor version of a version: (2, 21) of "2.21.0"."""
    return tuple(map(int, version.split(".")[:2]))


MINOR = minor_of(tf.__version__)

# All that the message of this TensorFlow has a field for.
OPTIMIZERS = frozenset(
    field.name for field in _PARAMETERS.oneofs_by_name["parameters"].fields
)
_SPMD_FIELDS = _CONFIGURATION.fields_by_name[
    "spmd_sharding"
].message_type.fields_by_name


def _newest_minor() -> tuple[int, ...]:
    """Returns the one that the package names."""
    path = pathlib.Path(__file__).parents[2] / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    return minor_of(re.findall(r"tensorflow-cpu==(\d+\.\d+)\.", text)[0])


newest_tensorflow = pytest.mark.skipif(
    _newest_minor() != MINOR,
    reason="the file is written under the newest TensorFlow",
)


def optimizers(*names: str) -> None:
    """Skips the test where TensorFlow lacks one of these optimizers."""
    for name in names:
        _skip_unless(name in OPTIMIZERS, f"optimizer '{name}'")


def spmd_field(name: str) -> None:
    """Skips the test where TensorFlow's `spmd_sharding` lacks this field."""
    _skip_unless(name in _SPMD_FIELDS, f"spmd_sharding.{name}")


def tensorflow(version: str, for_what: str) -> None:
    """Skips the test before this minor version, which mended something."""
    _skip_unless(minor_of(version) <= MINOR, for_what)


def _skip_unless(has_it: bool, what: str) -> None:
    if not has_it:
        pytest.skip(f"needs {what}, which TensorFlow {tf.__version__} lacks")
