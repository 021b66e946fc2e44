# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/ops.md from TensorFlow's registry and ours.

Run it after a change of kernels or optimizers; a test compares.
"""

from __future__ import annotations

import pathlib
import re

import tensorflow as tf
import tpuless
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels
from tpuless import _engine

PATH = pathlib.Path(__file__).with_name("ops.md")

_FAMILY = re.compile(r"TPUEmbedding|^\w+DistributedTPU$|DedupData|^Tpuless")
_PARAMETERS = re.compile(r"^(?:Load|Retrieve)TPUEmbedding(\w+)Parameters$")

_HEAD = """<!-- Written by docs/ops_table.py. -->

# Ops of the TPU-embedding family

Every op that TensorFlow {version} declares, and those that tpuless adds.

- **runs**: has a CPU kernel, eagerly, in functions, graphs and sessions.
- **refused**: has a kernel that answers Unimplemented and says why.
- **no kernel**: TensorFlow's own error, as without tpuless.

| op | on CPU | why |
| --- | --- | --- |
"""

# Why an op has no kernel, by the first pattern that fits.
_NO_KERNEL = {
    r"^Xla|Dedup": "made by TPU graph rewrites, for XLA on a TPU",
    r"^(Execute|Configure|Collate|Connect|Finalize)": (
        "made by a TPU graph rewrite of ConfigureTPUEmbedding"
    ),
}


def _family() -> list[str]:
    """Returns the names of all registered ops of the family, sorted."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    ops = op_def_pb2.OpList.FromString(
        bytes(pywrap_tf_session.TF_GetBuffer(buffer))
    )
    names = (op.name for op in ops.op if not op.name.startswith("_"))
    return sorted(name for name in names if _FAMILY.search(name))


def _row(name: str, refused: dict[str, str]) -> tuple[str, str]:
    """Returns the second and third column of an op."""
    if not kernels.get_registered_kernels_for_op(name).kernel:
        for pattern, reason in _NO_KERNEL.items():
            if re.search(pattern, name):
                return "no kernel", reason
        raise ValueError(f"no reason is known why {name} has no kernel")
    if name == "EnqueueTPUEmbeddingBatch":
        return "refused", "its serialized form is not public"
    parameters = _PARAMETERS.match(name)
    if parameters and parameters[1] in refused:
        return "refused", refused[parameters[1]]
    if name.startswith("Tpuless"):
        return "runs", "our own"
    return "runs", ""


def render() -> str:
    """Returns the text of docs/ops.md for this build."""
    refused = {
        each["op_name"]: each["reason"] for each in _engine.refused_optimizers()
    }
    assert tpuless.library_path()
    rows = (
        f"| `{name}` | {on_cpu} | {why} |".replace("|  |", "| |")
        for name in _family()
        for on_cpu, why in [_row(name, refused)]
    )
    version = ".".join(tf.__version__.split(".")[:2])
    return _HEAD.format(version=version) + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
