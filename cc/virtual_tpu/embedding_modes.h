// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which batches of a graph take gradients.
#ifndef TPULESS_CC_VIRTUAL_TPU_EMBEDDING_MODES_H_
#define TPULESS_CC_VIRTUAL_TPU_EMBEDDING_MODES_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tpuless {

// Makes the batches of a graph inference where it receives their activations
// and sends no gradients: as the rewrite for a TPU does, which knows them by
// the attribute _tpu_embedding_layer.
absl::Status MakeInferenceBatches(
    const tensorflow::FunctionLibraryDefinition& functions,
    tensorflow::Graph* graph);

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_EMBEDDING_MODES_H_
