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

// Combines ids [begin, end), and asks for the table rows of those that come
// later, which are at most `last`.
template <bool kGains, bool kQuantize, int kLocality>
HWY_INLINE void LookupRow(const EmbeddingTable& table,
                          const InputLookups& input, int64_t begin, int64_t end,
                          int64_t last, float* activations) {
  const int64_t* ids = input.ids.data();
  const float* gains = input.gains.data();
  ForEachColumns(0, table.config().dimension,
                 [&](auto d, auto num_vectors, int64_t column) HWY_ATTR {
                   using V = Floats<decltype(d)>;
                   constexpr int kVectors = num_vectors.value;
                   constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
                   V sum[kVectors];
                   for (int64_t k = begin; k < end; ++k) {
                     const int64_t later = std::min(k + kPrefetchLookups, last);
                     PrefetchFloats<kLocality>(
                         table.weights(ids[later]) + column, kVectors * kLanes);
                     const float* weights = table.weights(ids[k]) + column;
                     HWY_UNROLL(4)
                     for (int i = 0; i < kVectors; ++i) {
                       V x = V::Load(weights + i * kLanes);
                       if (kQuantize)
                         x = Quantize(x, *table.config().quantization);
                       if (kGains) x = V(gains[k]) * x;
                       sum[i] += x;
                     }
                   }
                   HWY_UNROLL(4)
                   for (int i = 0; i < kVectors; ++i) {
                     sum[i].Store(activations + column + i * kLanes);
                   }
                 });
}

template <bool kGains, bool kQuantize, int kLocality>
void RowsOf(const EmbeddingTable& table, const InputLookups& input,
            int64_t begin, int64_t end, float* output) {
  const int64_t dimension = table.config().dimension;
  const int64_t last = input.row_splits[end] - 1;
  for (int64_t row = begin; row < end; ++row) {
    LookupRow<kGains, kQuantize, kLocality>(
        table, input, input.row_splits[row], input.row_splits[row + 1], last,
        output + input.output_row(row) * dimension);
  }
}

void LookupRows(const EmbeddingTable& table, const InputLookups& input,
                int64_t begin, int64_t end, float* output) {
  const bool gains = !input.gains.empty();
  const int64_t num_ids = input.row_splits[end] - input.row_splits[begin];
  const bool few = num_ids < 2 * (end - begin);
  const auto rows = table.config().quantization
                        ? (gains ? RowsOf<true, true, kSecondCache>
                                 : RowsOf<false, true, kSecondCache>)
                        : (gains ? (few ? RowsOf<true, false, kFirstCache>
                                        : RowsOf<true, false, kSecondCache>)
                                 : (few ? RowsOf<false, false, kFirstCache>
                                        : RowsOf<false, false, kSecondCache>));
  rows(table, input, begin, end, output);
}

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tpuless {
HWY_EXPORT(LookupRows);

namespace {

struct RowRange {
  const InputLookups* input;
  int64_t begin;
  int64_t end;
  int64_t num_floats;  // About.
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
      ranges.push_back({&input, num_rows * i / num_tasks,
                        num_rows * (i + 1) / num_tasks,
                        num_floats / num_tasks});
    }
  }
  ForEachByCost(
      static_cast<int64_t>(ranges.size()),
      [&](int64_t i) { return ranges[i].num_floats; }, kFloatsPerTask / 2,
      parallel_for,
      [&](int64_t i) {
        const FlushDenormals flush;
        const InputLookups& input = *ranges[i].input;
        HWY_DYNAMIC_DISPATCH(LookupRows)
        (*tables[input.table], input, ranges[i].begin, ranges[i].end,
         outputs[input.output]);
      });
}

}  // namespace tpuless
#endif  // HWY_ONCE
