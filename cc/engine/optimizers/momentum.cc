// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Momentum as TensorFlow's ResourceApplyMomentum, the learning rate outside of
// the accumulator; Nesterov's form after
// http://proceedings.mlr.press/v28/sutskever13.pdf
//
//   m = momentum * m + g
//   w -= lr * m
//   w -= lr * g + lr * momentum * m              if use_nesterov

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/momentum.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct Momentum {
  static constexpr int kNumSlots = 1;
  explicit Momentum(const Hyperparameters& hyperparameters)
      : momentum(hyperparameters["momentum"]),
        use_nesterov(hyperparameters["use_nesterov"] != 0) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    const V learning_rate = in.learning_rate;
    V& m = slot[0];
    m = V(momentum) * m + g;
    w -= use_nesterov ? learning_rate * g + learning_rate * V(momentum) * m
                      : learning_rate * m;
  }
  float momentum;
  bool use_nesterov;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(Momentum);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateMomentum);

const OptimizerInfo& MomentumInfo() {
  static const OptimizerInfo info = {
      /*name=*/"momentum",
      /*op_name=*/"Momentum",
      /*slots=*/{"momenta"},
      /*hyperparameters=*/{"momentum", "use_nesterov"},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateMomentum)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
