# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Loads the kernel library into TensorFlow, or says why it cannot."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from types import ModuleType

_LIBRARY = "libtpuless_ops.so"
_MACHINES = ("x86_64", "aarch64")
_BUILD = "pip install --no-build-isolation ."
_REBUILD = "pip install --no-build-isolation --no-deps --force-reinstall ."


def library_path() -> str:
    """Returns the path of the kernel library.

    `import tpuless` loads it. The path is for what cannot import this
    package: `tf.load_op_library(path)` or TensorFlow Java's
    `TensorFlow.loadLibrary(path)` register the same ops and kernels.
    """
    return os.path.join(os.path.dirname(__file__), _LIBRARY)


def load() -> None:
    """Loads the library; harmless if that was done before.

    Raises:
      ImportError: In one sentence, what is missing or does not match.
    """
    _check_platform()
    tensorflow = _import_tensorflow()
    built_for = _check_build()
    _check_version(built_for, tensorflow.__version__)
    try:
        tensorflow.load_op_library(library_path())
    except (tensorflow.errors.OpError, RuntimeError) as error:
        raise ImportError(
            f"tpuless could not load {library_path()}: "
            f"{getattr(error, 'message', error)}"
        ) from error


def _check_platform() -> None:
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        raise ImportError(
            f"tpuless needs Linux on {' or '.join(_MACHINES)}, got "
            f"{platform.system()} on {platform.machine()}"
        )


def _import_tensorflow() -> ModuleType:
    try:
        return importlib.import_module("tensorflow")
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise _tensorflow_failed(error) from error
        raise ImportError(
            "tpuless needs TensorFlow, found none in "
            f"{sys.executable}; 'pip install tensorflow-cpu' gives it"
        ) from error
    except Exception as error:
        # Its own trouble, of any kind, must not look like ours.
        raise _tensorflow_failed(error) from error


def _tensorflow_failed(error: Exception) -> ImportError:
    return ImportError(
        "tpuless needs TensorFlow, whose import failed with "
        f"{type(error).__name__}: {error}"
    )


def _check_build() -> str:
    """Returns the version of TensorFlow that the library is built for."""
    try:
        build_info = importlib.import_module("tpuless._build_info")
    except ModuleNotFoundError as error:
        raise _not_built("_build_info.py") from error
    if not os.path.exists(library_path()):
        raise _not_built(_LIBRARY)
    return build_info.TENSORFLOW_VERSION


def _not_built(file: str) -> ImportError:
    return ImportError(
        f"tpuless is not built: {os.path.dirname(__file__)} has no {file}; "
        f"run '{_BUILD}' in its source folder"
    )


def _check_version(built_for: str, found: str) -> None:
    # Kernels are C++ of one minor version; a patch keeps its interfaces.
    if built_for.split(".")[:2] != found.split(".")[:2]:
        raise ImportError(
            f"tpuless is built for TensorFlow {built_for}, found {found} "
            f"(Python {platform.python_version()} on {platform.system()} "
            f"{platform.machine()}); run '{_REBUILD}' in its source folder"
        )
