# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/java.md from the op classes, and from docs/ops.md.

Run it after a change of the classes or of docs/ops.md; a test compares.
"""

from __future__ import annotations

import pathlib
import re

from tpuless import tpu
from tpuless._definition import Definition
from tpuless._names import snake_name

PATH = pathlib.Path(__file__).with_name("java.md")

_HEAD = """<!-- Written by docs/java_table.py. -->

# The op classes of TensorFlow Java

`tpuless.tpu` holds the classes of Java's package `org.tensorflow.op.tpu` that
are about embeddings, under the same names. Each is a name of `tpuless`, too.

```java
LoadTPUEmbeddingAdagradParameters.create(scope, parameters, accumulators,
    1L, 0L, LoadTPUEmbeddingAdagradParameters.tableName("movie"));
Ops tf = Ops.create(graph);
tf.tpu.recvTPUEmbeddingActivations(1L, config);
```

```python
tpuless.LoadTPUEmbeddingAdagradParameters.create(
    scope,
    parameters,
    accumulators,
    1,
    0,
    tpuless.LoadTPUEmbeddingAdagradParameters.table_name("movie"),
)
ops = tpuless.Ops.create(graph)
ops.tpu.recv_tpu_embedding_activations(1, config)
```

## Rules

- **Names.** What is `someName` in Java is `some_name` here; the Java names of
  methods work as well. `OP_NAME` is the type of the op, the name of the class
  the default name of its node. The method of `Ops.tpu` is the class in snake
  case, or with its first letter lowered, as in Java.
- **Arguments** of `create` after the scope: the inputs, then the attrs that
  have no default, both in the order of the op definition. A list of inputs is
  any iterable. Its length and the types of inputs follow from the inputs.
  `help(tpuless.X.create)` shows the signature, `tpu.pyi` tells type checkers.
- **Options** are the attrs with a default: a static method each, which can be
  chained, as `X.table_id(0).config(config)`; a list attr takes a list or its
  elements. Of two values the last one counts. In Python an option may be a
  keyword of `create`, too: `table_id=0`.
- **Outputs** are a method each; a list of outputs is a list. A class with a
  single output has `as_output()` and is a tensor wherever one is taken. One
  with a single list, as `RecvTPUEmbeddingActivations`, iterates over it.
- **`X.Inputs(operation)`** reads inputs and attrs of a node back.
- **Strings** are bytes, `str` or a message; a `str` is encoded as UTF-8.
- **Eagerly** the op runs in `create`, and the wrapper keeps the outputs.
- **Ops without a kernel** can be put into a graph, as in Java; only running
  them fails. The last column is that of [ops.md](ops.md).

## Exceptions

- Four classes are not named like their ops: `FinalizeTPUEmbedding` is
  `FinalizeTPUEmbeddingV2`, `ComputeDedupDataSize` and
  `ComputeDedupDataTupleMask` have a `V2` too, and `EmbeddingActivations` is
  `TPUEmbeddingActivations`, as the class of that name.
- `ComputeDedupDataSize` and `ComputeDedupDataTupleMask` have no method in
  Java's `TpuOps`; here they have one.
- `nn` of `SendTPUEmbeddingGradients` follows from `learning_rates`, and still
  is an option; another number is refused.
- Load and Retrieve of one optimizer need an option: `table_id` or
  `table_name`.
- A class whose op an older TensorFlow lacks is not there; asking for it says
  so. 2.16 lacks those whose op ends in `V2`.
- Java's package also holds ops that are not about embeddings, and its package
  `xla` holds those that a TPU's compiler makes of these. They are left out.

## Classes

A star marks a list of tensors.

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
    """Returns the text of docs/java.md for this build."""
    on_cpu = _on_cpu()
    rows = [_row(name, on_cpu) for name in tpu.__all__]
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
