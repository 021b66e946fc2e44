// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The loop around every optimizer's arithmetic.
//
// An optimizer is one file, see adagrad.cc: a struct with
//   static constexpr int kNumSlots;
//   explicit Struct(const Hyperparameters&);
//   template <class V>  // Floats of some length: one piece of a row.
//   void Update(const StepInputs& in, V g, V& w, V* slot) const;
// then TPULESS_COMPILE_OPTIMIZER(Struct), its OptimizerInfo, and a line in
// registry.h. The file is compiled once a SIMD target.

// Per-target include guard.
#if defined(TPULESS_CC_ENGINE_OPTIMIZERS_OPTIMIZER_INL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef TPULESS_CC_ENGINE_OPTIMIZERS_OPTIMIZER_INL_H_
#undef TPULESS_CC_ENGINE_OPTIMIZERS_OPTIMIZER_INL_H_
#else
#define TPULESS_CC_ENGINE_OPTIMIZERS_OPTIMIZER_INL_H_
#endif

#include <algorithm>
#include <memory>

#include "cc/engine/optimizer.h"
#include "cc/engine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

// Rows and gradients are asked for this far ahead of their use.
constexpr int64_t kPrefetchRows = 8;
constexpr int64_t kPrefetchGradients = 12;

// Sums the contributions of a row in kVectors vectors of its columns.
template <int kVectors, class D>
HWY_INLINE void SumColumns(D, const TableUpdate& update, int64_t column,
                           const Contribution* begin, const Contribution* end,
                           Floats<D>* sum) {
  using V = Floats<D>;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  for (const Contribution* c = begin; c != end; ++c) {
    const float* from = GradientRow(update, *c) + column;
    const V gain = c->gain;
    HWY_UNROLL(8)
    for (int i = 0; i < kVectors; ++i) {
      sum[i] += gain * V::Load(from + i * kLanes);
    }
  }
}

// Runs the steps of a row update on kVectors vectors of its columns: sum, clip
// the gradient, decay, optimize, clip the weights. A plain update has one sum
// and none of the steps around the optimizer's, and is of whole rows.
template <bool kPlain, int kVectors, class D, class Algorithm>
HWY_INLINE void UpdateColumns(D d, const Algorithm& algorithm,
                              const TableUpdate& update, float* row,
                              int64_t column, const Contribution* begin,
                              const Contribution* end) {
  using V = Floats<D>;
  constexpr int kNumSlots = Algorithm::kNumSlots;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  const bool accumulate = kPlain || update.accumulate;
  V sum[kVectors];
  if (accumulate) SumColumns<kVectors>(d, update, column, begin, end, sum);
  HWY_UNROLL(8)
  for (int i = 0; i < kVectors; ++i) {
    float* at = row + column + i * kLanes;
    V w = V::Load(at);
    V slots[kNumSlots + 1];
    HWY_UNROLL(8)
    for (int k = 0; k < kNumSlots; ++k) {
      slots[k] = V::Load(at + (k + 1) * update.slot_stride);
    }
    const auto step = [&](V g) HWY_ATTR {
      if (!kPlain && update.clip_gradients != nullptr) {
        g = Clamp(g, update.clip_gradients->lower,
                  update.clip_gradients->upper);
      }
      if (!kPlain && update.weight_decay != 0) w -= V(update.weight_decay) * w;
      algorithm.Update(update.inputs, g, w, slots);
      if (!kPlain && update.clip_weights != nullptr) {
        w = Clamp(w, update.clip_weights->lower, update.clip_weights->upper);
      }
    };
    if (accumulate) {
      step(sum[i]);
    } else {
      for (const Contribution* c = begin; c != end; ++c) {
        step(V(c->gain) *
             V::Load(GradientRow(update, *c) + column + i * kLanes));
      }
    }
    w.Store(at);
    HWY_UNROLL(8)
    for (int k = 0; k < kNumSlots; ++k) {
      slots[k].Store(at + (k + 1) * update.slot_stride);
    }
  }
}

template <class Algorithm>
class RowOptimizer final : public Optimizer {
 public:
  explicit RowOptimizer(const Hyperparameters& hyperparameters)
      : algorithm_(hyperparameters) {}

  void UpdateRows(const TableUpdate& update, int64_t begin,
                  int64_t end) const override {
    if (IsPlain(update)) {
      UpdateRows<true>(update, begin, end);
    } else {
      UpdateRows<false>(update, begin, end);
    }
  }

  void UpdateAllRows(const TableUpdate& update, int64_t begin, int64_t end,
                     int64_t first, int64_t last) const override {
    for (int64_t row = begin; row < end; ++row) {
      const bool touched = first < last && update.row_ids[first] == row;
      UpdateRow<false>(update, row, touched ? update.row_starts[first] : 0,
                       touched ? update.row_starts[first + 1] : 0);
      first += touched;
    }
  }

 private:
  static bool IsPlain(const TableUpdate& update) {
    return update.accumulate && update.weight_decay == 0 &&
           update.clip_gradients == nullptr && update.clip_weights == nullptr &&
           update.begin_column == 0 && update.end_column == update.dimension;
  }

  // Inlined, or GCC takes it for a function without effects and drops it.
  HWY_INLINE void PrefetchRow(const TableUpdate& update, int64_t i) const {
    const float* row = update.table + update.row_ids[i] * update.row_stride;
    for (int k = 0; k <= Algorithm::kNumSlots; ++k) {
      PrefetchFloats(row + k * update.slot_stride, update.dimension);
    }
  }

  template <bool kPlain>
  void UpdateRows(const TableUpdate& update, int64_t begin, int64_t end) const {
    // What is asked for is also the next task's, which is often the same
    // thread's.
    const int64_t last = update.row_starts[update.num_rows];
    for (int64_t i = begin; i < end; ++i) {
      if (i + kPrefetchRows < update.num_rows) {
        PrefetchRow(update, i + kPrefetchRows);
      }
      for (int64_t c = update.row_starts[i]; c < update.row_starts[i + 1];
           ++c) {
        if (c + kPrefetchGradients < last) {
          PrefetchFloats(
              GradientRow(update, update.contributions[c + kPrefetchGradients]),
              update.dimension);
        }
      }
      UpdateRow<kPlain>(update, update.row_ids[i], update.row_starts[i],
                        update.row_starts[i + 1]);
    }
  }

  template <bool kPlain>
  HWY_INLINE void UpdateRow(const TableUpdate& update, int64_t row,
                            int64_t begin, int64_t end) const {
    float* at = update.table + row * update.row_stride;
    const int64_t first = kPlain ? 0 : update.begin_column;
    const int64_t last = kPlain ? update.dimension : update.end_column;
    ForEachColumns(
        first, last, [&](auto d, auto num_vectors, int64_t column) HWY_ATTR {
          UpdateColumns<kPlain, num_vectors.value>(
              d, algorithm_, update, at, column, update.contributions + begin,
              update.contributions + end);
        });
  }

  const Algorithm algorithm_;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();

#define TPULESS_COMPILE_OPTIMIZER(Algorithm)                           \
  HWY_BEFORE_NAMESPACE();                                              \
  namespace tpuless {                                                  \
  namespace HWY_NAMESPACE {                                            \
  std::unique_ptr<Optimizer> Create##Algorithm(                        \
      const Hyperparameters& hyperparameters) {                        \
    return std::make_unique<RowOptimizer<Algorithm>>(hyperparameters); \
  }                                                                    \
  }                                                                    \
  }                                                                    \
  HWY_AFTER_NAMESPACE();                                               \
  static_assert(true, "for the semicolon")

#endif  // per-target include guard
