// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Lion, https://arxiv.org/abs/2302.06675; its weight decay is
// weight_decay_factor, as for every optimizer.
//
//   u = beta1 * m + (1 - beta1) * g
//   w -= lr * sign(u)                            sign(0) is 0
//   m = beta2 * m + (1 - beta2) * g

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/lion.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct Lion {
  static constexpr int kNumSlots = 1;
  explicit Lion(const Hyperparameters& hyperparameters)
      : beta1(hyperparameters["beta1"]), beta2(hyperparameters["beta2"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& m = slot[0];
    w -= V(in.learning_rate) * Sign(V(beta1) * m + V(1 - beta1) * g);
    m = V(beta2) * m + V(1 - beta2) * g;
  }
  float beta1, beta2;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(Lion);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateLion);

const OptimizerInfo& LionInfo() {
  static const OptimizerInfo info = {
      /*name=*/"lion",
      /*op_name=*/"",
      /*slots=*/{"momenta"},
      /*hyperparameters=*/{"beta1", "beta2", "use_non_lazy_lion"},
      /*create=*/
      [](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateLion)(hyperparameters);
      },
      /*check=*/nullptr,
      /*non_lazy=*/"use_non_lazy_lion"};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
