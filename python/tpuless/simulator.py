# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The engine with NumPy arrays in and out, and no graph."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt
from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2

from tpuless import _arrays, _control, _engine, _features, _options, _tables
from tpuless._enqueue_forms import EnqueueForms
from tpuless.statistics_pb2 import Statistics

_Configuration = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration


class Simulator(EnqueueForms):
    """An embedding engine of its own: tables, and steps on them.

    It shares nothing with TensorFlow's ops or with other simulators. A step
    is `enqueue`, `receive`, `send`, on every core. Calls that have to wait,
    as `receive` for a batch that another thread is to enqueue, do so without
    the GIL, and can be interrupted with Control-C.

    Errors are Python's own, and leave tables and queues as they were:
    ValueError for what a call got, LookupError for an unknown table or
    feature, RuntimeError for a call at the wrong time, TimeoutError for one
    that waited in vain, MemoryError, and NotImplementedError for what this
    engine lacks.

    Example: a table of three rows, two samples, plain gradient descent.

    >>> import numpy as np, tpuless
    >>> from google.protobuf import text_format
    >>> from tensorflow.core.protobuf.tpu import (
    ...     tpu_embedding_configuration_pb2 as pb2
    ... )
    >>> config = text_format.Parse('''
    ...   table_descriptor {
    ...     name: "movie"  vocabulary_size: 3  dimension: 2
    ...     optimization_parameters {
    ...       stochastic_gradient_descent {}
    ...       learning_rate { constant: 0.5 }
    ...     }
    ...   }
    ...   feature_descriptor { name: "watched"  table_id: 0  input_shape: 2 }
    ...   mode: TRAINING  num_hosts: 1  num_tensor_cores: 1
    ... ''', pb2.TPUEmbeddingConfiguration())
    >>> simulator = tpuless.Simulator(config)
    >>> simulator.load("movie", np.float32([[1, 2], [3, 4], [5, 6]]))
    >>> simulator.enqueue({"watched": [[0, 2], [1]]})
    >>> (activations,) = simulator.receive()
    >>> activations
    array([[6., 8.],
           [3., 4.]], dtype=float32)
    >>> simulator.send([np.ones_like(activations)])
    >>> (weights,) = simulator.retrieve("movie")
    >>> weights
    array([[0.5, 1.5],
           [2.5, 3.5],
           [4.5, 5.5]], dtype=float32)
    >>> simulator.close()
    """

    def __init__(
        self,
        config: bytes | Any,
        *,
        num_threads: int | None = None,
        receive_timeout: SupportsFloat | None = None,
        queue_limit: SupportsIndex | None = None,
        out_of_range_ids: _options.OutOfRangeIds | None = None,
        experimental_optimizers: bool | None = None,
    ) -> None:
        """Makes an engine; its tables claim their memory when loaded.

        Args:
          config: A TPUEmbeddingConfiguration, as a message or serialized.
          num_threads: How many may compute, that of the caller included; by
            default all processors this process may use. Results are the same
            bits for any number.
          receive_timeout: See `tpuless.set_options`.
          queue_limit: See `tpuless.set_options`.
          out_of_range_ids: See `tpuless.set_options`.
          experimental_optimizers: See `tpuless.set_options`.

        Raises:
          ValueError: The configuration or an option breaks a rule.
          NotImplementedError: The configuration asks for what is not there.
          MemoryError: The tables are larger than this machine.
        """
        if num_threads is None:
            num_threads = len(os.sched_getaffinity(0))
        if num_threads < 1:
            raise ValueError(f"num_threads must be >= 1, got {num_threads}")
        numbers = _options.as_numbers(
            receive_timeout=receive_timeout,
            queue_limit=queue_limit,
            out_of_range_ids=out_of_range_ids,
            experimental_optimizers=experimental_optimizers,
        )
        self._config = _serialize(config)
        self._engine = _engine.Engine(
            self._config,
            _options.change(_engine.Options(), numbers),
            num_threads,
        )
        self._description = self._engine.description()
        self._features = _tables.feature_shapes(self._description)

    @property
    def config(self) -> Any:
        """The TPUEmbeddingConfiguration, as a message."""
        return _Configuration.FromString(self._config)

    @property
    def output_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of what `receive` returns and `send` takes."""
        return [
            tuple(output["shape"]) for output in self._description["outputs"]
        ]

    def load(
        self,
        table: str | SupportsIndex,
        weights: npt.ArrayLike,
        *slots: npt.ArrayLike,
        num_shards: int = 1,
        shard_id: int = 0,
        **named_slots: npt.ArrayLike,
    ) -> None:
        """Sets the rows of a table, or of one shard of it.

        Args:
          table: Its name, or its place in the configuration.
          weights: Floats, [rows, dimension].
          *slots: The optimizer's slot variables, each of that shape, in the
            order of TensorFlow's Load op; none for plain gradient descent.
          num_shards: Into how many parts the table is divided.
          shard_id: Which of them this is.
          **named_slots: Slot variables by name instead, as in
            `load("movie", weights, accumulators=accumulators)`.

        Raises:
          ValueError: A shape or the number of variables is not the table's.
          LookupError: There is no such table.
        """
        table_id = self._find_table(table)
        variables = _tables.read_variables(
            self._description["tables"][table_id], weights, slots, named_slots
        )
        self._engine.load(table_id, variables, num_shards, shard_id)

    def retrieve(
        self,
        table: str | SupportsIndex,
        num_shards: int = 1,
        shard_id: int = 0,
    ) -> tuple[npt.NDArray[np.float32], ...]:
        """Returns a table's weights and slot variables, as `load` takes them.

        Gradients that were sent are in them, those of a step that is not yet
        complete are not.

        Args:
          table: Its name, or its place in the configuration.
          num_shards: Into how many parts the table is divided.
          shard_id: Which of them to return.

        Raises:
          LookupError: There is no such table.
          RuntimeError: The table is not loaded.
        """
        return self._engine.retrieve(
            self._find_table(table), num_shards, shard_id
        )

    def enqueue(
        self,
        features: Any,
        weights: Any = None,
        *,
        combiners: str | Mapping[str, str] | Sequence[str] = (),
        mode_override: str = "unspecified",
        core: int = 0,
    ) -> None:
        """Enqueues one batch of ids, in whatever form they are at hand.

        A feature, or where the configuration has none a table, takes ids as

        * an array of its shape, such as [batch_size]: one id an element;
        * an array with one more axis: those are combined;
        * rows that differ in length, such as `[[7, 8], [], [9]]`: those are
          combined, or, where the shape has an axis for positions, follow
          each other, what is too long being dropped;
        * a `tf.RaggedTensor` or `tf.SparseTensor`.

        Ids are Python's integers, int32 or int64.

        Args:
          features: Ids by name, or a list in the configuration's order.
          weights: Factors on ids, built like the ids; features may be left
            out or None, as weights of 1.
          combiners: How ids are combined: 'sum', 'mean' or 'sqrtn' for all
            tables, a mapping by table name, or a list in the configuration's
            order. Tables without one have 'sum'.
          mode_override: 'unspecified', 'train', 'inference' or
            'backward_pass_only'.
          core: For which core.

        Raises:
          ValueError: An id is outside its table, or something does not fit.
          LookupError: There is no such feature or table.
          TimeoutError: The queue was full all the time.
        """
        ids = _features.in_order(features, self._features, "features")
        factors: list[Any] = [None] * len(ids)
        if weights is not None:
            factors = _features.in_order(weights, self._features, "weights")
        inputs = [
            _features.read(*triple)
            for triple in zip(self._features, ids, factors, strict=True)
        ]
        self._enqueue(
            _engine.EnqueueForm.ARBITRARY_TENSOR_BATCH,
            inputs,
            mode_override,
            core,
            _tables.read_combiners(self._description, combiners),
        )

    def receive(self, core: int = 0) -> list[npt.NDArray[np.float32]]:
        """Returns the activations of the core's oldest batch.

        Waits for the batch, and for steps whose updates it must see.

        Returns:
          Arrays of `output_shapes`: one a feature, or where the
          configuration has none, one a table.

        Raises:
          RuntimeError: A table is not loaded, or the step was given up.
          TimeoutError: Nothing came; the message says what is missing.
        """
        return self._engine.receive(core)

    def send(
        self,
        gradients: Sequence[npt.ArrayLike],
        learning_rates: Sequence[npt.ArrayLike] = (),
        core: int = 0,
    ) -> None:
        """Gives the gradients of the oldest batch that was received.

        The step is applied once all cores have sent.

        Args:
          gradients: Of the activations: their number, order and shapes. Any
            floats; they are cast to float32.
          learning_rates: One number for each dynamic learning rate's tag.
          core: Of which core.

        Raises:
          ValueError: A number or shape is not the configuration's.
          RuntimeError: The step was given up.
          TimeoutError: No batch was received; the message says so.
        """
        self._engine.send(
            core,
            _arrays.to_float32_list(gradients, "gradients"),
            _arrays.to_float32_list(learning_rates, "learning_rates"),
        )

    def statistics(self) -> Statistics:
        """Returns what this engine has done."""
        return _control.StatisticsTensors(*self._engine.statistics()).message()

    def set_options(
        self,
        *,
        receive_timeout: SupportsFloat | None = None,
        queue_limit: SupportsIndex | None = None,
        out_of_range_ids: _options.OutOfRangeIds | None = None,
    ) -> None:
        """Changes the options that are given; see `tpuless.set_options`."""
        numbers = _options.as_numbers(
            receive_timeout=receive_timeout,
            queue_limit=queue_limit,
            out_of_range_ids=out_of_range_ids,
        )
        self._engine.set_options(
            _options.change(self._engine.options(), numbers)
        )

    def abandon_step(self) -> None:
        """Gives up the oldest step that is not complete, on all cores.

        Raises:
          LookupError: No step is open.
        """
        self._engine.abandon_step()

    def close(self) -> None:
        """Ends calls that wait, and frees the tables. May be called again."""
        self._engine.close()

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _find_table(self, table: str | SupportsIndex) -> int:
        if isinstance(table, str):
            return self._engine.find_table(table, -1)
        return self._engine.find_table("", operator.index(table))


def _serialize(config: Any) -> bytes:
    if isinstance(config, bytes):
        return config
    if isinstance(config, _Configuration):
        return config.SerializeToString()
    raise ValueError(
        "config must be a TPUEmbeddingConfiguration or its bytes, got "
        f"{type(config).__name__}"
    )
