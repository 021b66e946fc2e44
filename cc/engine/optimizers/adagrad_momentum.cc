// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Adagrad with momentum, as the accelerators' own tests and later libraries
// have it. (The comment in TensorFlow's optimization_parameters.proto leaves g
// out of m and multiplies by it at the end.)
//
//   a += g^2                                     if beta2 is 1
//   a = beta2 * a + (1 - beta2) * g^2            else
//   s = g / (a + epsilon)^(1 / exponent)         0 / 0 counts as 0
//   m = momentum * m + s
//   w -= lr * m
//   w -= lr * (momentum * m + s)                 if use_nesterov

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/adagrad_momentum.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct AdagradMomentum {
  static constexpr int kNumSlots = 2;
  explicit AdagradMomentum(const Hyperparameters& hyperparameters)
      : momentum(hyperparameters["momentum"]),
        beta2(hyperparameters["beta2"]),
        epsilon(hyperparameters["epsilon"]),
        gain(beta2 == 1 ? 1 : 1 - beta2),
        power(1.0 / hyperparameters["exponent"]),
        use_nesterov(hyperparameters["use_nesterov"] != 0) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& a = slot[0];
    V& m = slot[1];
    a = V(beta2) * a + V(gain) * g * g;
    const V scaled = DivideOrZero(g, Power(a + V(epsilon), power));
    m = V(momentum) * m + scaled;
    w -= V(in.learning_rate) * (use_nesterov ? V(momentum) * m + scaled : m);
  }
  float momentum, beta2, epsilon, gain;
  double power;
  bool use_nesterov;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(AdagradMomentum);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateAdagradMomentum);

const OptimizerInfo& AdagradMomentumInfo() {
  static const OptimizerInfo info = {
      /*name=*/"adagrad_momentum",
      /*op_name=*/"AdagradMomentum",
      /*slots=*/{"accumulators", "momenta"},
      /*hyperparameters=*/
      {"momentum", "use_nesterov", "exponent", "beta2", "epsilon"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateAdagradMomentum)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
