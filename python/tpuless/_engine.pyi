# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Types of the module that cc/pybind/engine_module.cc makes."""

import enum
from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

class OptimizerDescription(TypedDict):
    name: str
    op_name: str  # Within Load and Retrieve ops; "" where there are none.
    slots: list[str]
    hyperparameters: list[str]
    dynamic_input: str  # Field with its tag; "" where there is none.

class RefusedOptimizerDescription(TypedDict):
    name: str
    op_name: str
    reason: str

class TableDescription(TypedDict):
    name: str
    vocabulary_size: int
    dimension: int
    num_features: int
    optimizer: str
    slots: list[str]
    hyperparameters: dict[str, float]
    accumulates: bool
    learning_rate: float
    learning_rate_tag: int | None

class OutputDescription(TypedDict):
    name: str  # Of the feature; "" in the table layout.
    title: str  # As messages name it: "feature 'watched'".
    table: int
    shape: list[int]

class ConfigDescription(TypedDict):
    mode: str
    batch_size: int
    num_hosts: int
    num_cores: int  # Of this host.
    sharding: str
    pipelined: bool
    feature_layout: bool
    num_learning_rates: int
    tables: list[TableDescription]
    outputs: list[OutputDescription]
    memory_limit: int

def optimizers() -> list[OptimizerDescription]: ...
def refused_optimizers() -> list[RefusedOptimizerDescription]: ...
def describe(config: bytes) -> ConfigDescription: ...

class EnqueueForm(enum.Enum):
    INTEGER_BATCH = ...
    SPARSE_BATCH = ...
    SPARSE_TENSOR_BATCH = ...
    RAGGED_TENSOR_BATCH = ...
    ARBITRARY_TENSOR_BATCH = ...

class Options:
    receive_timeout: float
    queue_limit: int
    skip_out_of_range_ids: bool
    experimental_optimizers: bool
    def __init__(self) -> None: ...

class Engine:
    def __init__(
        self, config: bytes, options: Options, num_threads: int
    ) -> None: ...
    def close(self) -> None: ...
    def description(self) -> ConfigDescription: ...
    def options(self) -> Options: ...
    def set_options(self, options: Options) -> None: ...
    def statistics(
        self,
    ) -> tuple[
        list[str], list[int], list[str], list[tuple[int, int, int, bool]]
    ]: ...
    def find_table(self, name: str, id: int) -> int: ...
    def load(
        self,
        table: int,
        variables: Sequence[npt.NDArray[Any]],
        num_shards: int,
        shard_id: int,
    ) -> None: ...
    def retrieve(
        self, table: int, num_shards: int, shard_id: int
    ) -> tuple[npt.NDArray[np.float32], ...]: ...
    def enqueue(
        self,
        form: EnqueueForm,
        inputs: Sequence[
            tuple[npt.NDArray[Any] | None, npt.NDArray[Any], npt.NDArray[Any]]
        ],
        combiners: Sequence[str],
        table_ids: Sequence[int],
        max_sequence_lengths: Sequence[int],
        num_features: Sequence[int],
        mode_override: str,
        device_ordinal: int,
    ) -> None: ...
    def receive(self, core: int) -> list[npt.NDArray[np.float32]]: ...
    def send(
        self,
        core: int,
        gradients: Sequence[npt.NDArray[Any]],
        learning_rates: Sequence[npt.NDArray[Any]],
    ) -> None: ...
    def abandon_step(self) -> None: ...
