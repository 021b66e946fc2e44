// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Cuts the tables' rows into tasks for the optimizers.
#include "cc/engine/update.h"

#include <algorithm>

#include "cc/engine/denormals.h"

namespace tpuless {
namespace {

// Columns of a hot row are cut at cache lines.
constexpr int64_t kColumnsOfALine = 64 / sizeof(float);

// Rows [begin, end) of one table: distinct rows, or all if `non_lazy`.
struct RowRange {
  const Optimizer* optimizer;
  TableUpdate update;
  bool non_lazy;
  int64_t begin;
  int64_t end;
  int64_t cost;  // Floats to read, about.
};

void Run(const RowRange& range) {
  const FlushDenormals flush;
  const TableUpdate& update = range.update;
  if (!range.non_lazy) {
    range.optimizer->UpdateRows(update, range.begin, range.end);
    return;
  }
  const int64_t* rows_end = update.row_ids + update.num_rows;
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

void CutAllRows(const RowRange& whole, std::vector<RowRange>& ranges) {
  const int64_t stride = whole.update.row_stride;
  const int64_t rows_per_task = std::max<int64_t>(1, kFloatsPerTask / stride);
  for (int64_t begin = 0; begin < whole.end; begin += rows_per_task) {
    RowRange range = whole;
    range.begin = begin;
    range.end = std::min(whole.end, begin + rows_per_task);
    range.cost = (range.end - begin) * stride;
    ranges.push_back(range);
  }
}

// Cuts the columns of a hot row, so that several threads sum its contributions.
void CutColumns(const RowRange& row, std::vector<RowRange>& ranges) {
  const int64_t dimension = row.update.dimension;
  const int64_t num_lines = (dimension + kColumnsOfALine - 1) / kColumnsOfALine;
  const int64_t num_parts = std::min(num_lines, row.cost / kFloatsPerTask);
  for (int64_t i = 0; i < num_parts; ++i) {
    const int64_t begin = num_lines * i / num_parts * kColumnsOfALine;
    const int64_t end =
        std::min(dimension, num_lines * (i + 1) / num_parts * kColumnsOfALine);
    RowRange part = row;
    part.update.begin_column = begin;
    part.update.end_column = end;
    part.cost = row.cost / num_parts;
    ranges.push_back(part);
  }
}

// Cuts distinct rows where their contributions and variables add up to a task.
void CutRows(const RowRange& whole, const ParallelFor& parallel_for,
             std::vector<RowRange>& ranges) {
  const TableUpdate& update = whole.update;
  const auto cost = [&](int64_t begin, int64_t end) {
    return (end - begin) * update.row_stride +
           (update.row_starts[end] - update.row_starts[begin]) *
               update.dimension;
  };
  const auto is_hot = [&](int64_t row) {
    return parallel_for.num_threads() > 1 &&
           cost(row, row + 1) >= 2 * kFloatsPerTask;
  };
  for (RowRange range = whole; range.begin < whole.end;
       range.begin = range.end) {
    const int64_t* starts = update.row_starts;
    range.end =
        std::lower_bound(starts + range.begin + 1, starts + whole.end,
                         kFloatsPerTask,
                         [&](const int64_t& end, int64_t least) {
                           return cost(range.begin, &end - starts) < least;
                         }) -
        starts;
    if (range.end - range.begin > 1 && is_hot(range.end - 1)) --range.end;
    range.cost = cost(range.begin, range.end);
    if (range.end - range.begin == 1 && is_hot(range.begin)) {
      CutColumns(range, ranges);
    } else {
      ranges.push_back(range);
    }
  }
}

}  // namespace

void UpdateTables(const std::vector<std::unique_ptr<EmbeddingTable>>& tables,
                  const std::vector<const RowGroups*>& groups,
                  const std::vector<const float*>& gradients,
                  const std::vector<float>& learning_rates,
                  const ParallelFor& parallel_for) {
  // Products of rates and factors are of the update too.
  const FlushDenormals flush;
  std::vector<RowRange> ranges;
  for (size_t t = 0; t < tables.size(); ++t) {
    EmbeddingTable& table = *tables[t];
    RowRange whole = {
        &table.optimizer(),
        table.MakeUpdate(*groups[t], gradients.data(), learning_rates),
        UpdatesAllRows(table),
        /*begin=*/0,
        /*end=*/groups[t]->num_rows(),
        /*cost=*/0};
    if (whole.non_lazy) {
      whole.end = table.config().vocabulary_size;
      CutAllRows(whole, ranges);
    } else {
      CutRows(whole, parallel_for, ranges);
    }
  }
  ForEachByCost(
      static_cast<int64_t>(ranges.size()),
      [&](int64_t i) { return ranges[i].cost; }, kFloatsPerTask / 2,
      parallel_for, [&](int64_t i) { Run(ranges[i]); });
}

}  // namespace tpuless
