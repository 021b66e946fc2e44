// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Adagrad, https://jmlr.org/papers/v12/duchi11a.html
//
//   a += g^2
//   w -= lr * g / sqrt(a)          0 / 0 counts as 0

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/adagrad.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct Adagrad {
  static constexpr int kNumSlots = 1;
  explicit Adagrad(const Hyperparameters&) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    slot[0] += g * g;
    w -= V(in.learning_rate) * DivideOrZero(g, Sqrt(slot[0]));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(Adagrad);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateAdagrad);

const OptimizerInfo& AdagradInfo() {
  static const OptimizerInfo info = {
      /*name=*/"adagrad",
      /*op_name=*/"Adagrad",
      /*slots=*/{"accumulators"},
      /*hyperparameters=*/{},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateAdagrad)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
