// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The gather loop, compiled once a SIMD target.
#include "cc/engine/lookup.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "cc/engine/denormals.h"
#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/lookup.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

// Table rows are asked for this many lookups ahead of their use.
constexpr int64_t kPrefetchLookups = 16;

// Rounds to the nearest bucket, as TensorFlow's
// optimization_parameters.proto says of simulated quantization.
template <class V>
HWY_INLINE V Quantize(V x, const SimulatedQuantization& quantization) {
  const float lower = quantization.limits.lower;
  const float upper = quantization.limits.upper;
  const float quantum =
      (upper - lower) / static_cast<float>(quantization.num_buckets - 1);
  x = Clamp(x, lower, upper);
  return Floor((x - V(lower)) / V(quantum) + V(0.5f)) * V(quantum) + V(lower);
}

void LookupRow(const EmbeddingTable& table, const InputLookups& input,
               int64_t row, float* activations) {
  const int64_t begin = input.row_splits[row];
  const int64_t end = input.row_splits[row + 1];
  const auto& quantization = table.config().quantization;
  ForEachColumns(table.config().dimension, [&](auto d, auto num_vectors,
                                               int64_t column) HWY_ATTR {
    using V = Floats<decltype(d)>;
    constexpr int kVectors = num_vectors.value;
    constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
    V sum[kVectors];
    for (int64_t k = begin; k < end; ++k) {
      const float* weights = table.weights(input.ids[k]) + column;
      const V gain = input.gains.empty() ? 1.0f : input.gains[k];
      for (int i = 0; i < kVectors; ++i) {
        V x = V::Load(weights + i * kLanes);
        if (quantization) x = Quantize(x, *quantization);
        sum[i] += gain * x;
      }
    }
    for (int i = 0; i < kVectors; ++i) {
      sum[i].Store(activations + column + i * kLanes);
    }
  });
}

void LookupRows(const EmbeddingTable& table, const InputLookups& input,
                int64_t begin, int64_t end, float* output) {
  const int64_t dimension = table.config().dimension;
  const int64_t last = input.row_splits[end];
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t k = input.row_splits[row]; k < input.row_splits[row + 1];
         ++k) {
      if (k + kPrefetchLookups < last) {
        PrefetchFloats(table.weights(input.ids[k + kPrefetchLookups]),
                       dimension);
      }
    }
    LookupRow(table, input, row, output + input.output_row(row) * dimension);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tpuless {
HWY_EXPORT(LookupRows);

namespace {

// Enough floats for a task to be worth handing to another thread.
constexpr int64_t kFloatsPerTask = 1 << 16;

struct RowRange {
  const InputLookups* input;
  int64_t begin;
  int64_t end;
};

}  // namespace

void Lookup(const std::vector<std::unique_ptr<EmbeddingTable>>& tables,
            const Minibatch& minibatch, const std::vector<float*>& outputs,
            const ParallelFor& parallel_for) {
  std::vector<RowRange> ranges;
  for (const InputLookups& input : minibatch.inputs) {
    const int64_t num_rows = input.num_rows();
    const int64_t num_ids = static_cast<int64_t>(input.ids.size());
    const int64_t num_floats =
        std::max(num_rows, num_ids) * tables[input.table]->config().dimension;
    const int64_t num_tasks =
        std::min(num_rows, num_floats / kFloatsPerTask + 1);
    for (int64_t i = 0; i < num_tasks; ++i) {
      ranges.push_back(
          {&input, num_rows * i / num_tasks, num_rows * (i + 1) / num_tasks});
    }
  }
  parallel_for(static_cast<int64_t>(ranges.size()), [&](int64_t i) {
    const FlushDenormals flush;
    const InputLookups& input = *ranges[i].input;
    HWY_DYNAMIC_DISPATCH(LookupRows)
    (*tables[input.table], input, ranges[i].begin, ranges[i].end,
     outputs[input.output]);
  });
}

}  // namespace tpuless
#endif  // HWY_ONCE
