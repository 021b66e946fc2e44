// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// One core's lookups of one step: what Receive gathers and Send updates.
#ifndef TPULESS_CC_ENGINE_MINIBATCH_H_
#define TPULESS_CC_ENGINE_MINIBATCH_H_

#include <cstdint>
#include <vector>

#include "cc/engine/engine_config.h"
#include "cc/engine/optimizer.h"
#include "cc/engine/parallel_for.h"

namespace tpuless {

// The lookups of one input. Its rows are numbered on their own; in the table
// layout several inputs share an output, whose rows interleave them:
//
//   output row = row / width * stride + offset + row % width
struct InputLookups {
  int64_t table = 0;
  int64_t output = 0;
  int64_t width = 1;
  int64_t stride = 1;
  int64_t offset = 0;
  // Ids of row r are those in [row_splits[r], row_splits[r + 1]).
  std::vector<int64_t> row_splits;
  std::vector<int64_t> ids;
  std::vector<float> gains;  // One an id, or empty where all are 1.

  int64_t num_rows() const {
    return static_cast<int64_t>(row_splits.size()) - 1;
  }
  int64_t output_row(int64_t row) const {
    return row / width * stride + offset + row % width;
  }
};

// The lookups of one table, grouped by table row.
struct RowGroups {
  std::vector<int64_t> row_ids;     // Distinct, ascending.
  std::vector<int64_t> row_starts;  // [row_ids.size() + 1].
  // By row; within a row by output, output row and order of enqueueing.
  std::vector<Contribution> contributions;

  int64_t num_rows() const { return static_cast<int64_t>(row_ids.size()); }
};

struct Minibatch {
  Mode mode = Mode::kTraining;
  int64_t core = 0;
  std::vector<InputLookups> inputs;
  std::vector<RowGroups> groups;  // One a table; empty for inference.
  int64_t num_ids = 0;

  bool needs_gradient() const { return mode != Mode::kInference; }
};

// An id and what it brings along through a sort.
template <class Word>
struct SortKey {
  Word id;
  Word payload;
};

template <class Word>
struct SortRoom {
  std::vector<Word> starts;  // By digit.
  std::vector<SortKey<Word>> keys;
  std::vector<SortKey<Word>> sorted;
};

// Room for what a minibatch does not keep; what it holds before and after says
// nothing.
struct Workspace {
  // Of an input whose ids do not come by row.
  std::vector<int64_t> rows;
  std::vector<int64_t> next;
  std::vector<int64_t> ids;
  std::vector<float> gains;
  // Of a table.
  SortRoom<uint32_t> narrow;
  SortRoom<uint64_t> wide;
  std::vector<Contribution> contributions;
};

// Groups the lookups of one table, given all of its inputs, those that share
// an output together. Its gradient tensors have the numbers of the outputs.
void GroupByRow(const std::vector<const InputLookups*>& inputs,
                int64_t vocabulary_size, Workspace& workspace,
                RowGroups& groups);

// Joins the groups of one table over all cores, in the order of the cores.
// Core c's gradient tensor t becomes number c * num_outputs + t.
RowGroups MergeGroups(const std::vector<const RowGroups*>& cores,
                      int64_t num_outputs);

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_MINIBATCH_H_
