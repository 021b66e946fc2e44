// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Reads which row each id of an input belongs to, and sorts them by it.
#ifndef TPULESS_CC_ENGINE_LOOKUP_BUILDER_H_
#define TPULESS_CC_ENGINE_LOOKUP_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/engine/minibatch.h"
#include "cc/engine/status.h"
#include "cc/engine/tensor_view.h"

namespace tpuless {

enum class Combiner { kSum, kMean, kSqrtn };

// Builds the ids, gains and row splits of an input's `lookups`: SetIds(), then
// one of the Add...(), then Build(). With no Add...() no id may be given.
// Messages begin with `name`.
class LookupBuilder {
 public:
  LookupBuilder(std::string name, int64_t num_rows, int64_t vocabulary_size,
                bool skip_out_of_range_ids, Workspace& workspace,
                InputLookups& lookups);

  // Reads ids [num_ids] and weights, [num_ids] or [0] for weights of 1.
  Status SetIds(const TensorView& embedding_indices,
                const TensorView& aggregation_weights);
  int64_t num_ids() const { return static_cast<int64_t>(lookups_.ids.size()); }

  // The k-th of exactly `num_samples` ids belongs to row k * width.
  Status AddDense(int64_t num_samples, int64_t width);

  // Sparse indices, [num_ids] or [num_ids, n]: the first column is the sample;
  // of a sequence the second one the position, without it a count. Positions
  // from `sequence_length` (if > 0) on are dropped.
  Status AddSampleIndices(const TensorView& indices, int64_t num_samples,
                          int64_t sequence_length);

  // Row splits [num_samples + 1]; positions count within a sample.
  Status AddRowSplits(const TensorView& splits, int64_t num_samples,
                      int64_t sequence_length);

  // For an output of `shape`: indices [num_ids, shape.size() + 1], row splits
  // over all its elements or over all but its last axis, or dense [0].
  Status AddArbitrary(const TensorView& indices,
                      const std::vector<int64_t>& shape);

  // Sorts by row, keeping the order within one, and turns weights into gains.
  Status Build(Combiner combiner);

 private:
  Status AddCoordinates(const TensorView& indices,
                        const std::vector<int64_t>& shape);
  template <class Integer>
  Status AddSamples(const Integer* values, int64_t columns, int64_t num_samples,
                    int64_t sequence_length);
  template <class Integer>
  Status AddSplits(const Integer* values, int64_t num_samples,
                   int64_t sequence_length);
  template <class Integer>
  Status AddPlaces(const Integer* values, const std::vector<int64_t>& shape);
  Status CheckLength(const char* tensor, int64_t length) const;

  // Says that lookup k goes to row `row`, or that it is dropped.
  void SetRow(int64_t k, int64_t row) { rows_[k] = row; }
  void Drop(int64_t k, int64_t sample) { rows_[k] = -1 - sample; }
  int64_t SampleOf(int64_t k) const {
    return rows_[k] < 0 ? -1 - rows_[k] : rows_[k] / rows_per_sample_;
  }
  // Makes room for SetRow() and Drop() of all ids.
  void UseRows(int64_t rows_per_sample);
  // Finds the rows of all ids where only the row splits are known.
  void RowsOfSplits();

  // Drops or refuses ids outside of the table.
  Status CheckIds();
  void SortByRow();

  const std::string name_;
  const int64_t num_rows_;
  const int64_t vocabulary_size_;
  const bool skip_out_of_range_ids_;
  Workspace& workspace_;
  InputLookups& lookups_;
  std::vector<int64_t>& rows_;  // One an id; see Drop().
  bool has_rows_ = false;       // Else the row splits are those of lookups_.
  int64_t rows_per_sample_ = 1;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_LOOKUP_BUILDER_H_
