// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Adam, https://arxiv.org/abs/1412.6980, without the bias correction: the
// caller's learning rate carries it, lr * sqrt(1 - beta2^t) / (1 - beta1^t).
//
//   m = beta1 * m + (1 - beta1) * g
//   v = beta2 * v + (1 - beta2) * g^2
//   w -= lr * m / (sqrt(v) + epsilon)            0 / 0 counts as 0
//   w -= lr * m / sqrt(v + epsilon^2)            if use_sum_inside_sqrt

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/adam.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct Adam {
  static constexpr int kNumSlots = 2;
  explicit Adam(const Hyperparameters& hyperparameters)
      : beta1(hyperparameters["beta1"]),
        beta2(hyperparameters["beta2"]),
        epsilon(hyperparameters["epsilon"]),
        sum_inside_sqrt(hyperparameters["use_sum_inside_sqrt"] != 0) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& m = slot[0];
    V& v = slot[1];
    m = V(beta1) * m + V(1 - beta1) * g;
    v = V(beta2) * v + V(1 - beta2) * g * g;
    const V divisor =
        sum_inside_sqrt ? Sqrt(v + V(epsilon * epsilon)) : Sqrt(v) + V(epsilon);
    w -= DivideOrZero(V(in.learning_rate) * m, divisor);
  }
  float beta1, beta2, epsilon;
  bool sum_inside_sqrt;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(Adam);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateAdam);

const OptimizerInfo& AdamInfo() {
  static const OptimizerInfo info = {
      /*name=*/"adam",
      /*op_name=*/"ADAM",
      /*slots=*/{"momenta", "velocities"},
      /*hyperparameters=*/
      {"beta1", "beta2", "epsilon", "use_non_lazy_adam", "use_sum_inside_sqrt"},
      /*create=*/
      [](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateAdam)(hyperparameters);
      },
      /*check=*/nullptr,
      /*non_lazy=*/"use_non_lazy_adam"};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
