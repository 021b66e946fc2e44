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

// Reads either type of integer.
class Integers {
 public:
  explicit Integers(const TensorView& view)
      : wide_(view.dtype == DType::kInt64), data_(view.data) {}
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i]
                 : static_cast<const int32_t*>(data_)[i];
  }

 private:
  const bool wide_;
  const void* data_;
};

std::vector<float> ReadWeights(const TensorView& view) {
  if (view.dtype == DType::kFloat64) {
    const double* data = static_cast<const double*>(view.data);
    return std::vector<float>(data, data + view.size());
  }
  const float* data = static_cast<const float*>(view.data);
  return std::vector<float>(data, data + view.size());
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
                             bool skip_out_of_range_ids)
    : name_(std::move(name)),
      num_rows_(num_rows),
      vocabulary_size_(vocabulary_size),
      skip_out_of_range_ids_(skip_out_of_range_ids) {}

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
  const Integers ids(embedding_indices);
  ids_.resize(num_ids);
  for (int64_t k = 0; k < num_ids; ++k) ids_[k] = ids[k];
  weights_ = ReadWeights(aggregation_weights);
  rows_.resize(num_ids);
  return Status();
}

Status LookupBuilder::AddDense(int64_t num_samples, int64_t width) {
  if (num_ids() != num_samples) {
    return InvalidArgument(name_, ": must have ", num_samples,
                           " ids, one a sample, got ", num_ids());
  }
  rows_per_sample_ = width;
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
  const Integers values(indices);
  const int64_t columns = indices.rank() == 2 ? indices.shape[1] : 1;
  std::vector<int64_t> counts(
      sequence_length > 0 && columns == 1 ? num_samples : 0, 0);
  rows_per_sample_ = std::max<int64_t>(1, sequence_length);
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
  const Integers values(splits);
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
  rows_per_sample_ = std::max<int64_t>(1, sequence_length);
  for (int64_t sample = 0; sample < num_samples; ++sample) {
    const int64_t begin = values[sample];
    for (int64_t k = begin; k < values[sample + 1]; ++k) {
      if (sequence_length == 0) {
        SetRow(k, sample);
      } else if (k - begin < sequence_length) {
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
  const Integers values(indices);
  rows_per_sample_ = num_rows_ / shape[0];
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
  for (int64_t k = 0; k < num_ids(); ++k) {
    if (ids_[k] >= 0 && ids_[k] < vocabulary_size_) continue;
    if (!skip_out_of_range_ids_) {
      return InvalidArgument(name_, ": id ", ids_[k], " of sample ",
                             SampleOf(k), " (embedding_indices[", k,
                             "]) must be >= 0 and < vocabulary_size (",
                             vocabulary_size_, ")");
    }
    Drop(k, SampleOf(k));
  }
  return Status();
}

void LookupBuilder::SortByRow(InputLookups& lookups) {
  lookups.row_splits.assign(num_rows_ + 1, 0);
  bool sorted = true;
  int64_t last = 0;
  for (const int64_t row : rows_) {
    sorted = sorted && row >= last;  // Also false where one is dropped.
    last = row;
    if (row >= 0) ++lookups.row_splits[row + 1];
  }
  for (int64_t row = 0; row < num_rows_; ++row) {
    lookups.row_splits[row + 1] += lookups.row_splits[row];
  }
  if (sorted) {
    lookups.ids = std::move(ids_);
    lookups.gains = std::move(weights_);
    return;
  }
  const bool weighted = !weights_.empty();
  lookups.ids.resize(lookups.row_splits.back());
  lookups.gains.resize(weighted ? lookups.ids.size() : 0);
  std::vector<int64_t> next(lookups.row_splits.begin(),
                            lookups.row_splits.end() - 1);
  for (int64_t k = 0; k < static_cast<int64_t>(rows_.size()); ++k) {
    if (rows_[k] < 0) continue;
    const int64_t to = next[rows_[k]]++;
    lookups.ids[to] = ids_[k];
    if (weighted) lookups.gains[to] = weights_[k];
  }
}

Status LookupBuilder::Build(Combiner combiner, InputLookups& lookups) {
  TPULESS_RETURN_IF_ERROR(CheckIds());
  SortByRow(lookups);
  if (combiner == Combiner::kSum) return Status();
  const FlushDenormals flush;
  if (lookups.gains.empty()) lookups.gains.assign(lookups.ids.size(), 1.0f);
  for (int64_t row = 0; row < num_rows_; ++row) {
    CombineRow(combiner, lookups.gains.data() + lookups.row_splits[row],
               lookups.gains.data() + lookups.row_splits[row + 1]);
  }
  return Status();
}

}  // namespace tpuless
