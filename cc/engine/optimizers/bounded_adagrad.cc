// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Adagrad with bounds, after the comment in TensorFlow's
// optimization_parameters.proto. A bound of 0 is none. That max_var_update
// bounds the update of the variable is our reading of its name (the comment
// says "to clip the gradient"), hence experimental.
//
//   n = min(a + g^2, max_accumulator)
//   u = lr * g / sqrt(a)                         0 / 0 counts as 0
//   u = lr * g / sqrt(n)                         if update_accumulator_first
//   w -= clamp(u, -max_var_update, max_var_update)
//   a = n

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/bounded_adagrad.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct BoundedAdagrad {
  static constexpr int kNumSlots = 1;
  explicit BoundedAdagrad(const Hyperparameters& hyperparameters)
      : max_var_update(hyperparameters["max_var_update"]),
        max_accumulator(hyperparameters["max_accumulator"]),
        update_accumulator_first(hyperparameters["update_accumulator_first"] !=
                                 0) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& a = slot[0];
    const V old_a = a;
    a += g * g;
    if (max_accumulator > 0) {
      a = SelectIfLess(max_accumulator, a, max_accumulator, a);
    }
    V u = V(in.learning_rate) *
          DivideOrZero(g, Sqrt(update_accumulator_first ? a : old_a));
    if (max_var_update > 0) u = Clamp(u, -max_var_update, max_var_update);
    w -= u;
  }
  float max_var_update, max_accumulator;
  bool update_accumulator_first;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(BoundedAdagrad);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateBoundedAdagrad);

const OptimizerInfo& BoundedAdagradInfo() {
  static const OptimizerInfo info = {
      /*name=*/"bounded_adagrad",
      /*op_name=*/"",
      /*slots=*/{"accumulators"},
      /*hyperparameters=*/
      {"update_accumulator_first", "max_var_update", "max_accumulator"},
      /*create=*/
      [](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateBoundedAdagrad)(hyperparameters);
      },
      /*check=*/nullptr,
      /*non_lazy=*/"",
      /*dynamic_input=*/"",
      /*is_experimental=*/
      [](const Hyperparameters& hyperparameters) {
        return hyperparameters["max_var_update"] != 0;
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
