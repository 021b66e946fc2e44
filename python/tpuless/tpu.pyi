# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
# Written by python/write_stub.py.
from collections.abc import Iterable, Sequence

import tensorflow as tf
from google.protobuf.message import Message

from tpuless import _arguments
from tpuless._arguments import TensorLike
from tpuless._factory import IterableOp, Operand, RawOp
from tpuless._op_inputs import RawOpInputs
from tpuless._scope import Scope

ABSENT: dict[str, str]
__all__ = [
    'CollateTPUEmbeddingMemory',
    'ComputeDedupDataSize',
    'ComputeDedupDataTupleMask',
    'ConfigureDistributedTPU',
    'ConfigureTPUEmbedding',
    'ConfigureTPUEmbeddingHost',
    'ConfigureTPUEmbeddingMemory',
    'ConnectTPUEmbeddingHosts',
    'DynamicEnqueueTPUEmbeddingArbitraryTensorBatch',
    'DynamicEnqueueTPUEmbeddingRaggedTensorBatch',
    'EmbeddingActivations',
    'EnqueueTPUEmbeddingArbitraryTensorBatch',
    'EnqueueTPUEmbeddingBatch',
    'EnqueueTPUEmbeddingIntegerBatch',
    'EnqueueTPUEmbeddingRaggedTensorBatch',
    'EnqueueTPUEmbeddingSparseBatch',
    'EnqueueTPUEmbeddingSparseTensorBatch',
    'ExecuteTPUEmbeddingPartitioner',
    'FinalizeTPUEmbedding',
    'IsTPUEmbeddingInitialized',
    'LoadAllTPUEmbeddingParameters',
    'LoadTPUEmbeddingADAMParameters',
    'LoadTPUEmbeddingAdadeltaParameters',
    'LoadTPUEmbeddingAdagradMomentumParameters',
    'LoadTPUEmbeddingAdagradParameters',
    'LoadTPUEmbeddingCenteredRMSPropParameters',
    'LoadTPUEmbeddingFTRLParameters',
    'LoadTPUEmbeddingFrequencyEstimatorParameters',
    'LoadTPUEmbeddingMDLAdagradLightParameters',
    'LoadTPUEmbeddingMomentumParameters',
    'LoadTPUEmbeddingProximalAdagradParameters',
    'LoadTPUEmbeddingProximalYogiParameters',
    'LoadTPUEmbeddingRMSPropParameters',
    'LoadTPUEmbeddingStochasticGradientDescentParameters',
    'MergeDedupData',
    'RecvTPUEmbeddingActivations',
    'RetrieveAllTPUEmbeddingParameters',
    'RetrieveTPUEmbeddingADAMParameters',
    'RetrieveTPUEmbeddingAdadeltaParameters',
    'RetrieveTPUEmbeddingAdagradMomentumParameters',
    'RetrieveTPUEmbeddingAdagradParameters',
    'RetrieveTPUEmbeddingCenteredRMSPropParameters',
    'RetrieveTPUEmbeddingFTRLParameters',
    'RetrieveTPUEmbeddingFrequencyEstimatorParameters',
    'RetrieveTPUEmbeddingMDLAdagradLightParameters',
    'RetrieveTPUEmbeddingMomentumParameters',
    'RetrieveTPUEmbeddingProximalAdagradParameters',
    'RetrieveTPUEmbeddingProximalYogiParameters',
    'RetrieveTPUEmbeddingRMSPropParameters',
    'RetrieveTPUEmbeddingStochasticGradientDescentParameters',
    'SendTPUEmbeddingGradients',
    'ShutdownDistributedTPU',
    'SplitDedupData',
    'TPUEmbeddingActivations',
]

class CollateTPUEmbeddingMemory(Operand):
    class Inputs(RawOpInputs):
        outputs: CollateTPUEmbeddingMemory
        memory_configs: list[tf.Tensor]
        memoryConfigs: list[tf.Tensor]
    @classmethod
    def create(cls, scope: Scope, memory_configs: Iterable[TensorLike]) -> CollateTPUEmbeddingMemory: ...
    def merged_memory_config(self) -> tf.Tensor: ...
    mergedMemoryConfig = merged_memory_config

class ComputeDedupDataSize(Operand):
    class Inputs(RawOpInputs):
        outputs: ComputeDedupDataSize
        config: bytes
        embedding_partitions: bytes
        embeddingPartitions: bytes
        hbm_buffers_config: bytes
        hbmBuffersConfig: bytes
        tpu_topology: bytes
        tpuTopology: bytes
    @classmethod
    def create(cls, scope: Scope, config: bytes | str | Message, embedding_partitions: bytes | str | Message, hbm_buffers_config: bytes | str | Message, tpu_topology: bytes | str | Message) -> ComputeDedupDataSize: ...
    def num_elements(self) -> tf.Tensor: ...
    numElements = num_elements

class ComputeDedupDataTupleMask(Operand):
    class Inputs(RawOpInputs):
        outputs: ComputeDedupDataTupleMask
        config: bytes
        embedding_partitions: bytes
        embeddingPartitions: bytes
        hbm_buffers_config: bytes
        hbmBuffersConfig: bytes
        tpu_topology: bytes
        tpuTopology: bytes
    @classmethod
    def create(cls, scope: Scope, config: bytes | str | Message, embedding_partitions: bytes | str | Message, hbm_buffers_config: bytes | str | Message, tpu_topology: bytes | str | Message) -> ComputeDedupDataTupleMask: ...
    def output_shape(self) -> tf.Tensor: ...
    outputShape = output_shape

class ConfigureDistributedTPU(Operand):
    class Options(_arguments.Options):
        def embedding_config(self, value: bytes | str | Message) -> ConfigureDistributedTPU.Options: ...
        embeddingConfig = embedding_config
        def tpu_embedding_config(self, value: bytes | str | Message) -> ConfigureDistributedTPU.Options: ...
        tpuEmbeddingConfig = tpu_embedding_config
        def is_global_init(self, value: bool) -> ConfigureDistributedTPU.Options: ...
        isGlobalInit = is_global_init
        def enable_whole_mesh_compilations(self, value: bool) -> ConfigureDistributedTPU.Options: ...
        enableWholeMeshCompilations = enable_whole_mesh_compilations
        def compilation_failure_closes_chips(self, value: bool) -> ConfigureDistributedTPU.Options: ...
        compilationFailureClosesChips = compilation_failure_closes_chips
        def tpu_cancellation_closes_chips(self, value: int) -> ConfigureDistributedTPU.Options: ...
        tpuCancellationClosesChips = tpu_cancellation_closes_chips
    class Inputs(RawOpInputs):
        outputs: ConfigureDistributedTPU
        embedding_config: bytes
        embeddingConfig: bytes
        tpu_embedding_config: bytes
        tpuEmbeddingConfig: bytes
        is_global_init: bool
        isGlobalInit: bool
        enable_whole_mesh_compilations: bool
        enableWholeMeshCompilations: bool
        compilation_failure_closes_chips: bool
        compilationFailureClosesChips: bool
        tpu_cancellation_closes_chips: int
        tpuCancellationClosesChips: int
    @classmethod
    def create(cls, scope: Scope, *options: ConfigureDistributedTPU.Options, embedding_config: bytes | str | Message | None = None, tpu_embedding_config: bytes | str | Message | None = None, is_global_init: bool | None = None, enable_whole_mesh_compilations: bool | None = None, compilation_failure_closes_chips: bool | None = None, tpu_cancellation_closes_chips: int | None = None) -> ConfigureDistributedTPU: ...
    @staticmethod
    def embedding_config(value: bytes | str | Message) -> ConfigureDistributedTPU.Options: ...
    embeddingConfig = embedding_config
    @staticmethod
    def tpu_embedding_config(value: bytes | str | Message) -> ConfigureDistributedTPU.Options: ...
    tpuEmbeddingConfig = tpu_embedding_config
    @staticmethod
    def is_global_init(value: bool) -> ConfigureDistributedTPU.Options: ...
    isGlobalInit = is_global_init
    @staticmethod
    def enable_whole_mesh_compilations(value: bool) -> ConfigureDistributedTPU.Options: ...
    enableWholeMeshCompilations = enable_whole_mesh_compilations
    @staticmethod
    def compilation_failure_closes_chips(value: bool) -> ConfigureDistributedTPU.Options: ...
    compilationFailureClosesChips = compilation_failure_closes_chips
    @staticmethod
    def tpu_cancellation_closes_chips(value: int) -> ConfigureDistributedTPU.Options: ...
    tpuCancellationClosesChips = tpu_cancellation_closes_chips
    def topology(self) -> tf.Tensor: ...

class ConfigureTPUEmbedding(RawOp):
    class Inputs(RawOpInputs):
        outputs: ConfigureTPUEmbedding
        config: bytes
    @classmethod
    def create(cls, scope: Scope, config: bytes | str | Message) -> ConfigureTPUEmbedding: ...

class ConfigureTPUEmbeddingHost(Operand):
    class Inputs(RawOpInputs):
        outputs: ConfigureTPUEmbeddingHost
        common_config: tf.Tensor
        commonConfig: tf.Tensor
        memory_config: tf.Tensor
        memoryConfig: tf.Tensor
        config: bytes
    @classmethod
    def create(cls, scope: Scope, common_config: TensorLike, memory_config: TensorLike, config: bytes | str | Message) -> ConfigureTPUEmbeddingHost: ...
    def network_config(self) -> tf.Tensor: ...
    networkConfig = network_config

class ConfigureTPUEmbeddingMemory(Operand):
    class Inputs(RawOpInputs):
        outputs: ConfigureTPUEmbeddingMemory
        common_config: tf.Tensor
        commonConfig: tf.Tensor
    @classmethod
    def create(cls, scope: Scope, common_config: TensorLike) -> ConfigureTPUEmbeddingMemory: ...
    def memory_config(self) -> tf.Tensor: ...
    memoryConfig = memory_config

class ConnectTPUEmbeddingHosts(RawOp):
    class Inputs(RawOpInputs):
        outputs: ConnectTPUEmbeddingHosts
        network_configs: list[tf.Tensor]
        networkConfigs: list[tf.Tensor]
    @classmethod
    def create(cls, scope: Scope, network_configs: Iterable[TensorLike]) -> ConnectTPUEmbeddingHosts: ...

class DynamicEnqueueTPUEmbeddingArbitraryTensorBatch(RawOp):
    class Options(_arguments.Options):
        def combiners(self, *values: Sequence[bytes | str] | bytes | str) -> DynamicEnqueueTPUEmbeddingArbitraryTensorBatch.Options: ...
    class Inputs(RawOpInputs):
        outputs: DynamicEnqueueTPUEmbeddingArbitraryTensorBatch
        sample_indices_or_row_splits: list[tf.Tensor]
        sampleIndicesOrRowSplits: list[tf.Tensor]
        embedding_indices: list[tf.Tensor]
        embeddingIndices: list[tf.Tensor]
        aggregation_weights: list[tf.Tensor]
        aggregationWeights: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        device_ordinal: tf.Tensor
        deviceOrdinal: tf.Tensor
        t1: tf.DType
        T1: tf.DType
        t2: tf.DType
        T2: tf.DType
        t3: tf.DType
        T3: tf.DType
        combiners: list[bytes]
    @classmethod
    def create(cls, scope: Scope, sample_indices_or_row_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, device_ordinal: TensorLike, *options: DynamicEnqueueTPUEmbeddingArbitraryTensorBatch.Options, combiners: Sequence[bytes | str] | None = None) -> DynamicEnqueueTPUEmbeddingArbitraryTensorBatch: ...
    @staticmethod
    def combiners(*values: Sequence[bytes | str] | bytes | str) -> DynamicEnqueueTPUEmbeddingArbitraryTensorBatch.Options: ...

class DynamicEnqueueTPUEmbeddingRaggedTensorBatch(RawOp):
    class Options(_arguments.Options):
        def combiners(self, *values: Sequence[bytes | str] | bytes | str) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
        def max_sequence_lengths(self, *values: Sequence[int] | int) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
        maxSequenceLengths = max_sequence_lengths
        def num_features(self, *values: Sequence[int] | int) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
        numFeatures = num_features
    class Inputs(RawOpInputs):
        outputs: DynamicEnqueueTPUEmbeddingRaggedTensorBatch
        sample_splits: list[tf.Tensor]
        sampleSplits: list[tf.Tensor]
        embedding_indices: list[tf.Tensor]
        embeddingIndices: list[tf.Tensor]
        aggregation_weights: list[tf.Tensor]
        aggregationWeights: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        device_ordinal: tf.Tensor
        deviceOrdinal: tf.Tensor
        t1: tf.DType
        T1: tf.DType
        t2: tf.DType
        T2: tf.DType
        t3: tf.DType
        T3: tf.DType
        combiners: list[bytes]
        table_ids: list[int]
        tableIds: list[int]
        max_sequence_lengths: list[int]
        maxSequenceLengths: list[int]
        num_features: list[int]
        numFeatures: list[int]
    @classmethod
    def create(cls, scope: Scope, sample_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, device_ordinal: TensorLike, table_ids: Sequence[int], *options: DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options, combiners: Sequence[bytes | str] | None = None, max_sequence_lengths: Sequence[int] | None = None, num_features: Sequence[int] | None = None) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch: ...
    @staticmethod
    def combiners(*values: Sequence[bytes | str] | bytes | str) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
    @staticmethod
    def max_sequence_lengths(*values: Sequence[int] | int) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
    maxSequenceLengths = max_sequence_lengths
    @staticmethod
    def num_features(*values: Sequence[int] | int) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
    numFeatures = num_features

class EmbeddingActivations(Operand):
    class Inputs(RawOpInputs):
        outputs: EmbeddingActivations
        embedding_variable: tf.Tensor
        embeddingVariable: tf.Tensor
        sliced_activations: tf.Tensor
        slicedActivations: tf.Tensor
        table_id: int
        tableId: int
        lookup_id: int
        lookupId: int
    @classmethod
    def create(cls, scope: Scope, embedding_variable: TensorLike, sliced_activations: TensorLike, table_id: int, lookup_id: int) -> EmbeddingActivations: ...
    def output(self) -> tf.Tensor: ...

class EnqueueTPUEmbeddingArbitraryTensorBatch(RawOp):
    class Options(_arguments.Options):
        def device_ordinal(self, value: int) -> EnqueueTPUEmbeddingArbitraryTensorBatch.Options: ...
        deviceOrdinal = device_ordinal
        def combiners(self, *values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingArbitraryTensorBatch.Options: ...
    class Inputs(RawOpInputs):
        outputs: EnqueueTPUEmbeddingArbitraryTensorBatch
        sample_indices_or_row_splits: list[tf.Tensor]
        sampleIndicesOrRowSplits: list[tf.Tensor]
        embedding_indices: list[tf.Tensor]
        embeddingIndices: list[tf.Tensor]
        aggregation_weights: list[tf.Tensor]
        aggregationWeights: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        t1: tf.DType
        T1: tf.DType
        t2: tf.DType
        T2: tf.DType
        t3: tf.DType
        T3: tf.DType
        device_ordinal: int
        deviceOrdinal: int
        combiners: list[bytes]
    @classmethod
    def create(cls, scope: Scope, sample_indices_or_row_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingArbitraryTensorBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None) -> EnqueueTPUEmbeddingArbitraryTensorBatch: ...
    @staticmethod
    def device_ordinal(value: int) -> EnqueueTPUEmbeddingArbitraryTensorBatch.Options: ...
    deviceOrdinal = device_ordinal
    @staticmethod
    def combiners(*values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingArbitraryTensorBatch.Options: ...

class EnqueueTPUEmbeddingBatch(RawOp):
    class Options(_arguments.Options):
        def device_ordinal(self, value: int) -> EnqueueTPUEmbeddingBatch.Options: ...
        deviceOrdinal = device_ordinal
        def combiners(self, *values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingBatch.Options: ...
    class Inputs(RawOpInputs):
        outputs: EnqueueTPUEmbeddingBatch
        batch: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        device_ordinal: int
        deviceOrdinal: int
        combiners: list[bytes]
    @classmethod
    def create(cls, scope: Scope, batch: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None) -> EnqueueTPUEmbeddingBatch: ...
    @staticmethod
    def device_ordinal(value: int) -> EnqueueTPUEmbeddingBatch.Options: ...
    deviceOrdinal = device_ordinal
    @staticmethod
    def combiners(*values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingBatch.Options: ...

class EnqueueTPUEmbeddingIntegerBatch(RawOp):
    class Options(_arguments.Options):
        def device_ordinal(self, value: int) -> EnqueueTPUEmbeddingIntegerBatch.Options: ...
        deviceOrdinal = device_ordinal
    class Inputs(RawOpInputs):
        outputs: EnqueueTPUEmbeddingIntegerBatch
        batch: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        device_ordinal: int
        deviceOrdinal: int
    @classmethod
    def create(cls, scope: Scope, batch: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingIntegerBatch.Options, device_ordinal: int | None = None) -> EnqueueTPUEmbeddingIntegerBatch: ...
    @staticmethod
    def device_ordinal(value: int) -> EnqueueTPUEmbeddingIntegerBatch.Options: ...
    deviceOrdinal = device_ordinal

class EnqueueTPUEmbeddingRaggedTensorBatch(RawOp):
    class Options(_arguments.Options):
        def device_ordinal(self, value: int) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
        deviceOrdinal = device_ordinal
        def combiners(self, *values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
        def max_sequence_lengths(self, *values: Sequence[int] | int) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
        maxSequenceLengths = max_sequence_lengths
        def num_features(self, *values: Sequence[int] | int) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
        numFeatures = num_features
    class Inputs(RawOpInputs):
        outputs: EnqueueTPUEmbeddingRaggedTensorBatch
        sample_splits: list[tf.Tensor]
        sampleSplits: list[tf.Tensor]
        embedding_indices: list[tf.Tensor]
        embeddingIndices: list[tf.Tensor]
        aggregation_weights: list[tf.Tensor]
        aggregationWeights: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        t1: tf.DType
        T1: tf.DType
        t2: tf.DType
        T2: tf.DType
        t3: tf.DType
        T3: tf.DType
        device_ordinal: int
        deviceOrdinal: int
        combiners: list[bytes]
        table_ids: list[int]
        tableIds: list[int]
        max_sequence_lengths: list[int]
        maxSequenceLengths: list[int]
        num_features: list[int]
        numFeatures: list[int]
    @classmethod
    def create(cls, scope: Scope, sample_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, table_ids: Sequence[int], *options: EnqueueTPUEmbeddingRaggedTensorBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None, max_sequence_lengths: Sequence[int] | None = None, num_features: Sequence[int] | None = None) -> EnqueueTPUEmbeddingRaggedTensorBatch: ...
    @staticmethod
    def device_ordinal(value: int) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
    deviceOrdinal = device_ordinal
    @staticmethod
    def combiners(*values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
    @staticmethod
    def max_sequence_lengths(*values: Sequence[int] | int) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
    maxSequenceLengths = max_sequence_lengths
    @staticmethod
    def num_features(*values: Sequence[int] | int) -> EnqueueTPUEmbeddingRaggedTensorBatch.Options: ...
    numFeatures = num_features

class EnqueueTPUEmbeddingSparseBatch(RawOp):
    class Options(_arguments.Options):
        def device_ordinal(self, value: int) -> EnqueueTPUEmbeddingSparseBatch.Options: ...
        deviceOrdinal = device_ordinal
        def combiners(self, *values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingSparseBatch.Options: ...
    class Inputs(RawOpInputs):
        outputs: EnqueueTPUEmbeddingSparseBatch
        sample_indices: list[tf.Tensor]
        sampleIndices: list[tf.Tensor]
        embedding_indices: list[tf.Tensor]
        embeddingIndices: list[tf.Tensor]
        aggregation_weights: list[tf.Tensor]
        aggregationWeights: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        t1: tf.DType
        T1: tf.DType
        t2: tf.DType
        T2: tf.DType
        t3: tf.DType
        T3: tf.DType
        device_ordinal: int
        deviceOrdinal: int
        combiners: list[bytes]
    @classmethod
    def create(cls, scope: Scope, sample_indices: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingSparseBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None) -> EnqueueTPUEmbeddingSparseBatch: ...
    @staticmethod
    def device_ordinal(value: int) -> EnqueueTPUEmbeddingSparseBatch.Options: ...
    deviceOrdinal = device_ordinal
    @staticmethod
    def combiners(*values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingSparseBatch.Options: ...

class EnqueueTPUEmbeddingSparseTensorBatch(RawOp):
    class Options(_arguments.Options):
        def device_ordinal(self, value: int) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
        deviceOrdinal = device_ordinal
        def combiners(self, *values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
        def max_sequence_lengths(self, *values: Sequence[int] | int) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
        maxSequenceLengths = max_sequence_lengths
        def num_features(self, *values: Sequence[int] | int) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
        numFeatures = num_features
    class Inputs(RawOpInputs):
        outputs: EnqueueTPUEmbeddingSparseTensorBatch
        sample_indices: list[tf.Tensor]
        sampleIndices: list[tf.Tensor]
        embedding_indices: list[tf.Tensor]
        embeddingIndices: list[tf.Tensor]
        aggregation_weights: list[tf.Tensor]
        aggregationWeights: list[tf.Tensor]
        mode_override: tf.Tensor
        modeOverride: tf.Tensor
        t1: tf.DType
        T1: tf.DType
        t2: tf.DType
        T2: tf.DType
        t3: tf.DType
        T3: tf.DType
        device_ordinal: int
        deviceOrdinal: int
        combiners: list[bytes]
        table_ids: list[int]
        tableIds: list[int]
        max_sequence_lengths: list[int]
        maxSequenceLengths: list[int]
        num_features: list[int]
        numFeatures: list[int]
    @classmethod
    def create(cls, scope: Scope, sample_indices: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, table_ids: Sequence[int], *options: EnqueueTPUEmbeddingSparseTensorBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None, max_sequence_lengths: Sequence[int] | None = None, num_features: Sequence[int] | None = None) -> EnqueueTPUEmbeddingSparseTensorBatch: ...
    @staticmethod
    def device_ordinal(value: int) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
    deviceOrdinal = device_ordinal
    @staticmethod
    def combiners(*values: Sequence[bytes | str] | bytes | str) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
    @staticmethod
    def max_sequence_lengths(*values: Sequence[int] | int) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
    maxSequenceLengths = max_sequence_lengths
    @staticmethod
    def num_features(*values: Sequence[int] | int) -> EnqueueTPUEmbeddingSparseTensorBatch.Options: ...
    numFeatures = num_features

class ExecuteTPUEmbeddingPartitioner(Operand):
    class Inputs(RawOpInputs):
        outputs: ExecuteTPUEmbeddingPartitioner
        config: bytes
    @classmethod
    def create(cls, scope: Scope, config: bytes | str | Message) -> ExecuteTPUEmbeddingPartitioner: ...
    def common_config(self) -> tf.Tensor: ...
    commonConfig = common_config

class FinalizeTPUEmbedding(RawOp):
    class Inputs(RawOpInputs):
        outputs: FinalizeTPUEmbedding
        common_config: tf.Tensor
        commonConfig: tf.Tensor
        memory_config: tf.Tensor
        memoryConfig: tf.Tensor
    @classmethod
    def create(cls, scope: Scope, common_config: TensorLike, memory_config: TensorLike) -> FinalizeTPUEmbedding: ...
    def embedding_partitions(self) -> tf.Tensor: ...
    embeddingPartitions = embedding_partitions
    def hbm_buffers_config(self) -> tf.Tensor: ...
    hbmBuffersConfig = hbm_buffers_config

class IsTPUEmbeddingInitialized(Operand):
    class Options(_arguments.Options):
        def config(self, value: bytes | str | Message) -> IsTPUEmbeddingInitialized.Options: ...
    class Inputs(RawOpInputs):
        outputs: IsTPUEmbeddingInitialized
        config: bytes
    @classmethod
    def create(cls, scope: Scope, *options: IsTPUEmbeddingInitialized.Options, config: bytes | str | Message | None = None) -> IsTPUEmbeddingInitialized: ...
    @staticmethod
    def config(value: bytes | str | Message) -> IsTPUEmbeddingInitialized.Options: ...
    def is_tpu_embedding_initialized(self) -> tf.Tensor: ...
    isTpuEmbeddingInitialized = is_tpu_embedding_initialized

class LoadAllTPUEmbeddingParameters(RawOp):
    class Inputs(RawOpInputs):
        outputs: LoadAllTPUEmbeddingParameters
        parameters: list[tf.Tensor]
        auxiliary1: list[tf.Tensor]
        auxiliary2: list[tf.Tensor]
        auxiliary3: list[tf.Tensor]
        auxiliary4: list[tf.Tensor]
        auxiliary5: list[tf.Tensor]
        auxiliary6: list[tf.Tensor]
        auxiliary7: list[tf.Tensor]
        config: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
    @classmethod
    def create(cls, scope: Scope, parameters: Iterable[TensorLike], auxiliary1: Iterable[TensorLike], auxiliary2: Iterable[TensorLike], auxiliary3: Iterable[TensorLike], auxiliary4: Iterable[TensorLike], auxiliary5: Iterable[TensorLike], auxiliary6: Iterable[TensorLike], auxiliary7: Iterable[TensorLike], config: bytes | str | Message, num_shards: int, shard_id: int) -> LoadAllTPUEmbeddingParameters: ...

class LoadTPUEmbeddingADAMParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingADAMParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingADAMParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingADAMParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingADAMParameters
        parameters: tf.Tensor
        momenta: tf.Tensor
        velocities: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, momenta: TensorLike, velocities: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingADAMParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingADAMParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingADAMParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingADAMParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingADAMParameters.Options: ...

class LoadTPUEmbeddingAdadeltaParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingAdadeltaParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingAdadeltaParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingAdadeltaParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingAdadeltaParameters
        parameters: tf.Tensor
        accumulators: tf.Tensor
        updates: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, accumulators: TensorLike, updates: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingAdadeltaParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingAdadeltaParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingAdadeltaParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingAdadeltaParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingAdadeltaParameters.Options: ...

class LoadTPUEmbeddingAdagradMomentumParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingAdagradMomentumParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingAdagradMomentumParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingAdagradMomentumParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingAdagradMomentumParameters
        parameters: tf.Tensor
        accumulators: tf.Tensor
        momenta: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, accumulators: TensorLike, momenta: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingAdagradMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingAdagradMomentumParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingAdagradMomentumParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingAdagradMomentumParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingAdagradMomentumParameters.Options: ...

class LoadTPUEmbeddingAdagradParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingAdagradParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingAdagradParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingAdagradParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingAdagradParameters
        parameters: tf.Tensor
        accumulators: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, accumulators: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingAdagradParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingAdagradParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingAdagradParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingAdagradParameters.Options: ...

class LoadTPUEmbeddingCenteredRMSPropParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingCenteredRMSPropParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingCenteredRMSPropParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingCenteredRMSPropParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingCenteredRMSPropParameters
        parameters: tf.Tensor
        ms: tf.Tensor
        mom: tf.Tensor
        mg: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, ms: TensorLike, mom: TensorLike, mg: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingCenteredRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingCenteredRMSPropParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingCenteredRMSPropParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingCenteredRMSPropParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingCenteredRMSPropParameters.Options: ...

class LoadTPUEmbeddingFTRLParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingFTRLParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingFTRLParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingFTRLParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingFTRLParameters
        parameters: tf.Tensor
        accumulators: tf.Tensor
        linears: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, accumulators: TensorLike, linears: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingFTRLParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingFTRLParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingFTRLParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingFTRLParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingFTRLParameters.Options: ...

class LoadTPUEmbeddingFrequencyEstimatorParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingFrequencyEstimatorParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingFrequencyEstimatorParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingFrequencyEstimatorParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingFrequencyEstimatorParameters
        parameters: tf.Tensor
        last_hit_step: tf.Tensor
        lastHitStep: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, last_hit_step: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingFrequencyEstimatorParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingFrequencyEstimatorParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingFrequencyEstimatorParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingFrequencyEstimatorParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingFrequencyEstimatorParameters.Options: ...

class LoadTPUEmbeddingMDLAdagradLightParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingMDLAdagradLightParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingMDLAdagradLightParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingMDLAdagradLightParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingMDLAdagradLightParameters
        parameters: tf.Tensor
        accumulators: tf.Tensor
        weights: tf.Tensor
        benefits: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, accumulators: TensorLike, weights: TensorLike, benefits: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingMDLAdagradLightParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingMDLAdagradLightParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingMDLAdagradLightParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingMDLAdagradLightParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingMDLAdagradLightParameters.Options: ...

class LoadTPUEmbeddingMomentumParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingMomentumParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingMomentumParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingMomentumParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingMomentumParameters
        parameters: tf.Tensor
        momenta: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, momenta: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingMomentumParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingMomentumParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingMomentumParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingMomentumParameters.Options: ...

class LoadTPUEmbeddingProximalAdagradParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingProximalAdagradParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingProximalAdagradParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingProximalAdagradParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingProximalAdagradParameters
        parameters: tf.Tensor
        accumulators: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, accumulators: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingProximalAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingProximalAdagradParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingProximalAdagradParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingProximalAdagradParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingProximalAdagradParameters.Options: ...

class LoadTPUEmbeddingProximalYogiParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingProximalYogiParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingProximalYogiParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingProximalYogiParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingProximalYogiParameters
        parameters: tf.Tensor
        v: tf.Tensor
        m: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, v: TensorLike, m: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingProximalYogiParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingProximalYogiParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingProximalYogiParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingProximalYogiParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingProximalYogiParameters.Options: ...

class LoadTPUEmbeddingRMSPropParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingRMSPropParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingRMSPropParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingRMSPropParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingRMSPropParameters
        parameters: tf.Tensor
        ms: tf.Tensor
        mom: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, ms: TensorLike, mom: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingRMSPropParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingRMSPropParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingRMSPropParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingRMSPropParameters.Options: ...

class LoadTPUEmbeddingStochasticGradientDescentParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> LoadTPUEmbeddingStochasticGradientDescentParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> LoadTPUEmbeddingStochasticGradientDescentParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> LoadTPUEmbeddingStochasticGradientDescentParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: LoadTPUEmbeddingStochasticGradientDescentParameters
        parameters: tf.Tensor
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, parameters: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingStochasticGradientDescentParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingStochasticGradientDescentParameters: ...
    @staticmethod
    def table_id(value: int) -> LoadTPUEmbeddingStochasticGradientDescentParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> LoadTPUEmbeddingStochasticGradientDescentParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> LoadTPUEmbeddingStochasticGradientDescentParameters.Options: ...

class MergeDedupData(Operand):
    class Options(_arguments.Options):
        def config(self, value: bytes | str | Message) -> MergeDedupData.Options: ...
    class Inputs(RawOpInputs):
        outputs: MergeDedupData
        integer_tensor: tf.Tensor
        integerTensor: tf.Tensor
        float_tensor: tf.Tensor
        floatTensor: tf.Tensor
        tuple_mask: bytes
        tupleMask: bytes
        integer_type: tf.DType
        integerType: tf.DType
        float_type: tf.DType
        floatType: tf.DType
        config: bytes
    @classmethod
    def create(cls, scope: Scope, integer_tensor: TensorLike, float_tensor: TensorLike, tuple_mask: bytes | str | Message, *options: MergeDedupData.Options, config: bytes | str | Message | None = None) -> MergeDedupData: ...
    @staticmethod
    def config(value: bytes | str | Message) -> MergeDedupData.Options: ...
    def output(self) -> tf.Tensor: ...

class RecvTPUEmbeddingActivations(IterableOp):
    class Inputs(RawOpInputs):
        outputs: RecvTPUEmbeddingActivations
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_outputs: int, config: bytes | str | Message) -> RecvTPUEmbeddingActivations: ...
    def outputs(self) -> list[tf.Tensor]: ...

class RetrieveAllTPUEmbeddingParameters(RawOp):
    class Inputs(RawOpInputs):
        outputs: RetrieveAllTPUEmbeddingParameters
        config: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
    @classmethod
    def create(cls, scope: Scope, num_tables: int, config: bytes | str | Message, num_shards: int, shard_id: int) -> RetrieveAllTPUEmbeddingParameters: ...
    def parameters(self) -> list[tf.Tensor]: ...
    def auxiliary1(self) -> list[tf.Tensor]: ...
    def auxiliary2(self) -> list[tf.Tensor]: ...
    def auxiliary3(self) -> list[tf.Tensor]: ...
    def auxiliary4(self) -> list[tf.Tensor]: ...
    def auxiliary5(self) -> list[tf.Tensor]: ...
    def auxiliary6(self) -> list[tf.Tensor]: ...
    def auxiliary7(self) -> list[tf.Tensor]: ...

class RetrieveTPUEmbeddingADAMParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingADAMParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingADAMParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingADAMParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingADAMParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingADAMParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingADAMParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingADAMParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingADAMParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingADAMParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def momenta(self) -> tf.Tensor: ...
    def velocities(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingAdadeltaParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingAdadeltaParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingAdadeltaParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingAdadeltaParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingAdadeltaParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingAdadeltaParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingAdadeltaParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingAdadeltaParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingAdadeltaParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingAdadeltaParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def accumulators(self) -> tf.Tensor: ...
    def updates(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingAdagradMomentumParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingAdagradMomentumParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradMomentumParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradMomentumParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingAdagradMomentumParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingAdagradMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingAdagradMomentumParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingAdagradMomentumParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradMomentumParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradMomentumParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def accumulators(self) -> tf.Tensor: ...
    def momenta(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingAdagradParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingAdagradParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingAdagradParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingAdagradParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingAdagradParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingAdagradParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def accumulators(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingCenteredRMSPropParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingCenteredRMSPropParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingCenteredRMSPropParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingCenteredRMSPropParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingCenteredRMSPropParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingCenteredRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingCenteredRMSPropParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingCenteredRMSPropParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingCenteredRMSPropParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingCenteredRMSPropParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def ms(self) -> tf.Tensor: ...
    def mom(self) -> tf.Tensor: ...
    def mg(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingFTRLParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingFTRLParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingFTRLParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingFTRLParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingFTRLParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingFTRLParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingFTRLParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingFTRLParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingFTRLParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingFTRLParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def accumulators(self) -> tf.Tensor: ...
    def linears(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingFrequencyEstimatorParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingFrequencyEstimatorParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def last_hit_step(self) -> tf.Tensor: ...
    lastHitStep = last_hit_step

class RetrieveTPUEmbeddingMDLAdagradLightParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingMDLAdagradLightParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingMDLAdagradLightParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingMDLAdagradLightParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingMDLAdagradLightParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingMDLAdagradLightParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingMDLAdagradLightParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingMDLAdagradLightParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingMDLAdagradLightParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingMDLAdagradLightParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def accumulators(self) -> tf.Tensor: ...
    def weights(self) -> tf.Tensor: ...
    def benefits(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingMomentumParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingMomentumParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingMomentumParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingMomentumParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingMomentumParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingMomentumParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingMomentumParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingMomentumParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingMomentumParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def momenta(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingProximalAdagradParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingProximalAdagradParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalAdagradParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalAdagradParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingProximalAdagradParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingProximalAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingProximalAdagradParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingProximalAdagradParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalAdagradParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalAdagradParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def accumulators(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingProximalYogiParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingProximalYogiParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalYogiParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalYogiParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingProximalYogiParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingProximalYogiParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingProximalYogiParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingProximalYogiParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalYogiParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingProximalYogiParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def v(self) -> tf.Tensor: ...
    def m(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingRMSPropParameters(RawOp):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingRMSPropParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingRMSPropParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingRMSPropParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingRMSPropParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingRMSPropParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingRMSPropParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingRMSPropParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingRMSPropParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...
    def ms(self) -> tf.Tensor: ...
    def mom(self) -> tf.Tensor: ...

class RetrieveTPUEmbeddingStochasticGradientDescentParameters(Operand):
    class Options(_arguments.Options):
        def table_id(self, value: int) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options: ...
        tableId = table_id
        def table_name(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options: ...
        tableName = table_name
        def config(self, value: bytes | str | Message) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options: ...
    class Inputs(RawOpInputs):
        outputs: RetrieveTPUEmbeddingStochasticGradientDescentParameters
        table_id: int
        tableId: int
        table_name: bytes
        tableName: bytes
        num_shards: int
        numShards: int
        shard_id: int
        shardId: int
        config: bytes
    @classmethod
    def create(cls, scope: Scope, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters: ...
    @staticmethod
    def table_id(value: int) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options: ...
    tableId = table_id
    @staticmethod
    def table_name(value: bytes | str | Message) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options: ...
    tableName = table_name
    @staticmethod
    def config(value: bytes | str | Message) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options: ...
    def parameters(self) -> tf.Tensor: ...

class SendTPUEmbeddingGradients(RawOp):
    class Options(_arguments.Options):
        def nn(self, value: int) -> SendTPUEmbeddingGradients.Options: ...
        NN = nn
    class Inputs(RawOpInputs):
        outputs: SendTPUEmbeddingGradients
        inputs: list[tf.Tensor]
        learning_rates: list[tf.Tensor]
        learningRates: list[tf.Tensor]
        config: bytes
    @classmethod
    def create(cls, scope: Scope, inputs: Iterable[TensorLike], learning_rates: Iterable[TensorLike], config: bytes | str | Message, *options: SendTPUEmbeddingGradients.Options, nn: int | None = None) -> SendTPUEmbeddingGradients: ...
    @staticmethod
    def nn(value: int) -> SendTPUEmbeddingGradients.Options: ...
    NN = nn

class ShutdownDistributedTPU(RawOp):
    class Inputs(RawOpInputs):
        outputs: ShutdownDistributedTPU
    @classmethod
    def create(cls, scope: Scope) -> ShutdownDistributedTPU: ...

class SplitDedupData(RawOp):
    class Options(_arguments.Options):
        def config(self, value: bytes | str | Message) -> SplitDedupData.Options: ...
    class Inputs(RawOpInputs):
        outputs: SplitDedupData
        input: tf.Tensor
        integer_type: tf.DType
        integerType: tf.DType
        float_type: tf.DType
        floatType: tf.DType
        tuple_mask: bytes
        tupleMask: bytes
        config: bytes
    @classmethod
    def create(cls, scope: Scope, input: TensorLike, integer_type: tf.DType, float_type: tf.DType, tuple_mask: bytes | str | Message, *options: SplitDedupData.Options, config: bytes | str | Message | None = None) -> SplitDedupData: ...
    @staticmethod
    def config(value: bytes | str | Message) -> SplitDedupData.Options: ...
    def integer_tensor(self) -> tf.Tensor: ...
    integerTensor = integer_tensor
    def float_tensor(self) -> tf.Tensor: ...
    floatTensor = float_tensor

class TPUEmbeddingActivations(Operand):
    class Inputs(RawOpInputs):
        outputs: TPUEmbeddingActivations
        embedding_variable: tf.Tensor
        embeddingVariable: tf.Tensor
        sliced_activations: tf.Tensor
        slicedActivations: tf.Tensor
        table_id: int
        tableId: int
        lookup_id: int
        lookupId: int
    @classmethod
    def create(cls, scope: Scope, embedding_variable: TensorLike, sliced_activations: TensorLike, table_id: int, lookup_id: int) -> TPUEmbeddingActivations: ...
    def output(self) -> tf.Tensor: ...

class TpuOps:
    def __init__(self, scope: Scope) -> None: ...
    def collate_tpu_embedding_memory(self, memory_configs: Iterable[TensorLike]) -> CollateTPUEmbeddingMemory: ...
    collateTPUEmbeddingMemory = collate_tpu_embedding_memory
    def compute_dedup_data_size(self, config: bytes | str | Message, embedding_partitions: bytes | str | Message, hbm_buffers_config: bytes | str | Message, tpu_topology: bytes | str | Message) -> ComputeDedupDataSize: ...
    computeDedupDataSize = compute_dedup_data_size
    def compute_dedup_data_tuple_mask(self, config: bytes | str | Message, embedding_partitions: bytes | str | Message, hbm_buffers_config: bytes | str | Message, tpu_topology: bytes | str | Message) -> ComputeDedupDataTupleMask: ...
    computeDedupDataTupleMask = compute_dedup_data_tuple_mask
    def configure_distributed_tpu(self, *options: ConfigureDistributedTPU.Options, embedding_config: bytes | str | Message | None = None, tpu_embedding_config: bytes | str | Message | None = None, is_global_init: bool | None = None, enable_whole_mesh_compilations: bool | None = None, compilation_failure_closes_chips: bool | None = None, tpu_cancellation_closes_chips: int | None = None) -> ConfigureDistributedTPU: ...
    configureDistributedTPU = configure_distributed_tpu
    def configure_tpu_embedding(self, config: bytes | str | Message) -> ConfigureTPUEmbedding: ...
    configureTPUEmbedding = configure_tpu_embedding
    def configure_tpu_embedding_host(self, common_config: TensorLike, memory_config: TensorLike, config: bytes | str | Message) -> ConfigureTPUEmbeddingHost: ...
    configureTPUEmbeddingHost = configure_tpu_embedding_host
    def configure_tpu_embedding_memory(self, common_config: TensorLike) -> ConfigureTPUEmbeddingMemory: ...
    configureTPUEmbeddingMemory = configure_tpu_embedding_memory
    def connect_tpu_embedding_hosts(self, network_configs: Iterable[TensorLike]) -> ConnectTPUEmbeddingHosts: ...
    connectTPUEmbeddingHosts = connect_tpu_embedding_hosts
    def dynamic_enqueue_tpu_embedding_arbitrary_tensor_batch(self, sample_indices_or_row_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, device_ordinal: TensorLike, *options: DynamicEnqueueTPUEmbeddingArbitraryTensorBatch.Options, combiners: Sequence[bytes | str] | None = None) -> DynamicEnqueueTPUEmbeddingArbitraryTensorBatch: ...
    dynamicEnqueueTPUEmbeddingArbitraryTensorBatch = dynamic_enqueue_tpu_embedding_arbitrary_tensor_batch
    def dynamic_enqueue_tpu_embedding_ragged_tensor_batch(self, sample_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, device_ordinal: TensorLike, table_ids: Sequence[int], *options: DynamicEnqueueTPUEmbeddingRaggedTensorBatch.Options, combiners: Sequence[bytes | str] | None = None, max_sequence_lengths: Sequence[int] | None = None, num_features: Sequence[int] | None = None) -> DynamicEnqueueTPUEmbeddingRaggedTensorBatch: ...
    dynamicEnqueueTPUEmbeddingRaggedTensorBatch = dynamic_enqueue_tpu_embedding_ragged_tensor_batch
    def embedding_activations(self, embedding_variable: TensorLike, sliced_activations: TensorLike, table_id: int, lookup_id: int) -> EmbeddingActivations: ...
    embeddingActivations = embedding_activations
    def enqueue_tpu_embedding_arbitrary_tensor_batch(self, sample_indices_or_row_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingArbitraryTensorBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None) -> EnqueueTPUEmbeddingArbitraryTensorBatch: ...
    enqueueTPUEmbeddingArbitraryTensorBatch = enqueue_tpu_embedding_arbitrary_tensor_batch
    def enqueue_tpu_embedding_batch(self, batch: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None) -> EnqueueTPUEmbeddingBatch: ...
    enqueueTPUEmbeddingBatch = enqueue_tpu_embedding_batch
    def enqueue_tpu_embedding_integer_batch(self, batch: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingIntegerBatch.Options, device_ordinal: int | None = None) -> EnqueueTPUEmbeddingIntegerBatch: ...
    enqueueTPUEmbeddingIntegerBatch = enqueue_tpu_embedding_integer_batch
    def enqueue_tpu_embedding_ragged_tensor_batch(self, sample_splits: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, table_ids: Sequence[int], *options: EnqueueTPUEmbeddingRaggedTensorBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None, max_sequence_lengths: Sequence[int] | None = None, num_features: Sequence[int] | None = None) -> EnqueueTPUEmbeddingRaggedTensorBatch: ...
    enqueueTPUEmbeddingRaggedTensorBatch = enqueue_tpu_embedding_ragged_tensor_batch
    def enqueue_tpu_embedding_sparse_batch(self, sample_indices: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, *options: EnqueueTPUEmbeddingSparseBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None) -> EnqueueTPUEmbeddingSparseBatch: ...
    enqueueTPUEmbeddingSparseBatch = enqueue_tpu_embedding_sparse_batch
    def enqueue_tpu_embedding_sparse_tensor_batch(self, sample_indices: Iterable[TensorLike], embedding_indices: Iterable[TensorLike], aggregation_weights: Iterable[TensorLike], mode_override: TensorLike, table_ids: Sequence[int], *options: EnqueueTPUEmbeddingSparseTensorBatch.Options, device_ordinal: int | None = None, combiners: Sequence[bytes | str] | None = None, max_sequence_lengths: Sequence[int] | None = None, num_features: Sequence[int] | None = None) -> EnqueueTPUEmbeddingSparseTensorBatch: ...
    enqueueTPUEmbeddingSparseTensorBatch = enqueue_tpu_embedding_sparse_tensor_batch
    def execute_tpu_embedding_partitioner(self, config: bytes | str | Message) -> ExecuteTPUEmbeddingPartitioner: ...
    executeTPUEmbeddingPartitioner = execute_tpu_embedding_partitioner
    def finalize_tpu_embedding(self, common_config: TensorLike, memory_config: TensorLike) -> FinalizeTPUEmbedding: ...
    finalizeTPUEmbedding = finalize_tpu_embedding
    def is_tpu_embedding_initialized(self, *options: IsTPUEmbeddingInitialized.Options, config: bytes | str | Message | None = None) -> IsTPUEmbeddingInitialized: ...
    isTPUEmbeddingInitialized = is_tpu_embedding_initialized
    def load_all_tpu_embedding_parameters(self, parameters: Iterable[TensorLike], auxiliary1: Iterable[TensorLike], auxiliary2: Iterable[TensorLike], auxiliary3: Iterable[TensorLike], auxiliary4: Iterable[TensorLike], auxiliary5: Iterable[TensorLike], auxiliary6: Iterable[TensorLike], auxiliary7: Iterable[TensorLike], config: bytes | str | Message, num_shards: int, shard_id: int) -> LoadAllTPUEmbeddingParameters: ...
    loadAllTPUEmbeddingParameters = load_all_tpu_embedding_parameters
    def load_tpu_embedding_adam_parameters(self, parameters: TensorLike, momenta: TensorLike, velocities: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingADAMParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingADAMParameters: ...
    loadTPUEmbeddingADAMParameters = load_tpu_embedding_adam_parameters
    def load_tpu_embedding_adadelta_parameters(self, parameters: TensorLike, accumulators: TensorLike, updates: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingAdadeltaParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingAdadeltaParameters: ...
    loadTPUEmbeddingAdadeltaParameters = load_tpu_embedding_adadelta_parameters
    def load_tpu_embedding_adagrad_momentum_parameters(self, parameters: TensorLike, accumulators: TensorLike, momenta: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingAdagradMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingAdagradMomentumParameters: ...
    loadTPUEmbeddingAdagradMomentumParameters = load_tpu_embedding_adagrad_momentum_parameters
    def load_tpu_embedding_adagrad_parameters(self, parameters: TensorLike, accumulators: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingAdagradParameters: ...
    loadTPUEmbeddingAdagradParameters = load_tpu_embedding_adagrad_parameters
    def load_tpu_embedding_centered_rms_prop_parameters(self, parameters: TensorLike, ms: TensorLike, mom: TensorLike, mg: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingCenteredRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingCenteredRMSPropParameters: ...
    loadTPUEmbeddingCenteredRMSPropParameters = load_tpu_embedding_centered_rms_prop_parameters
    def load_tpu_embedding_ftrl_parameters(self, parameters: TensorLike, accumulators: TensorLike, linears: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingFTRLParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingFTRLParameters: ...
    loadTPUEmbeddingFTRLParameters = load_tpu_embedding_ftrl_parameters
    def load_tpu_embedding_frequency_estimator_parameters(self, parameters: TensorLike, last_hit_step: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingFrequencyEstimatorParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingFrequencyEstimatorParameters: ...
    loadTPUEmbeddingFrequencyEstimatorParameters = load_tpu_embedding_frequency_estimator_parameters
    def load_tpu_embedding_mdl_adagrad_light_parameters(self, parameters: TensorLike, accumulators: TensorLike, weights: TensorLike, benefits: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingMDLAdagradLightParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingMDLAdagradLightParameters: ...
    loadTPUEmbeddingMDLAdagradLightParameters = load_tpu_embedding_mdl_adagrad_light_parameters
    def load_tpu_embedding_momentum_parameters(self, parameters: TensorLike, momenta: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingMomentumParameters: ...
    loadTPUEmbeddingMomentumParameters = load_tpu_embedding_momentum_parameters
    def load_tpu_embedding_proximal_adagrad_parameters(self, parameters: TensorLike, accumulators: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingProximalAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingProximalAdagradParameters: ...
    loadTPUEmbeddingProximalAdagradParameters = load_tpu_embedding_proximal_adagrad_parameters
    def load_tpu_embedding_proximal_yogi_parameters(self, parameters: TensorLike, v: TensorLike, m: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingProximalYogiParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingProximalYogiParameters: ...
    loadTPUEmbeddingProximalYogiParameters = load_tpu_embedding_proximal_yogi_parameters
    def load_tpu_embedding_rms_prop_parameters(self, parameters: TensorLike, ms: TensorLike, mom: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingRMSPropParameters: ...
    loadTPUEmbeddingRMSPropParameters = load_tpu_embedding_rms_prop_parameters
    def load_tpu_embedding_stochastic_gradient_descent_parameters(self, parameters: TensorLike, num_shards: int, shard_id: int, *options: LoadTPUEmbeddingStochasticGradientDescentParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> LoadTPUEmbeddingStochasticGradientDescentParameters: ...
    loadTPUEmbeddingStochasticGradientDescentParameters = load_tpu_embedding_stochastic_gradient_descent_parameters
    def merge_dedup_data(self, integer_tensor: TensorLike, float_tensor: TensorLike, tuple_mask: bytes | str | Message, *options: MergeDedupData.Options, config: bytes | str | Message | None = None) -> MergeDedupData: ...
    mergeDedupData = merge_dedup_data
    def recv_tpu_embedding_activations(self, num_outputs: int, config: bytes | str | Message) -> RecvTPUEmbeddingActivations: ...
    recvTPUEmbeddingActivations = recv_tpu_embedding_activations
    def retrieve_all_tpu_embedding_parameters(self, num_tables: int, config: bytes | str | Message, num_shards: int, shard_id: int) -> RetrieveAllTPUEmbeddingParameters: ...
    retrieveAllTPUEmbeddingParameters = retrieve_all_tpu_embedding_parameters
    def retrieve_tpu_embedding_adam_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingADAMParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingADAMParameters: ...
    retrieveTPUEmbeddingADAMParameters = retrieve_tpu_embedding_adam_parameters
    def retrieve_tpu_embedding_adadelta_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingAdadeltaParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingAdadeltaParameters: ...
    retrieveTPUEmbeddingAdadeltaParameters = retrieve_tpu_embedding_adadelta_parameters
    def retrieve_tpu_embedding_adagrad_momentum_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingAdagradMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingAdagradMomentumParameters: ...
    retrieveTPUEmbeddingAdagradMomentumParameters = retrieve_tpu_embedding_adagrad_momentum_parameters
    def retrieve_tpu_embedding_adagrad_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingAdagradParameters: ...
    retrieveTPUEmbeddingAdagradParameters = retrieve_tpu_embedding_adagrad_parameters
    def retrieve_tpu_embedding_centered_rms_prop_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingCenteredRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingCenteredRMSPropParameters: ...
    retrieveTPUEmbeddingCenteredRMSPropParameters = retrieve_tpu_embedding_centered_rms_prop_parameters
    def retrieve_tpu_embedding_ftrl_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingFTRLParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingFTRLParameters: ...
    retrieveTPUEmbeddingFTRLParameters = retrieve_tpu_embedding_ftrl_parameters
    def retrieve_tpu_embedding_frequency_estimator_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingFrequencyEstimatorParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingFrequencyEstimatorParameters: ...
    retrieveTPUEmbeddingFrequencyEstimatorParameters = retrieve_tpu_embedding_frequency_estimator_parameters
    def retrieve_tpu_embedding_mdl_adagrad_light_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingMDLAdagradLightParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingMDLAdagradLightParameters: ...
    retrieveTPUEmbeddingMDLAdagradLightParameters = retrieve_tpu_embedding_mdl_adagrad_light_parameters
    def retrieve_tpu_embedding_momentum_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingMomentumParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingMomentumParameters: ...
    retrieveTPUEmbeddingMomentumParameters = retrieve_tpu_embedding_momentum_parameters
    def retrieve_tpu_embedding_proximal_adagrad_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingProximalAdagradParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingProximalAdagradParameters: ...
    retrieveTPUEmbeddingProximalAdagradParameters = retrieve_tpu_embedding_proximal_adagrad_parameters
    def retrieve_tpu_embedding_proximal_yogi_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingProximalYogiParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingProximalYogiParameters: ...
    retrieveTPUEmbeddingProximalYogiParameters = retrieve_tpu_embedding_proximal_yogi_parameters
    def retrieve_tpu_embedding_rms_prop_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingRMSPropParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingRMSPropParameters: ...
    retrieveTPUEmbeddingRMSPropParameters = retrieve_tpu_embedding_rms_prop_parameters
    def retrieve_tpu_embedding_stochastic_gradient_descent_parameters(self, num_shards: int, shard_id: int, *options: RetrieveTPUEmbeddingStochasticGradientDescentParameters.Options, table_id: int | None = None, table_name: bytes | str | Message | None = None, config: bytes | str | Message | None = None) -> RetrieveTPUEmbeddingStochasticGradientDescentParameters: ...
    retrieveTPUEmbeddingStochasticGradientDescentParameters = retrieve_tpu_embedding_stochastic_gradient_descent_parameters
    def send_tpu_embedding_gradients(self, inputs: Iterable[TensorLike], learning_rates: Iterable[TensorLike], config: bytes | str | Message, *options: SendTPUEmbeddingGradients.Options, nn: int | None = None) -> SendTPUEmbeddingGradients: ...
    sendTPUEmbeddingGradients = send_tpu_embedding_gradients
    def shutdown_distributed_tpu(self) -> ShutdownDistributedTPU: ...
    shutdownDistributedTPU = shutdown_distributed_tpu
    def split_dedup_data(self, input: TensorLike, integer_type: tf.DType, float_type: tf.DType, tuple_mask: bytes | str | Message, *options: SplitDedupData.Options, config: bytes | str | Message | None = None) -> SplitDedupData: ...
    splitDedupData = split_dedup_data
    def tpu_embedding_activations(self, embedding_variable: TensorLike, sliced_activations: TensorLike, table_id: int, lookup_id: int) -> TPUEmbeddingActivations: ...
    tPUEmbeddingActivations = tpu_embedding_activations
