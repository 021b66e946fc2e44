// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Frequency estimator: the table holds the running mean of the number of steps
// between a row's lookups. Formula of TensorFlow's
// optimization_parameters.proto; the learning rate is the global step, the
// gradient is not used, and the dimension is 1.
//
//   delta = step - last_hit_step
//   capped = min(delta, max_delta)
//   w = delta >= outlier_threshold * w ? capped : w * (1 - tau) + capped * tau
//   last_hit_step = step

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/frequency_estimator.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct FrequencyEstimator {
  static constexpr int kNumSlots = 1;
  explicit FrequencyEstimator(const Hyperparameters& hyperparameters)
      : tau(hyperparameters["tau"]),
        max_delta(hyperparameters["max_delta"]),
        outlier_threshold(hyperparameters["outlier_threshold"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V, V& w, V* slot) const {
    const V step = in.learning_rate;
    const V delta = step - slot[0];
    const V capped = SelectIfLess(max_delta, delta, max_delta, delta);
    w = SelectIfAtMost(V(outlier_threshold) * w, delta, capped,
                       w * V(1 - tau) + capped * V(tau));
    slot[0] = step;
  }
  float tau, max_delta, outlier_threshold;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(FrequencyEstimator);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateFrequencyEstimator);

static Status CheckDimension(const Hyperparameters&, int64_t dimension) {
  if (dimension == 1) return Status();
  return InvalidArgument(
      "dimension must be 1 for optimizer 'frequency_estimator', got ",
      dimension);
}

const OptimizerInfo& FrequencyEstimatorInfo() {
  static const OptimizerInfo info = {
      /*name=*/"frequency_estimator",
      /*op_name=*/"FrequencyEstimator",
      /*slots=*/{"last_hit_step"},
      /*hyperparameters=*/
      {"tau", "max_delta", "outlier_threshold", "weight_exponent"},
      /*create=*/
      [](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateFrequencyEstimator)(hyperparameters);
      },
      /*check=*/CheckDimension};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
