// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Cuts the tables' rows into tasks for the optimizers.
#include "cc/engine/update.h"

#include <algorithm>

#include "cc/engine/denormals.h"

namespace tpuless {
namespace {

// Enough floats for a task to be worth handing to another thread.
constexpr int64_t kFloatsPerTask = 1 << 16;

// Rows [begin, end) of one table: distinct rows, or all if `non_lazy`.
struct RowRange {
  const Optimizer* optimizer;
  const TableUpdate* update;
  int64_t num_groups;
  bool non_lazy;
  int64_t begin;
  int64_t end;
};

void Run(const RowRange& range) {
  const FlushDenormals flush;
  const TableUpdate& update = *range.update;
  if (!range.non_lazy) {
    range.optimizer->UpdateRows(update, range.begin, range.end);
    return;
  }
  const int64_t* rows_end = update.row_ids + range.num_groups;
  const int64_t* first =
      std::lower_bound(update.row_ids, rows_end, range.begin);
  const int64_t* last = std::lower_bound(first, rows_end, range.end);
  range.optimizer->UpdateAllRows(update, range.begin, range.end,
                                 first - update.row_ids, last - update.row_ids);
}

bool UpdatesAllRows(const EmbeddingTable& table) {
  const std::string& non_lazy = table.optimizer_info().non_lazy;
  return !non_lazy.empty() && table.config().hyperparameters[non_lazy] != 0;
}

}  // namespace

void UpdateTables(const std::vector<std::unique_ptr<EmbeddingTable>>& tables,
                  const std::vector<const RowGroups*>& groups,
                  const std::vector<const float*>& gradients,
                  const std::vector<float>& learning_rates,
                  const ParallelFor& parallel_for) {
  // Products of rates and factors are of the update too.
  const FlushDenormals flush;
  std::vector<TableUpdate> updates;
  updates.reserve(tables.size());
  std::vector<RowRange> ranges;
  for (size_t t = 0; t < tables.size(); ++t) {
    EmbeddingTable& table = *tables[t];
    updates.push_back(
        table.MakeUpdate(*groups[t], gradients.data(), learning_rates));
    const bool non_lazy = UpdatesAllRows(table);
    const int64_t num_rows =
        non_lazy ? table.config().vocabulary_size : groups[t]->num_rows();
    const int64_t rows_per_task =
        std::max<int64_t>(1, kFloatsPerTask / table.row_stride());
    for (int64_t begin = 0; begin < num_rows; begin += rows_per_task) {
      ranges.push_back({&table.optimizer(), &updates.back(),
                        groups[t]->num_rows(), non_lazy, begin,
                        std::min(num_rows, begin + rows_per_task)});
    }
  }
  ForEachByCost(
      static_cast<int64_t>(ranges.size()),
      [&](int64_t i) {
        return (ranges[i].end - ranges[i].begin) * ranges[i].update->row_stride;
      },
      kFloatsPerTask / 2, parallel_for, [&](int64_t i) { Run(ranges[i]); });
}

}  // namespace tpuless
