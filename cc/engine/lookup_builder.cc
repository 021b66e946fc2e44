// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Positions of ids in every form that TensorFlow's Enqueue ops know.
#include "cc/engine/lookup_builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cc/engine/denormals.h"

namespace tpuless {
namespace {

bool IsInteger(const TensorView& view) {
  return view.dtype == DType::kInt32 || view.dtype == DType::kInt64;
}

// Calls body(pointer) with the elements of integers of either type.
template <class Body>
auto WithIntegers(const TensorView& view, const Body& body) {
  return view.dtype == DType::kInt64
             ? body(static_cast<const int64_t*>(view.data))
             : body(static_cast<const int32_t*>(view.data));
}

void ReadWeights(const TensorView& view, std::vector<float>& weights) {
  if (view.dtype == DType::kFloat64) {
    const double* data = static_cast<const double*>(view.data);
    weights.assign(data, data + view.size());
  } else {
    const float* data = static_cast<const float*>(view.data);
    weights.assign(data, data + view.size());
  }
}

// Returns the gain of each of `num_ids` ids of a row without weights.
float CombineOnes(Combiner combiner, int64_t num_ids) {
  const double count = static_cast<double>(num_ids);
  return static_cast<float>(
      1.0 / (combiner == Combiner::kMean ? count : std::sqrt(count)));
}

// Turns the weights of one row into gains.
void CombineRow(Combiner combiner, float* begin, float* end) {
  double sum = 0;
  for (const float* weight = begin; weight != end; ++weight) {
    const double w = *weight;
    sum += combiner == Combiner::kMean ? w : w * w;
  }
  const double divisor = combiner == Combiner::kMean ? sum : std::sqrt(sum);
  for (float* weight = begin; weight != end; ++weight) {
    // Weights that cancel give a row of zeros, as div_no_nan does.
    *weight = divisor == 0 ? 0.0f : static_cast<float>(*weight / divisor);
  }
}

}  // namespace

LookupBuilder::LookupBuilder(std::string name, int64_t num_rows,
                             int64_t vocabulary_size,
                             bool skip_out_of_range_ids, Workspace& workspace,
                             InputLookups& lookups)
    : name_(std::move(name)),
      num_rows_(num_rows),
      vocabulary_size_(vocabulary_size),
      skip_out_of_range_ids_(skip_out_of_range_ids),
      workspace_(workspace),
      lookups_(lookups),
      rows_(workspace.rows) {
  lookups.row_splits.assign(num_rows + 1, 0);
  lookups.ids.clear();
  lookups.gains.clear();
}

Status LookupBuilder::SetIds(const TensorView& embedding_indices,
                             const TensorView& aggregation_weights) {
  if (!IsInteger(embedding_indices) || embedding_indices.rank() != 1) {
    return InvalidArgument(
        name_, ": embedding_indices must be int32 or int64 of rank 1, got ",
        IsInteger(embedding_indices) ? "" : "floats of ", "shape ",
        ShapeString(embedding_indices.shape));
  }
  if (IsInteger(aggregation_weights) || aggregation_weights.rank() != 1) {
    return InvalidArgument(
        name_, ": aggregation_weights must be floats of rank 1, got ",
        IsInteger(aggregation_weights) ? "integers of " : "", "shape ",
        ShapeString(aggregation_weights.shape));
  }
  const int64_t num_ids = embedding_indices.size();
  if (aggregation_weights.size() != 0 &&
      aggregation_weights.size() != num_ids) {
    return InvalidArgument(name_,
                           ": aggregation_weights must be empty or one an id (",
                           num_ids, "), got ", aggregation_weights.size());
  }
  WithIntegers(embedding_indices, [&](const auto* ids) {
    lookups_.ids.assign(ids, ids + num_ids);
  });
  ReadWeights(aggregation_weights, lookups_.gains);
  return Status();
}

void LookupBuilder::UseRows(int64_t rows_per_sample) {
  rows_per_sample_ = rows_per_sample;
  rows_.resize(num_ids());
  has_rows_ = true;
}

void LookupBuilder::RowsOfSplits() {
  if (has_rows_) return;
  UseRows(1);
  for (int64_t row = 0; row < num_rows_; ++row) {
    std::fill(rows_.begin() + lookups_.row_splits[row],
              rows_.begin() + lookups_.row_splits[row + 1], row);
  }
}

Status LookupBuilder::AddDense(int64_t num_samples, int64_t width) {
  if (num_ids() != num_samples) {
    return InvalidArgument(name_, ": must have ", num_samples,
                           " ids, one a sample, got ", num_ids());
  }
  UseRows(width);
  for (int64_t k = 0; k < num_samples; ++k) SetRow(k, k * width);
  return Status();
}

Status LookupBuilder::CheckLength(const char* tensor, int64_t length) const {
  if (length == num_ids()) return Status();
  return InvalidArgument(name_, ": ", tensor, " must have one entry an id (",
                         num_ids(), "), got ", length);
}

Status LookupBuilder::AddSampleIndices(const TensorView& indices,
                                       int64_t num_samples,
                                       int64_t sequence_length) {
  if (!IsInteger(indices) || indices.rank() < 1 || indices.rank() > 2) {
    return InvalidArgument(
        name_, ": sample_indices must be integers of rank 1 or 2, got ",
        IsInteger(indices) ? "" : "floats of ", "shape ",
        ShapeString(indices.shape));
  }
  TPULESS_RETURN_IF_ERROR(CheckLength("sample_indices", indices.shape[0]));
  UseRows(std::max<int64_t>(1, sequence_length));
  return WithIntegers(indices, [&](const auto* values) {
    return AddSamples(values, indices.rank() == 2 ? indices.shape[1] : 1,
                      num_samples, sequence_length);
  });
}

template <class Integer>
Status LookupBuilder::AddSamples(const Integer* values, int64_t columns,
                                 int64_t num_samples, int64_t sequence_length) {
  std::vector<int64_t> counts(
      sequence_length > 0 && columns == 1 ? num_samples : 0, 0);
  for (int64_t k = 0; k < num_ids(); ++k) {
    const int64_t sample = values[k * columns];
    if (sample < 0 || sample >= num_samples) {
      return InvalidArgument(name_, ": sample index ", sample, " of id ", k,
                             " must be >= 0 and < ", num_samples);
    }
    if (sequence_length == 0) {
      SetRow(k, sample);
      continue;
    }
    const int64_t position =
        columns == 1 ? counts[sample]++ : values[k * columns + 1];
    if (position < 0) {
      return InvalidArgument(name_, ": position ", position, " of id ", k,
                             " must be >= 0");
    }
    if (position < sequence_length) {
      SetRow(k, sample * sequence_length + position);
    } else {
      Drop(k, sample);
    }
  }
  return Status();
}

Status LookupBuilder::AddRowSplits(const TensorView& splits,
                                   int64_t num_samples,
                                   int64_t sequence_length) {
  if (!IsInteger(splits) || splits.rank() != 1) {
    return InvalidArgument(name_,
                           ": row splits must be integers of rank 1, "
                           "got ",
                           IsInteger(splits) ? "" : "floats of ", "shape ",
                           ShapeString(splits.shape));
  }
  if (splits.size() != num_samples + 1) {
    return InvalidArgument(name_, ": row splits must be those of ", num_samples,
                           " samples, got ", splits.size() - 1);
  }
  return WithIntegers(splits, [&](const auto* values) {
    return AddSplits(values, num_samples, sequence_length);
  });
}

template <class Integer>
Status LookupBuilder::AddSplits(const Integer* values, int64_t num_samples,
                                int64_t sequence_length) {
  if (values[0] != 0) {
    return InvalidArgument(name_, ": row splits must start at 0, got ",
                           values[0]);
  }
  if (values[num_samples] != num_ids()) {
    return InvalidArgument(name_,
                           ": row splits must end at the number of ids (",
                           num_ids(), "), got ", values[num_samples]);
  }
  for (int64_t sample = 0; sample < num_samples; ++sample) {
    if (values[sample] > values[sample + 1]) {
      return InvalidArgument(name_, ": row splits must not fall, got ",
                             values[sample], " and then ", values[sample + 1],
                             " at sample ", sample);
    }
  }
  if (sequence_length == 0) {
    lookups_.row_splits.assign(values, values + num_samples + 1);
    return Status();
  }
  UseRows(sequence_length);
  for (int64_t sample = 0; sample < num_samples; ++sample) {
    const int64_t begin = values[sample];
    for (int64_t k = begin; k < values[sample + 1]; ++k) {
      if (k - begin < sequence_length) {
        SetRow(k, sample * sequence_length + (k - begin));
      } else {
        Drop(k, sample);
      }
    }
  }
  return Status();
}

Status LookupBuilder::AddArbitrary(const TensorView& indices,
                                   const std::vector<int64_t>& shape) {
  if (indices.rank() == 2) return AddCoordinates(indices, shape);
  if (indices.rank() != 1) {
    return InvalidArgument(
        name_,
        ": sample_indices_or_row_splits must have rank 1 or 2, got shape ",
        ShapeString(indices.shape));
  }
  if (indices.size() == 0) return AddDense(num_rows_, 1);
  const int64_t num_samples = indices.size() - 1;
  const int64_t length = shape.back();
  if (shape.size() == 1 || num_samples == num_rows_) {
    return AddRowSplits(indices, num_rows_, 0);
  }
  if (num_samples != num_rows_ / length) {
    return InvalidArgument(name_, ": row splits must be those of ", num_rows_,
                           " rows, or of ", num_rows_ / length,
                           " sequences along the last axis, got ", num_samples);
  }
  return AddRowSplits(indices, num_samples, length);
}

// The last column, the position along the axis that is combined, says nothing.
Status LookupBuilder::AddCoordinates(const TensorView& indices,
                                     const std::vector<int64_t>& shape) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (!IsInteger(indices) || indices.shape[1] != rank + 1) {
    return InvalidArgument(
        name_, ": sparse indices must be integers of shape [num_ids, ",
        rank + 1, "] for activations of shape ", ShapeString(shape),
        " + [dimension], got ", IsInteger(indices) ? "" : "floats of ",
        "shape ", ShapeString(indices.shape));
  }
  TPULESS_RETURN_IF_ERROR(CheckLength("sparse indices", indices.shape[0]));
  UseRows(num_rows_ / shape[0]);
  return WithIntegers(indices, [&](const auto* values) {
    return rank == 1 ? AddSamples(values, 2, num_rows_, 0)
                     : AddPlaces(values, shape);
  });
}

template <class Integer>
Status LookupBuilder::AddPlaces(const Integer* values,
                                const std::vector<int64_t>& shape) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  for (int64_t k = 0; k < num_ids(); ++k) {
    const int64_t at = k * (rank + 1);
    if (values[at] >= shape[0]) {
      return InvalidArgument(name_, ": sample index ", values[at], " of id ", k,
                             " must be >= 0 and < ", shape[0]);
    }
    int64_t row = 0;
    bool inside = true;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t coordinate = values[at + axis];
      if (coordinate < 0) {
        return InvalidArgument(name_, ": sparse index ", coordinate, " of id ",
                               k, " on axis ", axis, " must be >= 0");
      }
      inside = inside && coordinate < shape[axis];
      if (inside) row = row * shape[axis] + coordinate;
    }
    if (inside) {
      SetRow(k, row);
    } else {
      Drop(k, values[at]);
    }
  }
  return Status();
}

Status LookupBuilder::CheckIds() {
  const auto outside = [this](int64_t id) {
    return static_cast<uint64_t>(id) >= static_cast<uint64_t>(vocabulary_size_);
  };
  bool any = false;
  for (const int64_t id : lookups_.ids) any |= outside(id);
  if (!any) return Status();
  RowsOfSplits();
  for (int64_t k = 0; k < num_ids(); ++k) {
    const int64_t id = lookups_.ids[k];
    if (!outside(id)) continue;
    if (!skip_out_of_range_ids_) {
      return InvalidArgument(name_, ": id ", id, " of sample ", SampleOf(k),
                             " (embedding_indices[", k,
                             "]) must be >= 0 and < vocabulary_size (",
                             vocabulary_size_, ")");
    }
    Drop(k, SampleOf(k));
  }
  return Status();
}

void LookupBuilder::SortByRow() {
  if (!has_rows_) return;
  std::vector<int64_t>& splits = lookups_.row_splits;
  splits.assign(num_rows_ + 1, 0);
  bool sorted = true;
  int64_t last = 0;
  for (const int64_t row : rows_) {
    sorted = sorted && row >= last;  // Also false where one is dropped.
    last = row;
    if (row >= 0) ++splits[row + 1];
  }
  for (int64_t row = 0; row < num_rows_; ++row) splits[row + 1] += splits[row];
  if (sorted) return;
  const bool weighted = !lookups_.gains.empty();
  std::vector<int64_t>& next = workspace_.next;
  next.assign(splits.begin(), splits.end() - 1);
  workspace_.ids.resize(splits.back());
  workspace_.gains.resize(weighted ? splits.back() : 0);
  for (int64_t k = 0; k < num_ids(); ++k) {
    if (rows_[k] < 0) continue;
    const int64_t to = next[rows_[k]]++;
    workspace_.ids[to] = lookups_.ids[k];
    if (weighted) workspace_.gains[to] = lookups_.gains[k];
  }
  lookups_.ids.swap(workspace_.ids);
  lookups_.gains.swap(workspace_.gains);
}

Status LookupBuilder::Build(Combiner combiner) {
  TPULESS_RETURN_IF_ERROR(CheckIds());
  SortByRow();
  if (combiner == Combiner::kSum) return Status();
  const FlushDenormals flush;
  std::vector<float>& gains = lookups_.gains;
  const bool weighted = !gains.empty();
  gains.resize(num_ids());
  for (int64_t row = 0; row < num_rows_; ++row) {
    float* begin = gains.data() + lookups_.row_splits[row];
    float* end = gains.data() + lookups_.row_splits[row + 1];
    if (weighted) {
      CombineRow(combiner, begin, end);
    } else if (begin != end) {
      std::fill(begin, end, CombineOnes(combiner, end - begin));
    }
  }
  return Status();
}

}  // namespace tpuless
