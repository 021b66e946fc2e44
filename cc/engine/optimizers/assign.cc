// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Assign: the gradient is the row's new value.
//
//   w = g                  without accumulation, the last contribution

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/assign.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct Assign {
  static constexpr int kNumSlots = 0;
  explicit Assign(const Hyperparameters&) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs&, V g, V& w, V*) const {
    w = g;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(Assign);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateAssign);

const OptimizerInfo& AssignInfo() {
  static const OptimizerInfo info = {
      /*name=*/"assign",
      /*op_name=*/"",
      /*slots=*/{},
      /*hyperparameters=*/{},
      /*create=*/[](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateAssign)(hyperparameters);
      }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
