# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Virtual TPU cores."""

from __future__ import annotations

import os

from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context

# As in cc/virtual_tpu/virtual_devices.h.
_VARIABLE = "TPULESS_CORES"
_MAX_CORES = 1024


def virtual_tpu(cores: int = 1) -> None:
    """Gives this process TPU cores that are virtual.

    From then on `TPUClusterResolver()`, `TPUStrategy` and
    `tf.tpu.experimental.embedding.TPUEmbedding` work as on a TPU, and run on
    the CPU. Call it once, right after the imports: TensorFlow makes its
    devices at its first op, and they stay. Child processes have the cores too,
    if they import tpuless.

    Args:
      cores: How many, from 1 to 1024; each is a replica of `TPUStrategy`.

    Raises:
      ValueError: `cores` is no such number.
      RuntimeError: TensorFlow has made its devices, with another number of
        cores or none; or there is a real TPU.
    """
    if isinstance(cores, bool) or not isinstance(cores, int):
        raise ValueError(f"cores must be an int, got {cores!r}")
    if not 1 <= cores <= _MAX_CORES:
        raise ValueError(f"cores must be 1 to {_MAX_CORES}, got {cores}")
    current = _num_cores()
    num_real_cores = 0 if current else _num_physical_cores()
    if num_real_cores:
        raise RuntimeError(
            "virtual_tpu() is for machines without a TPU, got one with "
            f"{num_real_cores} cores; leave the call out"
        )
    has_devices = context.context()._initialized
    if has_devices and not current:
        raise RuntimeError(
            "virtual_tpu() must come before TensorFlow's first op, which makes "
            "the devices; call it right after the imports"
        )
    if has_devices and current != cores:
        raise RuntimeError(
            "virtual_tpu() must not change the number of cores once TensorFlow "
            f"has made its devices, got {cores} after {current}"
        )
    os.environ[_VARIABLE] = str(cores)
    start()


def start() -> None:
    """Prepares TensorFlow for the virtual cores of the environment, if any."""
    if not _num_cores():
        return
    from tpuless import _tensorflow_seam

    if not context.context()._initialized:
        # They may have been listed before.
        context.context().reinitialize_physical_devices()
        _widen_thread_pool()
    _tensorflow_seam.apply()


def _widen_thread_pool() -> None:
    """Gives the pool that starts ops threads for the inputs of every core.

    The end of a core's input holds a thread until another has run a function,
    so that a pool of few threads could wait for ever.
    """
    if context.context().inter_op_parallelism_threads == 0:
        context.context().inter_op_parallelism_threads = max(
            _num_cores() + 1, len(os.sched_getaffinity(0))
        )


def _num_cores() -> int:
    text = os.environ.get(_VARIABLE) or "0"
    if not text.isascii() or not text.isdigit() or int(text) > _MAX_CORES:
        raise ValueError(
            f"environment variable {_VARIABLE} must be a number from 0 to "
            f"{_MAX_CORES}, got {text!r}"
        )
    return int(text)


def _num_physical_cores() -> int:
    devices = pywrap_tfe.TF_ListPhysicalDevices()
    return sum(b"/physical_device:TPU:" in device for device in devices)
