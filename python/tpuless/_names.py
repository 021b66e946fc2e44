# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Names as TensorFlow Java hands them out, for nodes and for methods."""

from __future__ import annotations

import re
from typing import TypeVar

import tensorflow as tf

_T = TypeVar("_T", bound=type)

_COMPONENT = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-]*")
_NUMBERED = re.compile(r"(.+)_([0-9]+)", re.DOTALL)


def java_name(name: str) -> str:
    """Returns the camelCase form of a snake_case name."""
    return re.sub(r"_(.)", lambda match: match[1].upper(), name)


def snake_name(name: str) -> str:
    """Returns `send_tpu_embedding` for `SendTPUEmbedding`."""
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def with_java_names(cls: _T) -> _T:
    """Gives the public methods of a class their Java names too."""
    for name, member in list(vars(cls).items()):
        if not name.startswith("_"):
            setattr(cls, java_name(name), member)
    return cls


class NameScope:
    """Hands out names under one prefix. Not thread-safe.

    A name counts as used once it was asked for, whatever became of the node.
    Names made in any other way are not looked at, except when the scope
    starts and in `import_ids_from`.
    """

    def __init__(
        self,
        prefix: str | None = None,
        op_name: str | None = None,
        ids: dict[str, int] | None = None,
    ) -> None:
        self._prefix = prefix
        self._op_name = op_name  # Replaces every default name.
        self._ids = {} if ids is None else ids  # Next suffix of each name.

    def with_name(self, name: str) -> NameScope:
        """Returns a scope that names every op `name`; counters are shared."""
        _check_component(name)
        return NameScope(self._prefix, name, self._ids)

    def with_sub_scope(self, name: str, graph: tf.Graph | None) -> NameScope:
        """Returns a scope one level down, with counters of its own."""
        scope = NameScope(self.make_op_name(name))
        scope.import_ids_from(graph)
        return scope

    def make_op_name(self, default: str) -> str:
        """Returns a full name and counts it as used."""
        _check_component(default)
        name = self.make_unique(self._op_name or default)
        return name if self._prefix is None else f"{self._prefix}/{name}"

    def make_unique(self, name: str) -> str:
        """Returns `name`, `name_1`, `name_2`, ... at each further call."""
        count = self._ids.get(name, 0)
        self._ids[name] = count + 1
        return f"{name}_{count}" if count else name

    def import_ids_from(self, graph: tf.Graph | None) -> None:
        """Counts the names of a graph's nodes as used.

        Java compares with the prefix alone, without the '/' behind it, and
        finds a number anywhere in the name, not only at the end. Both are
        kept, since they decide the names of later nodes.
        """
        for operation in graph.get_operations() if graph else ():
            name = operation.name
            if self._prefix is not None:
                if not name.startswith(self._prefix):
                    continue
                name = name[len(self._prefix) + 1 :]
            if "/" in name:
                continue
            numbered = _NUMBERED.search(name)
            if numbered:
                count = int(numbered[2]) + 1
                self._ids[numbered[1]] = max(
                    self._ids.get(numbered[1], 0), count
                )
            else:
                self._ids[name] = self._ids.get(name, 0) + 1


def _check_component(name: str) -> None:
    if not isinstance(name, str) or not _COMPONENT.fullmatch(name):
        raise ValueError(f"name must match {_COMPONENT.pattern}, got {name!r}")
