# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The entry to ops by group, as `org.tensorflow.op.Ops` in Java."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from tpuless._names import with_java_names
from tpuless._scope import EagerSession, Environment, Scope
from tpuless.tpu import TpuOps


@with_java_names
class Ops:
    """Builds ops in one scope, by group.

    Example:
        >>> ops = tpuless.Ops.create(tf.Graph())
        >>> ops.with_sub_scope("train").scope().make_op_name("send")
        'train/send'
    """

    def __init__(self, scope: Scope) -> None:
        """Starts from a scope; `create` starts from an environment."""
        self._scope = scope

    @classmethod
    def create(cls, env: Environment | None = None) -> Ops:
        """Returns the ops of an environment's base scope.

        Args:
          env: a graph or eager session; by default what TensorFlow is in at
            the call: eager, or the graph or function being built.
        """
        if env is None:
            if tf.executing_eagerly():
                env = EagerSession.get_default()
            else:
                env = tf.compat.v1.get_default_graph()
        return cls(Scope.base(env))

    @property
    def tpu(self) -> TpuOps:
        """The ops of group `tpu`."""
        return TpuOps(self._scope)

    def scope(self) -> Scope:
        """Returns the scope that ops are built in."""
        return self._scope

    def with_name(self, op_name: str) -> Ops:
        """Returns ops of `Scope.with_name`."""
        return Ops(self._scope.with_name(op_name))

    def with_sub_scope(self, child_scope_name: str) -> Ops:
        """Returns ops of `Scope.with_sub_scope`."""
        return Ops(self._scope.with_sub_scope(child_scope_name))

    def with_device(self, device: tf.DeviceSpec | str | None) -> Ops:
        """Returns ops of `Scope.with_device`."""
        return Ops(self._scope.with_device(device))

    def with_control_dependencies(self, controls: Iterable[Any]) -> Ops:
        """Returns ops of `Scope.with_control_dependencies`."""
        return Ops(self._scope.with_control_dependencies(controls))

    def with_init_scope(self) -> Ops:
        """Returns ops of `Scope.with_init_scope`."""
        return Ops(self._scope.with_init_scope())
