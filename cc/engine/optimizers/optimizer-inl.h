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

HWY_INLINE const float* GradientRow(const TableUpdate& update,
                                    const Contribution& contribution) {
  return update.gradients[contribution.tensor] +
         contribution.row * update.dimension;
}

// Runs the steps of a row update on kVectors vectors of its columns:
// sum, clip the gradient, decay, optimize, clip the weights.
template <int kVectors, class D, class Algorithm>
HWY_INLINE void UpdateColumns(D, const Algorithm& algorithm,
                              const TableUpdate& update, float* row,
                              int64_t column, const Contribution* begin,
                              const Contribution* end) {
  using V = Floats<D>;
  constexpr int kNumSlots = Algorithm::kNumSlots;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  V w[kVectors];
  V g[kVectors];
  V slots[kVectors][kNumSlots + 1];
  for (int i = 0; i < kVectors; ++i) {
    float* at = row + column + i * kLanes;
    w[i] = V::Load(at);
    for (int k = 0; k < kNumSlots; ++k) {
      slots[i][k] = V::Load(at + (k + 1) * update.slot_stride);
    }
  }

  const auto step = [&]() HWY_ATTR {
    for (int i = 0; i < kVectors; ++i) {
      if (update.clip_gradients != nullptr) {
        g[i] = Clamp(g[i], update.clip_gradients->lower,
                     update.clip_gradients->upper);
      }
      if (update.weight_decay != 0) w[i] -= V(update.weight_decay) * w[i];
      algorithm.Update(update.inputs, g[i], w[i], slots[i]);
      if (update.clip_weights != nullptr) {
        w[i] =
            Clamp(w[i], update.clip_weights->lower, update.clip_weights->upper);
      }
    }
  };
  for (const Contribution* c = begin; c != end; ++c) {
    const float* from = GradientRow(update, *c) + column;
    for (int i = 0; i < kVectors; ++i) {
      const V part = V(c->gain) * V::Load(from + i * kLanes);
      g[i] = update.accumulate ? g[i] + part : part;
    }
    if (!update.accumulate) step();
  }
  if (update.accumulate) step();

  for (int i = 0; i < kVectors; ++i) {
    float* at = row + column + i * kLanes;
    w[i].Store(at);
    for (int k = 0; k < kNumSlots; ++k) {
      slots[i][k].Store(at + (k + 1) * update.slot_stride);
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
    const int64_t last = update.row_starts[end];
    for (int64_t i = begin; i < end; ++i) {
      if (i + kPrefetchRows < end) PrefetchRow(update, i + kPrefetchRows);
      for (int64_t c = update.row_starts[i]; c < update.row_starts[i + 1];
           ++c) {
        if (c + kPrefetchGradients < last) {
          PrefetchFloats(
              GradientRow(update, update.contributions[c + kPrefetchGradients]),
              update.dimension);
        }
      }
      UpdateRow(update, update.row_ids[i], update.row_starts[i],
                update.row_starts[i + 1]);
    }
  }

  void UpdateAllRows(const TableUpdate& update, int64_t begin, int64_t end,
                     int64_t first, int64_t last) const override {
    for (int64_t row = begin; row < end; ++row) {
      const bool touched = first < last && update.row_ids[first] == row;
      UpdateRow(update, row, touched ? update.row_starts[first] : 0,
                touched ? update.row_starts[first + 1] : 0);
      first += touched;
    }
  }

 private:
  // Inlined, or GCC takes it for a function without effects and drops it.
  HWY_INLINE void PrefetchRow(const TableUpdate& update, int64_t i) const {
    const float* row = update.table + update.row_ids[i] * update.row_stride;
    for (int k = 0; k <= Algorithm::kNumSlots; ++k) {
      PrefetchFloats(row + k * update.slot_stride, update.dimension);
    }
  }

  void UpdateRow(const TableUpdate& update, int64_t row, int64_t begin,
                 int64_t end) const {
    float* at = update.table + row * update.row_stride;
    ForEachColumns(update.dimension, [&](auto d, auto num_vectors,
                                         int64_t column) HWY_ATTR {
      UpdateColumns<num_vectors.value>(d, algorithm_, update, at, column,
                                       update.contributions + begin,
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
