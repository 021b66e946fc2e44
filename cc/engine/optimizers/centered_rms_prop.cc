// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// RMSProp as TensorFlow's ResourceApplyCenteredRMSProp, which divides by the
// gradients' standard deviation.
//
//   ms += (1 - rho) * (g^2 - ms)
//   mg += (1 - rho) * (g - mg)
//   mom = momentum * mom + lr * g / sqrt(ms - mg^2 + epsilon)
//   w -= mom                                     0 / 0 counts as 0

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/centered_rms_prop.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct CenteredRmsProp {
  static constexpr int kNumSlots = 3;
  explicit CenteredRmsProp(const Hyperparameters& hyperparameters)
      : rho(hyperparameters["rho"]),
        momentum(hyperparameters["momentum"]),
        epsilon(hyperparameters["epsilon"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& ms = slot[0];
    V& mom = slot[1];
    V& mg = slot[2];
    ms += V(1 - rho) * (g * g - ms);
    mg += V(1 - rho) * (g - mg);
    mom = V(momentum) * mom + DivideOrZero(V(in.learning_rate) * g,
                                           Sqrt(ms - mg * mg + V(epsilon)));
    w -= mom;
  }
  float rho, momentum, epsilon;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(CenteredRmsProp);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateCenteredRmsProp);

const OptimizerInfo& CenteredRmsPropInfo() {
  static const OptimizerInfo info = {
      /*name=*/"centered_rms_prop",
      /*op_name=*/"CenteredRMSProp",
      /*slots=*/{"ms", "mom", "mg"},
      /*hyperparameters=*/{"rho", "momentum", "epsilon"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateCenteredRmsProp)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
