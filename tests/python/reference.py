# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The oracle: the embedding engine in NumPy float64, slow and obvious.

It shares no code with the engine. Calls that would have to wait raise
WouldWaitError, so that a test can drive several cores from one thread.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from reference_lookups import Layout, Lookup, lookups_of
from reference_optimizers import TableUpdate
from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2

INFERENCE, TRAINING, BACKWARD_PASS_ONLY = 1, 2, 3

_MODES = {
    "inference": INFERENCE,
    "train": TRAINING,
    "training": TRAINING,
    "backward_pass_only": BACKWARD_PASS_ONLY,
}


class WouldWaitError(Exception):
    """The call has to wait for a call that has not been made."""


@dataclasses.dataclass
class _Batch:
    mode: int
    step: int | None  # None for inference.
    lookups: list[Lookup]
    received: bool = False
    gradients: list[np.ndarray] | None = None
    learning_rates: list[float] | None = None


class Reference:
    """One host's engine for a serialized TPUEmbeddingConfiguration."""

    def __init__(self, config: bytes, skip_out_of_range_ids: bool = False):
        proto = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration
        self.config = proto.FromString(config)
        self.layout = Layout.of(self.config)
        self.updates = [
            TableUpdate(table.optimization_parameters)
            for table in self.config.table_descriptor
        ]
        self.tables: list[list[np.ndarray]] = [[] for _ in self.updates]
        hosts = self.config.num_hosts or 1
        self.num_cores = max(1, self.config.num_tensor_cores // hosts)
        self.pipelined = self.config.pipeline_execution_with_tensor_core
        self._skip = skip_out_of_range_ids
        self._batches: list[list[_Batch]] = [[] for _ in range(self.num_cores)]
        self._next_step = [0] * self.num_cores
        self._applied = 0  # Steps below it are in the tables.
        self._complete = 0  # Steps below it have all their gradients.

    def load(self, table: int, variables) -> None:
        """Sets a whole table: its weights, then its slot variables."""
        self._flush()
        assert len(variables) == 1 + len(self.updates[table].slots)
        self.tables[table] = [
            np.asarray(v, np.float32).astype(np.float64) for v in variables
        ]

    def retrieve(self, table: int) -> list[np.ndarray]:
        """Returns a table's weights, then its slot variables."""
        self._flush()
        return [variable.copy() for variable in self.tables[table]]

    def enqueue(self, op, lists, attrs, mode_override, core=0) -> None:
        """Queues the batch of one Enqueue op."""
        mode = _MODES.get(mode_override, self.config.mode)
        step = None
        if mode != INFERENCE:
            step = self._next_step[core]
            self._next_step[core] += 1
        lookups = lookups_of(self.layout, op, lists, attrs, self._skip)
        self._batches[core].append(_Batch(mode, step, lookups))

    def receive(self, core: int = 0) -> list[np.ndarray]:
        """Returns the activations of the core's oldest batch."""
        batch = next(
            (
                batch
                for batch in self._batches[core]
                if not batch.received and batch.mode != BACKWARD_PASS_ONLY
            ),
            None,
        )
        if batch is None:
            raise WouldWaitError
        if batch.step is None:
            received = [b.step for b in self._batches[core] if b.received]
            if any(step >= self._complete for step in received):
                raise WouldWaitError
            self._flush()
        else:
            seen = batch.step - 1 if self.pipelined else batch.step
            if self._applied < seen:
                raise WouldWaitError
        activations = self._forward(batch.lookups)
        batch.received = True
        if batch.step is None:
            self._batches[core].remove(batch)
        else:
            self._apply_where_every_core_has_gone_on()
        return activations

    def send(self, gradients, learning_rates=(), core: int = 0) -> None:
        """Gives the gradients of the core's oldest batch that lacks them."""
        batch = next(
            (
                batch
                for batch in self._batches[core]
                if batch.step is not None and batch.gradients is None
            ),
            None,
        )
        if batch is None:
            raise WouldWaitError
        if not batch.received and batch.mode != BACKWARD_PASS_ONLY:
            raise WouldWaitError
        batch.gradients = [np.asarray(g, np.float64) for g in gradients]
        batch.learning_rates = [float(rate) for rate in learning_rates]
        step = batch.step
        if all(b and b.gradients for b in self._batches_of(step)):
            self._flush()
            self._complete = step + 1
            if not self.pipelined:
                self._flush()
            self._apply_where_every_core_has_gone_on()

    def _batches_of(self, step: int) -> list[_Batch | None]:
        """Returns each core's batch of a step."""
        return [
            next((batch for batch in batches if batch.step == step), None)
            for batches in self._batches
        ]

    def _apply_where_every_core_has_gone_on(self) -> None:
        following = self._batches_of(self._complete)
        if all(batch and batch.received for batch in following):
            self._flush()

    def _flush(self) -> None:
        """Applies the step that is complete but not in the tables."""
        if self._applied == self._complete:
            return
        step = self._complete - 1
        self._apply(self._batches_of(step))
        self._applied = self._complete
        for batches in self._batches:
            batches[:] = [b for b in batches if b.step != step]

    def _forward(self, lookups: list[Lookup]) -> list[np.ndarray]:
        outputs = []
        for output in range(len(self.layout.features)):
            shape = self.layout.output_shape(output)
            outputs.append(np.zeros((int(np.prod(shape[:-1])), shape[-1])))
        for lookup in lookups:
            row = self.tables[lookup.table][0][lookup.id]
            outputs[lookup.output][lookup.row] += lookup.gain * (
                self._quantize(lookup.table, row)
            )
        return [
            activations.reshape(self.layout.output_shape(output))
            for output, activations in enumerate(outputs)
        ]

    def _quantize(self, table: int, row: np.ndarray) -> np.ndarray:
        parameters = self.config.table_descriptor[table]
        quantization = parameters.optimization_parameters.simulated_quantization
        if not quantization.enabled:
            return row
        lower = quantization.clipping_limits.lower.value
        upper = quantization.clipping_limits.upper.value
        quantum = (upper - lower) / (quantization.num_buckets - 1)
        clipped = np.clip(row, lower, upper)
        return np.floor((clipped - lower) / quantum + 0.5) * quantum + lower

    def _apply(self, batches: list[_Batch]) -> None:
        for table, update in enumerate(self.updates):
            inputs = update.inputs(batches[0].learning_rates)
            contributions: dict[int, list[np.ndarray]] = {}
            for batch in batches:
                for lookup in batch.lookups:
                    if lookup.table != table:
                        continue
                    tensor = batch.gradients[lookup.output]
                    rows = tensor.reshape(-1, tensor.shape[-1])
                    contributions.setdefault(lookup.id, []).append(
                        lookup.gain * rows[lookup.row]
                    )
            self._update_rows(table, update, contributions, inputs)

    def _update_rows(self, table, update, contributions, inputs) -> None:
        weights, *slots = self.tables[table]
        if update.updates_all_rows:
            for row in range(len(weights)):
                contributions.setdefault(row, [np.zeros(weights.shape[1])])
        for row, gradients in contributions.items():
            if update.accumulates:
                gradients = [sum(gradients)]
            for gradient in gradients:
                weights[row], new_slots = update(
                    weights[row],
                    [slot[row] for slot in slots],
                    gradient,
                    inputs,
                )
                for slot, new in zip(slots, new_slots, strict=True):
                    slot[row] = new
