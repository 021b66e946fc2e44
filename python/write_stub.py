# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Writes tpuless/tpu.pyi from the op classes.

Run it under the newest TensorFlow after a change of the classes; a test
compares.
"""

from __future__ import annotations

import inspect
import pathlib
from collections.abc import Iterator
from typing import Any

from tpuless import tpu
from tpuless._factory import RawOp

PATH = pathlib.Path(__file__).parent / "tpuless" / "tpu.pyi"

_HEAD = """\
# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# Written by python/write_stub.py.
from collections.abc import Iterable, Sequence

import tensorflow as tf
from google.protobuf.message import Message

from tpuless import _arguments
from tpuless._arguments import TensorLike
from tpuless._factory import IterableOp, Operand, RawOp
from tpuless._op_inputs import RawOpInputs
from tpuless._scope import Scope

ABSENT: dict[str, str]
"""


def _functions(owner: type) -> Iterator[str]:
    """Yields the lines of all functions that have a signature of their own."""
    seen: dict[Any, str] = {}
    for name, member in vars(owner).items():
        function = getattr(member, "__func__", member)
        if not hasattr(function, "__signature__"):
            continue
        if function in seen:
            if name != seen[function]:
                yield f"{name} = {seen[function]}"
            continue
        seen[function] = name
        if isinstance(member, (classmethod, staticmethod)):
            yield f"@{type(member).__name__}"
        yield f"def {name}{_signature(function)}: ..."


def _signature(function: Any) -> str:
    """Returns a signature; its annotations are strings."""
    return str(inspect.signature(function)).replace("'", "")


def _op_class(cls: type[RawOp]) -> Iterator[str]:
    yield f"class {cls.__name__}({cls.__bases__[0].__name__}):"
    nested = {"Options": "_arguments.Options", "Inputs": "RawOpInputs"}
    for name, base in nested.items():
        if name in vars(cls):
            inner = vars(cls)[name]
            yield f"    class {name}({base}):"
            for field, kind in inner.__annotations__.items():
                yield f"        {field}: {kind}"
            yield from (f"        {line}" for line in _functions(inner))
    yield from (f"    {line}" for line in _functions(cls))


def render() -> str:
    """Returns the text of tpuless/tpu.pyi for this TensorFlow."""
    lines = ["__all__ = [", *(f"    {name!r}," for name in tpu.__all__), "]"]
    for name in tpu.__all__:
        lines += ["", *_op_class(getattr(tpu, name))]
    lines += ["", "class TpuOps:"]
    lines.append("    def __init__(self, scope: Scope) -> None: ...")
    lines += [f"    {line}" for line in _functions(tpu.TpuOps)]
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
