// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Embeddings of replicas that have several cores.
#ifndef TPULESS_CC_VIRTUAL_TPU_EMBEDDING_PARTS_H_
#define TPULESS_CC_VIRTUAL_TPU_EMBEDDING_PARTS_H_

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/graph/graph.h"

namespace tpuless {

// Each core of a replica has a batch of its own, and the program sees them as
// one. Replaces every Recv among `nodes` of a program by one for each core,
// whose activations are put together along the first dimension, and every Send
// by one for each core, with its part of the gradients. Both must have a
// configuration with spmd_sharding. `nodes` become those of the new program.
absl::Status SplitEmbeddings(int cores_per_replica, tensorflow::Graph* graph,
                             std::vector<tensorflow::Node*>& nodes);

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_EMBEDDING_PARTS_H_
