// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Adadelta, https://arxiv.org/abs/1212.5701, with the learning rate of
// TensorFlow's ResourceApplyAdadelta.
//
//   a = rho * a + (1 - rho) * g^2
//   u = sqrt(d + epsilon) * g / sqrt(a + epsilon)         0 / 0 counts as 0
//   d = rho * d + (1 - rho) * u^2
//   w -= lr * u

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/adadelta.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct Adadelta {
  static constexpr int kNumSlots = 2;
  explicit Adadelta(const Hyperparameters& hyperparameters)
      : rho(hyperparameters["rho"]), epsilon(hyperparameters["epsilon"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& a = slot[0];
    V& d = slot[1];
    a = V(rho) * a + V(1 - rho) * g * g;
    const V u = DivideOrZero(Sqrt(d + V(epsilon)) * g, Sqrt(a + V(epsilon)));
    d = V(rho) * d + V(1 - rho) * u * u;
    w -= V(in.learning_rate) * u;
  }
  float rho, epsilon;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(Adadelta);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateAdadelta);

const OptimizerInfo& AdadeltaInfo() {
  static const OptimizerInfo info = {
      /*name=*/"adadelta",
      /*op_name=*/"Adadelta",
      /*slots=*/{"accumulators", "updates"},
      /*hyperparameters=*/{"rho", "epsilon"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateAdadelta)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
