# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""CPU kernels for TensorFlow's TPU-embedding ops.

Importing the package registers them: from then on `tf.raw_ops`, graphs and
SavedModels with these ops run on CPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpuless import _load
from tpuless._version import __version__

_load.load()  # First: it explains what the imports below would stumble over.

from tpuless._control import (  # noqa: E402
    StatisticsTensors,
    abandon_step,
    is_active,
    reset,
    set_options,
    statistics,
)
from tpuless._factory import SendTPUEmbeddingGradients  # noqa: E402
from tpuless._load import library_path  # noqa: E402
from tpuless._rates import bias_corrected_learning_rate  # noqa: E402
from tpuless._scope import Ops, Scope  # noqa: E402
from tpuless.statistics_pb2 import Statistics, TableStatistics  # noqa: E402

if TYPE_CHECKING:
    from tpuless.simulator import Simulator

__all__ = [
    "Ops",
    "Scope",
    "SendTPUEmbeddingGradients",
    "Simulator",
    "Statistics",
    "StatisticsTensors",
    "TableStatistics",
    "__version__",
    "abandon_step",
    "bias_corrected_learning_rate",
    "is_active",
    "library_path",
    "reset",
    "set_options",
    "statistics",
]


def __getattr__(name: str) -> Any:
    # Whoever uses the ops alone does not load a second library.
    if name == "Simulator":
        from tpuless.simulator import Simulator

        return Simulator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
