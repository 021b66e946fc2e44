# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Scopes as TensorFlow Java has them: names, devices, control dependencies.

A node that is built under one of these scopes has the name, device and
control inputs that the same calls in Java give it. TensorFlow's own scopes
cannot do that: `tf.name_scope` ignores case and skips names that are taken,
`tf.device` merges, `tf.control_dependencies` adds.
"""

from __future__ import annotations

import contextlib
import copy
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import tensorflow as tf

from tpuless._names import NameScope, with_java_names


class EagerSession:
    """Eager execution, as an environment of scopes beside `tf.Graph`."""

    _default: EagerSession | None = None

    @classmethod
    def get_default(cls) -> EagerSession:
        """Returns the one session there is, that of the process."""
        if cls._default is None:
            cls._default = cls()
        return cls._default

    def __repr__(self) -> str:
        return "<EagerSession>"


Environment: TypeAlias = tf.Graph | EagerSession


# What outlives a single scope. Only names are held: an operation would keep
# its graph, and so this entry, alive.
_base_names: weakref.WeakKeyDictionary[Environment, NameScope] = (
    weakref.WeakKeyDictionary()
)
_initializers: weakref.WeakKeyDictionary[tf.Graph, list[str]] = (
    weakref.WeakKeyDictionary()
)


@with_java_names
class Scope:
    """Where ops are built: environment, names, device, control inputs.

    Every `with_...` method returns a new scope and leaves this one as it is.
    In a function that `tf.function` traces, the surroundings count as well:
    device and control inputs come on top of TensorFlow's own scopes, and
    automatic control dependencies stay. Names are always Java's.

    Example:
        >>> scope = tpuless.Scope(tf.Graph()).with_sub_scope("train")
        >>> scope.with_name("send").make_op_name("Default")
        'train/send'
    """

    def __init__(
        self, env: Environment, names: NameScope | None = None
    ) -> None:
        """Starts a scope at the root of the graph.

        Args:
          env: where ops are built.
          names: where names come from; by default counters of its own, that
            start from the nodes in the graph.
        """
        _check_environment(env)
        self._env = env
        self._names = NameScope() if names is None else names
        if names is None:
            self.refresh_names()
        self._device = ""
        self._controls: tuple[tf.Operation, ...] = ()
        self._is_init = False

    @classmethod
    def base(cls, env: Environment) -> Scope:
        """Returns the base scope of `env`; all base scopes share counters."""
        _check_environment(env)
        scope = cls(env, _base_names.get(env))
        _base_names[env] = scope._names
        return scope

    def env(self) -> Environment:
        """Returns the graph or eager session that ops are built in."""
        return self._env

    def with_name(self, op_name: str) -> Scope:
        """Returns a scope in which every op is named `op_name`."""
        return self._but(_names=self._names.with_name(op_name))

    def with_sub_scope(self, child_scope_name: str) -> Scope:
        """Returns a scope whose names start with that of this one."""
        names = self._names.with_sub_scope(child_scope_name, self._graph())
        return self._but(_names=names)

    def with_name_as_sub_scope(self, default_name: str) -> Scope:
        """Returns a sub-scope named like an op of this scope.

        As in Java, the name is reserved twice, so that the first sub-scope
        is `default_name_1`, and a scope that has a prefix refuses.
        """
        return self.with_sub_scope(self.make_op_name(default_name))

    def with_device(self, device: tf.DeviceSpec | str | None) -> Scope:
        """Returns a scope with this device instead of the present one."""
        spec = (
            device
            if isinstance(device, tf.DeviceSpec)
            else tf.DeviceSpec.from_string(device or "")
        )
        return self._but(_device=spec.to_string())

    def with_control_dependencies(self, controls: Iterable[Any]) -> Scope:
        """Returns a scope with these control inputs instead of the present.

        Args:
          controls: operations, tensors or op wrappers of the same
            environment. Those made in an init scope are left out, unless
            this is one.
        """
        operations = [_operation(control) for control in controls]
        for operation in operations:
            self._check_control(operation)
        if isinstance(self._env, EagerSession):
            return self._but(_controls=())
        return self._but(_controls=tuple(operations))

    def with_control_dependency_ops(self, controls: Iterable[Any]) -> Scope:
        """Does what `with_control_dependencies` does."""
        return self.with_control_dependencies(controls)

    def with_init_scope(self) -> Scope:
        """Returns a scope whose ops initialize; without control inputs."""
        return self._but(_controls=(), _is_init=True)

    def is_init(self) -> bool:
        """Returns whether ops built here initialize the graph."""
        return self._is_init

    def initializers(self) -> list[tf.Operation]:
        """Returns the ops that init scopes built in this graph, in order."""
        graph = self._graph()
        if graph is None:
            return []
        names = _initializers.get(graph, [])
        return [graph.get_operation_by_name(name) for name in names]

    def get_device_string(self) -> str:
        """Returns the device of ops built here, '' for none."""
        return self._device

    def make_op_name(self, default_name: str) -> str:
        """Returns the full name of the next op and counts it as used."""
        return self._names.make_op_name(default_name)

    def make_unique(self, name: str) -> str:
        """Returns `name` with the next free suffix, without the prefix."""
        return self._names.make_unique(name)

    def refresh_names(self) -> None:
        """Counts names that were added to the graph by other means."""
        self._names.import_ids_from(self._graph())

    @contextlib.contextmanager
    def building(self, name: str) -> Iterator[None]:
        """Makes TensorFlow build op `name` as this scope says.

        Control inputs are not part of it, see `add_control_inputs`.
        """
        with contextlib.ExitStack() as stack:
            if isinstance(self._env, EagerSession):
                if not tf.executing_eagerly():
                    raise ValueError(
                        "scope must belong to the graph being built, got an"
                        " eager one; make it there, by Ops.create()"
                    )
                stack.enter_context(tf.device(None))
            else:
                self._enter_graph(self._env, name, stack)
            if self._device:
                stack.enter_context(tf.device(self._device))
            yield

    def check_input(self, tensor: tf.Tensor, argument: str) -> None:
        """Raises ValueError if ops of this scope cannot read `tensor`."""
        graph = tensor.graph if tf.is_symbolic_tensor(tensor) else None
        if isinstance(self._env, EagerSession):
            if graph is not None:
                raise ValueError(
                    f"{argument} must be an eager tensor, got {tensor!r}"
                )
        elif not self._env.building_function and graph is not self._env:
            # A function captures what it does not hold, a graph does not.
            raise ValueError(
                f"{argument} must be a tensor of the scope's graph,"
                f" got {tensor!r}"
            )

    def add_control_inputs(self, operation: tf.Operation) -> None:
        """Gives a new node the control inputs of this scope."""
        controls = {
            control.name: control
            for control in self._controls
            if self._is_init or not _is_initializer(control)
        }
        for _, control in sorted(controls.items()):
            # The public tf.control_dependencies adds to the surrounding list
            # instead of replacing it, may leave out controls, and marks each
            # control op with an attr.
            operation._add_control_input(control)

    def on_op_created(self, operation: tf.Operation) -> None:
        """Notes a new node as an initializer if this is an init scope."""
        if self._is_init:
            names = _initializers.setdefault(operation.graph, [])
            names.append(operation.name)

    def _graph(self) -> tf.Graph | None:
        return self._env if isinstance(self._env, tf.Graph) else None

    def _but(self, **fields: Any) -> Scope:
        scope = copy.copy(self)
        vars(scope).update(fields)
        return scope

    def _check_control(self, operation: Any) -> None:
        graph = getattr(operation, "graph", None)
        if isinstance(self._env, EagerSession):
            if isinstance(operation, tf.Operation):
                raise ValueError(
                    "control input must be eager, got operation"
                    f" '{operation.name}' of a graph"
                )
        elif not isinstance(operation, tf.Operation) or graph is not self._env:
            name = getattr(operation, "name", operation)
            raise ValueError(
                f"control input '{name}' must be an operation of the scope's"
                " graph"
            )
        elif self._is_init and not _is_initializer(operation):
            raise ValueError(
                f"control input '{operation.name}' of an init scope must be"
                " an initializer"
            )

    def _enter_graph(
        self, graph: tf.Graph, name: str, stack: contextlib.ExitStack
    ) -> None:
        if graph.building_function:
            if graph is not tf.compat.v1.get_default_graph():
                raise ValueError(
                    "scope must belong to the function being traced; make it"
                    " there, by Ops.create()"
                )
        else:
            stack.enter_context(graph.as_default())
            stack.enter_context(graph.colocate_with(None, ignore_existing=True))
            stack.enter_context(tf.control_dependencies(None))
            stack.enter_context(tf.device(None))
        stack.enter_context(graph.name_scope(None))
        if _has_node(graph, name):
            raise ValueError(f"Duplicate node name in graph: '{name}'")
        graph.unique_name(name)  # Keeps later TensorFlow names off this one.


def _check_environment(env: object) -> None:
    if not isinstance(env, (tf.Graph, EagerSession)):
        raise TypeError(
            f"env must be a tf.Graph or an EagerSession, got {env!r}"
        )


def _operation(control: Any) -> Any:
    """Returns the operation of an op wrapper, a tensor or an operation."""
    operation = getattr(control, "op", control)
    return operation() if callable(operation) else operation


def _is_initializer(operation: tf.Operation) -> bool:
    return operation.name in _initializers.get(operation.graph, ())


def _has_node(graph: tf.Graph, name: str) -> bool:
    try:
        graph.get_operation_by_name(name)
    except KeyError:
        return False
    return True
