// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent.
//
//   w -= lr * g

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/stochastic_gradient_descent.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct StochasticGradientDescent {
  static constexpr int kNumSlots = 0;
  explicit StochasticGradientDescent(const Hyperparameters&) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V*) const {
    w -= V(in.learning_rate) * g;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(StochasticGradientDescent);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateStochasticGradientDescent);

const OptimizerInfo& StochasticGradientDescentInfo() {
  static const OptimizerInfo info = {
      /*name=*/"stochastic_gradient_descent",
      /*op_name=*/"StochasticGradientDescent",
      /*slots=*/{},
      /*hyperparameters=*/{},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateStochasticGradientDescent)(
            hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
