# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The Enqueue ops as methods, with the arguments of the ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tpuless import _arrays, _engine
from tpuless._engine import EnqueueForm

Arrays = Sequence[npt.ArrayLike]

_NO_WEIGHTS = np.zeros([0], np.float32)


class EnqueueForms:
    """The five forms of a batch that TensorFlow's Enqueue ops know.

    Every list has one array an input; ids and indices are int32 or int64,
    weights float32 or float64. An array of weights may be empty, [0], and
    stands for weights of 1. Which shapes mean what is said of the ops, in
    `tf.raw_ops`; `Simulator.enqueue` takes batches in easier forms.

    All raise ValueError for what the op refuses as InvalidArgument, and then
    have enqueued nothing.
    """

    _engine: _engine.Engine

    def enqueue_integer_batch(
        self,
        batch: Arrays,
        mode_override: str = "unspecified",
        device_ordinal: int = -1,
    ) -> None:
        """Does what EnqueueTPUEmbeddingIntegerBatch does.

        Args:
          batch: For each table, one id an activation row.
          mode_override: 'unspecified', 'train', 'inference' or
            'backward_pass_only'.
          device_ordinal: The core; -1 is core 0.
        """
        inputs = [
            (None, _arrays.to_ids(ids, f"batch[{i}]"), _NO_WEIGHTS)
            for i, ids in enumerate(_arrays.to_list(batch, "batch"))
        ]
        self._enqueue(
            EnqueueForm.INTEGER_BATCH, inputs, mode_override, device_ordinal
        )

    def enqueue_sparse_batch(
        self,
        sample_indices: Arrays,
        embedding_indices: Arrays,
        aggregation_weights: Arrays,
        mode_override: str = "unspecified",
        device_ordinal: int = -1,
        combiners: Sequence[str] = (),
    ) -> None:
        """Does what EnqueueTPUEmbeddingSparseBatch does.

        Args:
          sample_indices: For each table, each id's activation row.
          embedding_indices: For each table, the ids.
          aggregation_weights: For each table, the ids' weights, or [0].
          mode_override: As of `enqueue_integer_batch`.
          device_ordinal: As of `enqueue_integer_batch`.
          combiners: 'sum', 'mean' or 'sqrtn' of each table; empty is 'sum'.
        """
        inputs = _read_inputs(
            sample_indices=sample_indices,
            embedding_indices=embedding_indices,
            aggregation_weights=aggregation_weights,
        )
        self._enqueue(
            EnqueueForm.SPARSE_BATCH,
            inputs,
            mode_override,
            device_ordinal,
            combiners,
        )

    def enqueue_sparse_tensor_batch(
        self,
        sample_indices: Arrays,
        embedding_indices: Arrays,
        aggregation_weights: Arrays,
        mode_override: str = "unspecified",
        *,
        table_ids: Sequence[int],
        device_ordinal: int = -1,
        combiners: Sequence[str] = (),
        max_sequence_lengths: Sequence[int] = (),
        num_features: Sequence[int] = (),
    ) -> None:
        """Does what EnqueueTPUEmbeddingSparseTensorBatch does.

        Args:
          sample_indices: For each input, [num_ids, 2] of sample and
            position, or [num_ids] of samples, or [0]: one id a sample.
          embedding_indices: For each input, the ids.
          aggregation_weights: For each input, the ids' weights, or [0].
          mode_override: As of `enqueue_integer_batch`.
          table_ids: The table of each input.
          device_ordinal: As of `enqueue_integer_batch`.
          combiners: As of `enqueue_sparse_batch`, by table or by input.
          max_sequence_lengths: Of each input that is a sequence, else 0.
          num_features: Samples of each input for each one of the batch.
        """
        inputs = _read_inputs(
            sample_indices=sample_indices,
            embedding_indices=embedding_indices,
            aggregation_weights=aggregation_weights,
        )
        self._enqueue(
            EnqueueForm.SPARSE_TENSOR_BATCH,
            inputs,
            mode_override,
            device_ordinal,
            combiners,
            table_ids,
            max_sequence_lengths,
            num_features,
        )

    def enqueue_ragged_tensor_batch(
        self,
        sample_splits: Arrays,
        embedding_indices: Arrays,
        aggregation_weights: Arrays,
        mode_override: str = "unspecified",
        *,
        table_ids: Sequence[int],
        device_ordinal: int = -1,
        combiners: Sequence[str] = (),
        max_sequence_lengths: Sequence[int] = (),
        num_features: Sequence[int] = (),
    ) -> None:
        """Does what EnqueueTPUEmbeddingRaggedTensorBatch does.

        Args:
          sample_splits: For each input, row splits [num_samples + 1], or
            [0]: one id a sample.
          embedding_indices: For each input, the ids.
          aggregation_weights: For each input, the ids' weights, or [0].
          mode_override: As of `enqueue_integer_batch`.
          table_ids: As of `enqueue_sparse_tensor_batch`.
          device_ordinal: As of `enqueue_integer_batch`.
          combiners: As of `enqueue_sparse_tensor_batch`.
          max_sequence_lengths: As of `enqueue_sparse_tensor_batch`.
          num_features: As of `enqueue_sparse_tensor_batch`.
        """
        inputs = _read_inputs(
            sample_splits=sample_splits,
            embedding_indices=embedding_indices,
            aggregation_weights=aggregation_weights,
        )
        self._enqueue(
            EnqueueForm.RAGGED_TENSOR_BATCH,
            inputs,
            mode_override,
            device_ordinal,
            combiners,
            table_ids,
            max_sequence_lengths,
            num_features,
        )

    def enqueue_arbitrary_tensor_batch(
        self,
        sample_indices_or_row_splits: Arrays,
        embedding_indices: Arrays,
        aggregation_weights: Arrays,
        mode_override: str = "unspecified",
        device_ordinal: int = -1,
        combiners: Sequence[str] = (),
    ) -> None:
        """Does what EnqueueTPUEmbeddingArbitraryTensorBatch does.

        Args:
          sample_indices_or_row_splits: For each feature, indices
            [num_ids, rank + 1], or row splits, or [0]: one id an output.
          embedding_indices: For each feature, the ids.
          aggregation_weights: For each feature, the ids' weights, or [0].
          mode_override: As of `enqueue_integer_batch`.
          device_ordinal: As of `enqueue_integer_batch`.
          combiners: As of `enqueue_sparse_batch`.
        """
        inputs = _read_inputs(
            sample_indices_or_row_splits=sample_indices_or_row_splits,
            embedding_indices=embedding_indices,
            aggregation_weights=aggregation_weights,
        )
        self._enqueue(
            EnqueueForm.ARBITRARY_TENSOR_BATCH,
            inputs,
            mode_override,
            device_ordinal,
            combiners,
        )

    def _enqueue(
        self,
        form: EnqueueForm,
        inputs: Sequence[Any],
        mode_override: str,
        device_ordinal: int,
        combiners: Sequence[str] = (),
        table_ids: Sequence[int] = (),
        max_sequence_lengths: Sequence[int] = (),
        num_features: Sequence[int] = (),
    ) -> None:
        self._engine.enqueue(
            form,
            inputs,
            list(combiners),
            list(table_ids),
            list(max_sequence_lengths),
            list(num_features),
            mode_override,
            device_ordinal,
        )


def _read_inputs(**lists: Arrays) -> list[tuple[Any, Any, Any]]:
    """Returns the inputs that three list arguments make, in their order."""
    (first, samples), (second, ids), (third, weights) = (
        (name, _arrays.to_list(values, name)) for name, values in lists.items()
    )
    for name, values in (second, ids), (third, weights):
        if len(values) != len(samples):
            raise ValueError(
                f"{name} must have as many entries as {first} "
                f"({len(samples)}), got {len(values)}"
            )
    return [
        (
            _arrays.to_ids(samples[i], f"{first}[{i}]"),
            _arrays.to_ids(ids[i], f"{second}[{i}]"),
            _arrays.to_weights(weights[i], f"{third}[{i}]"),
        )
        for i in range(len(samples))
    ]
