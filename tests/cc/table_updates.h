// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// One optimizer step on one table.
#ifndef TPULESS_TESTS_CC_TABLE_UPDATES_H_
#define TPULESS_TESTS_CC_TABLE_UPDATES_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cc/engine/minibatch.h"
#include "cc/engine/update.h"
#include "tests/cc/row_groups.h"
#include "tests/cc/table_contents.h"

namespace tpuless {

// The gradients of a step: row i is that of table row ids[i].
struct StepGradients {
  std::vector<int64_t> ids;
  std::vector<float> values;          // [ids.size(), dimension].
  std::vector<float> gains;           // One an id, or empty for 1.
  std::vector<float> learning_rates;  // By tag.
};

// Returns the variables of a table that held `before`, after one step.
inline Variables AfterStep(const TableConfig& config, const Variables& before,
                           const StepGradients& step,
                           const ParallelFor& parallel_for = ParallelFor()) {
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  tables.push_back(LoadedTable(config, before));
  InputLookups input;
  const int64_t num_ids = static_cast<int64_t>(step.ids.size());
  input.width = input.stride = std::max<int64_t>(1, num_ids);
  for (int64_t i = 0; i <= num_ids; ++i) input.row_splits.push_back(i);
  input.ids = step.ids;
  input.gains = step.gains;
  const RowGroups groups = GroupsOf({input}, 0, config.vocabulary_size);
  UpdateTables(tables, {&groups}, {step.values.data()}, step.learning_rates,
               parallel_for);
  return Retrieved(*tables[0]);
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_TABLE_UPDATES_H_
