# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Docstrings of op classes, from op definitions."""

from __future__ import annotations

import textwrap
from typing import Any

import tensorflow as tf

from tpuless._definition import Definition
from tpuless._names import snake_name

_WORDS = {
    "bool": "bool",
    "int": "int",
    "list(int)": "list of ints",
    "list(string)": "list of strings",
    "string": "bytes, str or a message",
    "type": "tf.DType",
}

# What arguments of several ops mean.
_MEANINGS = {
    "aggregation_weights": "the factor of each id",
    "combiners": "'sum', 'mean' or 'sqrtn' of each table; empty is 'sum'",
    "config": "the `TPUEmbeddingConfiguration`",
    "device_ordinal": "the core that the batch is for",
    "embedding_indices": "the ids",
    "max_sequence_lengths": "of each input that is a sequence, else 0",
    "mode_override": "'train', 'inference', 'backward_pass_only', or"
    " 'unspecified' for the mode of the configuration",
    "num_features": "samples of each input for each one of the batch",
    "num_outputs": "how many activations there are",
    "num_shards": "how many shards the rows of a table are split into",
    "parameters": "the weights of the table",
    "sample_indices": "which sample each id belongs to",
    "sample_indices_or_row_splits": "which sample each id belongs to, or where"
    " the ids of each sample begin and end",
    "sample_splits": "where the ids of each sample begin and end",
    "shard_id": "which of the shards it is",
    "table_id": "which table it is, by its place in the configuration",
    "table_ids": "which table each input looks up",
    "table_name": "which table it is, by its name",
}


def complete(doc: str, definition: Definition) -> str:
    """Returns a docstring; one of a single line gets arguments and outputs."""
    if "\n" in doc:
        return doc
    attrs = definition.attrs
    sections = {
        "Arguments of `create` after the scope": [
            *(_describe(arg, _tensor(arg, attrs)) for arg in definition.inputs),
            *(
                _describe(attrs[name], _WORDS[attrs[name].type])
                for name in definition.required
            ),
        ],
        "Options": [
            _describe(attrs[name], _option(attrs[name]))
            for name in definition.optional
        ],
        "Outputs": [
            f"{snake_name(arg.name)}: {_tensor(arg, attrs)}"
            for arg in definition.outputs
        ],
    }
    parts = [doc]
    for title, lines in sections.items():
        if lines:
            parts.append("\n".join([f"{title}:", *map(_wrap, lines)]))
    return "\n\n".join(parts)


def _describe(arg: Any, kind: str) -> str:
    meaning = _MEANINGS.get(arg.name)
    return f"{snake_name(arg.name)}: {f'{meaning}; ' if meaning else ''}{kind}"


def _tensor(arg: Any, attrs: Any) -> str:
    types = [arg.type]
    if arg.type_attr:
        types = attrs[arg.type_attr].allowed_values.list.type
    names = " or ".join(tf.as_dtype(each).name for each in types)
    return f"list of {names} tensors" if arg.number_attr else f"{names} tensor"


def _option(attr: Any) -> str:
    default = attr.default_value
    value = getattr(default, default.WhichOneof("value"))
    shown = repr(value) if isinstance(value, (bool, int)) else "empty"
    return f"{_WORDS[attr.type]}, by default {shown}"


def _wrap(line: str) -> str:
    return textwrap.fill(
        line, 76, initial_indent="  ", subsequent_indent="    "
    )
