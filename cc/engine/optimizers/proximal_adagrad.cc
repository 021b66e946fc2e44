// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Adagrad with a proximal step for l1 and l2, as TensorFlow's
// ResourceApplyProximalAdagrad; http://papers.nips.cc/paper/3793 is the method.
//
//   a += g^2
//   r = lr / sqrt(a)                             0 if a is 0
//   x = w - r * g
//   x = sign(x) * max(abs(x) - r * l1, 0)        if l1 > 0
//   w = x / (1 + r * l2)                         if l2 > 0, else x

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/proximal_adagrad.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct ProximalAdagrad {
  static constexpr int kNumSlots = 1;
  explicit ProximalAdagrad(const Hyperparameters& hyperparameters)
      : l1(hyperparameters["l1"]), l2(hyperparameters["l2"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& a = slot[0];
    a += g * g;
    const V rate = SelectIfZero(a, 0.0f, V(in.learning_rate) / Sqrt(a));
    V x = w - rate * g;
    if (l1 > 0) x = Shrink(x, rate * V(l1));
    if (l2 > 0) x = x / (V(1.0f) + rate * V(l2));
    w = x;
  }
  float l1, l2;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(ProximalAdagrad);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateProximalAdagrad);

const OptimizerInfo& ProximalAdagradInfo() {
  static const OptimizerInfo info = {
      /*name=*/"proximal_adagrad",
      /*op_name=*/"ProximalAdagrad",
      /*slots=*/{"accumulators"},
      /*hyperparameters=*/{"l1", "l2"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateProximalAdagrad)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
