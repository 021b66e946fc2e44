// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// RMSProp as TensorFlow's ResourceApplyRMSProp, with momentum over the scaled
// gradients.
//
//   ms += (1 - rho) * (g^2 - ms)
//   mom = momentum * mom + lr * g / sqrt(ms + epsilon)    0 / 0 counts as 0
//   w -= mom

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/rms_prop.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct RmsProp {
  static constexpr int kNumSlots = 2;
  explicit RmsProp(const Hyperparameters& hyperparameters)
      : rho(hyperparameters["rho"]),
        momentum(hyperparameters["momentum"]),
        epsilon(hyperparameters["epsilon"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& ms = slot[0];
    V& mom = slot[1];
    ms += V(1 - rho) * (g * g - ms);
    mom = V(momentum) * mom +
          DivideOrZero(V(in.learning_rate) * g, Sqrt(ms + V(epsilon)));
    w -= mom;
  }
  float rho, momentum, epsilon;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(RmsProp);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateRmsProp);

const OptimizerInfo& RmsPropInfo() {
  static const OptimizerInfo info = {
      /*name=*/"rms_prop",
      /*op_name=*/"RMSProp",
      /*slots=*/{"ms", "mom"},
      /*hyperparameters=*/{"rho", "momentum", "epsilon"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateRmsProp)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
