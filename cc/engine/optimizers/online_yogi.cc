// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Yogi's second moment in the place of FTRL's accumulator;
// https://papers.nips.cc/paper/8186 has the former, TensorFlow's
// optimization_parameters.proto says no more than that l1 and l2 are as in
// FTRL. Experimental: no public text gives the formula.
//
//   n = v - (1 - beta2) * sign(v - g^2) * g^2
//   z += g - (sqrt(n) - sqrt(v)) / lr * w
//   w = (clamp(z, -l1, l1) - z) / (sqrt(n) / lr + 2 * l2)
//   v = n
//
//   w is 0 where the divisor is 0.

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/online_yogi.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct OnlineYogi {
  static constexpr int kNumSlots = 2;
  explicit OnlineYogi(const Hyperparameters& hyperparameters)
      : l1(hyperparameters["l1"]),
        l2(hyperparameters["l2"]),
        beta2(hyperparameters["beta2"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& v = slot[0];
    V& z = slot[1];
    const V old_root = Sqrt(v);
    v -= V(1 - beta2) * Sign(v - g * g) * g * g;
    const V root = Sqrt(v);
    z += g - (root - old_root) / V(in.learning_rate) * w;
    const V divisor = root / V(in.learning_rate) + V(2 * l2);
    w = SelectIfZero(divisor, 0.0f, (Clamp(z, -l1, l1) - z) / divisor);
  }
  float l1, l2, beta2;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(OnlineYogi);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateOnlineYogi);

const OptimizerInfo& OnlineYogiInfo() {
  static const OptimizerInfo info = {
      /*name=*/"online_yogi",
      /*op_name=*/"",
      /*slots=*/{"vs", "linears"},
      /*hyperparameters=*/{"l1", "l2", "beta2"},
      /*create=*/
      [](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateOnlineYogi)(hyperparameters);
      },
      /*check=*/nullptr,
      /*non_lazy=*/"",
      /*dynamic_input=*/"",
      /*is_experimental=*/[](const Hyperparameters&) { return true; }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
