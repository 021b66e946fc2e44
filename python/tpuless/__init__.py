# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""CPU kernels for TensorFlow's TPU-embedding ops.

Importing the package registers them: from then on `tf.raw_ops`, graphs and
SavedModels with these ops run on CPUs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tpuless import _load
from tpuless._version import __version__

_load.load()  # First: it explains what the imports below would stumble over.

from tpuless import tpu  # noqa: E402
from tpuless._control import (  # noqa: E402
    StatisticsTensors,
    abandon_step,
    is_active,
    reset,
    set_options,
    statistics,
)
from tpuless._load import library_path  # noqa: E402
from tpuless._ops import Ops  # noqa: E402
from tpuless._rates import bias_corrected_learning_rate  # noqa: E402
from tpuless._scope import Scope  # noqa: E402
from tpuless._virtual_tpu import start as _start  # noqa: E402
from tpuless._virtual_tpu import virtual_tpu  # noqa: E402
from tpuless.statistics_pb2 import Statistics, TableStatistics  # noqa: E402
from tpuless.tpu import *  # noqa: E402, F403

if TYPE_CHECKING:
    from tpuless._all_tables import load_tables, retrieve_tables
    from tpuless._programs import make_user_defined_program
    from tpuless.simulator import Simulator

# Whoever uses the ops alone does not load a second library.
_LAZY = {
    "Simulator": "tpuless.simulator",
    "load_tables": "tpuless._all_tables",
    "make_user_defined_program": "tpuless._programs",
    "retrieve_tables": "tpuless._all_tables",
}

__all__ = [
    "Ops",
    "Scope",
    "Simulator",
    "Statistics",
    "StatisticsTensors",
    "TableStatistics",
    "__version__",
    "abandon_step",
    "bias_corrected_learning_rate",
    "is_active",
    "library_path",
    "load_tables",
    "make_user_defined_program",
    "reset",
    "retrieve_tables",
    "set_options",
    "statistics",
    "tpu",
    "virtual_tpu",
]
__all__ += tpu.__all__  # The op classes.

_start()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(
        tpu.ABSENT.get(name, f"module {__name__!r} has no attribute {name!r}")
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
