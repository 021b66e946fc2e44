// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The forward pass: gathers and combines table rows into activations.
#ifndef TPULESS_CC_ENGINE_LOOKUP_H_
#define TPULESS_CC_ENGINE_LOOKUP_H_

#include <memory>
#include <vector>

#include "cc/engine/embedding_table.h"
#include "cc/engine/minibatch.h"
#include "cc/engine/parallel_for.h"

namespace tpuless {

// Writes every row of every output:
//   activations[row] = sum over its lookups of gain * quantized(weights[id])
// in the order in which they were enqueued; 0 where there are none.
void Lookup(const std::vector<std::unique_ptr<EmbeddingTable>>& tables,
            const Minibatch& minibatch, const std::vector<float*>& outputs,
            const ParallelFor& parallel_for);

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_LOOKUP_H_
