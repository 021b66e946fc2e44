# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What TensorFlow's Python must do otherwise where TPU cores are virtual.

All changes to TensorFlow's own classes are here. Each is made once, and stays
for the life of the process.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from tensorflow.python.data.ops import multi_device_iterator_ops, options
from tensorflow.python.distribute.cluster_resolver.tpu import (
    tpu_cluster_resolver,
)
from tensorflow.python.eager import context
from tensorflow.python.tpu import tpu_embedding_v2_utils

# Where TensorFlow looks for a Cloud TPU that is not named.
_CLOUD_VARIABLES = ("KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_NAME")


@functools.cache
def apply() -> None:
    """Makes all changes."""
    _resolve_to_virtual_cores()
    _complete_local_client()
    _keep_mlir_bridge_off()
    _assign_enums_as_numbers()
    _end_iterators_at_once()


def _resolve_to_virtual_cores() -> None:
    """A resolver of no TPU in particular means the virtual one."""
    resolver = tpu_cluster_resolver.TPUClusterResolver
    original = resolver.__init__

    @functools.wraps(original)
    def init(self: Any, tpu: Any = None, *args: Any, **kwargs: Any) -> None:
        if tpu is None:
            named = (os.environ.get(name) for name in _CLOUD_VARIABLES)
            tpu = next((name for name in named if name), "")
        original(self, tpu or "local", *args, **kwargs)

    resolver.__init__ = init


def _complete_local_client() -> None:
    """Adds what scripts call on a Cloud TPU's client."""
    client = tpu_cluster_resolver._LocalCloudTpuClient

    def configure_tpu_version(
        self: Any, version: str, restart_type: str = "always"
    ) -> None:
        """Does nothing: the version is that of this process."""

    def wait_for_healthy(
        self: Any, timeout_s: int = 1200, interval: int = 30
    ) -> None:
        """Does nothing: virtual cores are healthy."""

    client.configure_tpu_version = configure_tpu_version
    client.wait_for_healthy = wait_for_healthy


def _keep_mlir_bridge_off() -> None:
    """The bridge compiles for real TPUs, and there is none."""
    bridge = context.Context.enable_mlir_bridge

    def set_enabled(self: context.Context, enabled: bool) -> None:
        bridge.fset(self, False)

    context.Context.enable_mlir_bridge = bridge.setter(set_enabled)
    context.context().enable_mlir_bridge = False


def _assign_enums_as_numbers() -> None:
    """Protobuf 7 takes no bool for the enum low_dimensional_packing_status."""
    optimizer = tpu_embedding_v2_utils._Optimizer
    original = optimizer._set_optimization_parameters

    @functools.wraps(original)
    def set_optimization_parameters(self: Any, parameters: Any) -> None:
        status = self.low_dimensional_packing_status
        self.low_dimensional_packing_status = int(status)
        try:
            original(self, parameters)
        finally:
            self.low_dimensional_packing_status = status

    optimizer._set_optimization_parameters = set_optimization_parameters


def _end_iterators_at_once() -> None:
    """What hands a core its part of a dataset does not tune itself.

    It has nothing to tune. But the end of an iterator waits for the thread that
    does, which may miss the end and sleep on for up to a minute; with an
    iterator for each of several cores it often did.
    """
    original = multi_device_iterator_ops._create_device_dataset

    @functools.wraps(original)
    def create_device_dataset(*args: Any, **kwargs: Any) -> Any:
        untuned = options.Options()
        untuned.autotune.enabled = False
        return original(*args, **kwargs).with_options(untuned)

    multi_device_iterator_ops._create_device_dataset = create_device_dataset
