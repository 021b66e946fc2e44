// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The backward pass: one optimizer step over all touched rows of all tables.
#ifndef TPULESS_CC_ENGINE_UPDATE_H_
#define TPULESS_CC_ENGINE_UPDATE_H_

#include <memory>
#include <vector>

#include "cc/engine/embedding_table.h"
#include "cc/engine/minibatch.h"
#include "cc/engine/parallel_for.h"

namespace tpuless {

// Applies the gradients of one step: `groups` one a table, `gradients` by
// Contribution::tensor. A row, or where it has very many contributions a
// part of its columns, belongs to one task, which sums them in their order. So
// the bits do not depend on the threads.
void UpdateTables(const std::vector<std::unique_ptr<EmbeddingTable>>& tables,
                  const std::vector<const RowGroups*>& groups,
                  const std::vector<const float*>& gradients,
                  const std::vector<float>& learning_rates,
                  const ParallelFor& parallel_for);

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_UPDATE_H_
