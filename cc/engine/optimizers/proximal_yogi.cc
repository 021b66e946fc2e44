// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Yogi, https://papers.nips.cc/paper/8186, with a proximal step for l1 and l2
// as TensorFlow Addons has it, without the bias correction: the caller's
// learning rate carries it, lr * sqrt(1 - beta2^t) / (1 - beta1^t).
//
//   m = beta1 * m + (1 - beta1) * g
//   v += (1 - beta2) * sign(g^2 - v) * g^2
//   r = lr / (sqrt(v) + epsilon)
//   x = w - r * m                                0 / 0 counts as 0
//   x = sign(x) * max(abs(x) - r * l1, 0)        if l1 > 0
//   w = x / (1 + r * l2)                         if l2 > 0, else x

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/proximal_yogi.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct ProximalYogi {
  static constexpr int kNumSlots = 2;
  explicit ProximalYogi(const Hyperparameters& hyperparameters)
      : l1(hyperparameters["l1"]),
        l2(hyperparameters["l2"]),
        beta1(hyperparameters["beta1"]),
        beta2(hyperparameters["beta2"]),
        epsilon(hyperparameters["epsilon"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& v = slot[0];
    V& m = slot[1];
    m = V(beta1) * m + V(1 - beta1) * g;
    v += V(1 - beta2) * Sign(g * g - v) * g * g;
    const V divisor = Sqrt(v) + V(epsilon);
    const V step = V(in.learning_rate) * m;
    V rate = V(in.learning_rate) / divisor;
    rate = SelectIfZero(divisor, SelectIfZero(step, 0.0f, rate), rate);
    V x = w - rate * m;
    if (l1 > 0) x = Shrink(x, rate * V(l1));
    if (l2 > 0) x = x / (V(1.0f) + rate * V(l2));
    w = x;
  }
  float l1, l2, beta1, beta2, epsilon;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(ProximalYogi);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateProximalYogi);

const OptimizerInfo& ProximalYogiInfo() {
  static const OptimizerInfo info = {
      /*name=*/"proximal_yogi",
      /*op_name=*/"ProximalYogi",
      /*slots=*/{"v", "m"},
      /*hyperparameters=*/{"l1", "l2", "beta1", "beta2", "epsilon"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateProximalYogi)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
