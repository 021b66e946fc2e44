// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// FTRL-Proximal, https://research.google.com/pubs/archive/41159.pdf
//
//   k = -lr_power
//   d = (a + g^2)^k - a^k
//   a += g^2
//   z += g - d * w / lr
//   w = (clamp(z, -l1, l1) - z) / ((a^k + beta) / lr + 2 * l2)
//
//   and if multiply_linear_by_lr, where z holds lr times as much:
//
//   z += lr * g - d * w
//   w = (clamp(z, -lr * l1, lr * l1) - z) / (a^k + 2 * lr * l2 + beta)
//
//   w is 0 where the divisor is 0, as with accumulators that start at 0.

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/ftrl.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct Ftrl {
  static constexpr int kNumSlots = 2;
  explicit Ftrl(const Hyperparameters& hyperparameters)
      : l1(hyperparameters["l1"]),
        l2(hyperparameters["l2"]),
        power(-hyperparameters["lr_power"]),
        beta(hyperparameters["beta"]),
        multiply_linear_by_lr(hyperparameters["multiply_linear_by_lr"] != 0) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    const V learning_rate = in.learning_rate;
    V& a = slot[0];
    V& z = slot[1];
    const V old_power = Power(a, power);
    a += g * g;
    const V new_power = Power(a, power);
    const V shift = (new_power - old_power) * w;
    V limit, divisor;
    if (multiply_linear_by_lr) {
      z += learning_rate * g - shift;
      limit = learning_rate * V(l1);
      divisor = new_power + V(2 * l2) * learning_rate + V(beta);
    } else {
      z += g - shift / learning_rate;
      limit = l1;
      divisor = (new_power + V(beta)) / learning_rate + V(2 * l2);
    }
    w = (Clamp(z, V() - limit, limit) - z) / divisor;
    w = SelectIfZero(divisor, V(), w);
  }
  float l1, l2, power, beta;
  bool multiply_linear_by_lr;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(Ftrl);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateFtrl);

const OptimizerInfo& FtrlInfo() {
  static const OptimizerInfo info = {
      /*name=*/"ftrl",
      /*op_name=*/"FTRL",
      /*slots=*/{"accumulators", "linears"},
      /*hyperparameters=*/
      {"l1", "l2", "lr_power", "beta", "multiply_linear_by_lr"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateFtrl)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
