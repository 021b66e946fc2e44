# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/java.md, from the op classes and docs/ops.md.

Run it after a change of the classes or of docs/ops.md; a test compares.
"""

from __future__ import annotations

import pathlib
import re

from tpuless import tpu
from tpuless._definition import Definition
from tpuless._names import snake_name

PATH = pathlib.Path(__file__).with_name("java.md")

BEGIN, END = "<!-- java_table.py: begin -->", "<!-- java_table.py: end -->"

_HEAD = """\
| class | method of `Ops.tpu` | arguments | options | outputs | on CPU |
| --- | --- | --- | --- | --- | --- |
"""


def _on_cpu() -> dict[str, str]:
    """Returns the second column of docs/ops.md by op."""
    text = PATH.with_name("ops.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", text, re.M))


def _row(name: str, on_cpu: dict[str, str]) -> str:
    op_name = getattr(tpu, name).OP_NAME
    definition = Definition(op_name)

    def tensors(args: list) -> list[str]:
        return [arg.name + "*" * bool(arg.number_attr) for arg in args]

    columns = [
        tensors(definition.inputs) + definition.required,
        definition.optional,
        tensors(definition.outputs),
    ]
    cells = [
        f"`{name}`",
        f"`{snake_name(name)}`",
        *(
            ", ".join(f"`{snake_name(each)}`" for each in column)
            for column in columns
        ),
        on_cpu[op_name],
    ]
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def render() -> str:
    """Returns docs/java.md with the table of this build."""
    on_cpu = _on_cpu()
    table = _HEAD + "\n".join(_row(name, on_cpu) for name in tpu.__all__)
    before, _, rest = PATH.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
