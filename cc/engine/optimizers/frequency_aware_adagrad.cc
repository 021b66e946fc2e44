// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Adagrad whose learning rate grows for rows that come up rarely, after the
// comment in TensorFlow's optimization_parameters.proto. Experimental: taken by
// the letter, the comment leaves the slot c and the learning rate unused and
// squares the gradient, which we read as slips.
//
//   c += 1
//   a = max(accumulator_decay * a + g^2, initial_accumulator_value)
//   s = min((step / c)^probability_exponent, max_lr_multiplier)
//   u = g * s / sqrt(a)                          0 / 0 counts as 0
//   u += l1 * sign(w)                            if l1 > 0
//   u += l2 * w                                  if l2 > 0
//   w -= lr * u
//
// step is the dynamic input step_counter, l1 and l2 are the regularization
// strengths.

#include "cc/engine/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cc/engine/optimizers/frequency_aware_adagrad.cc"
#include "hwy/foreach_target.h"
//
#include "cc/engine/optimizers/optimizer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tpuless {
namespace HWY_NAMESPACE {

struct FrequencyAwareAdagrad {
  static constexpr int kNumSlots = 2;
  explicit FrequencyAwareAdagrad(const Hyperparameters& hyperparameters)
      : l1(hyperparameters["l1_regularization_strength"]),
        l2(hyperparameters["l2_regularization_strength"]),
        probability_exponent(hyperparameters["probability_exponent"]),
        max_lr_multiplier(hyperparameters["max_lr_multiplier"]),
        accumulator_decay(hyperparameters["accumulator_decay"]),
        initial_accumulator_value(
            hyperparameters["initial_accumulator_value"]) {}
  template <class V>
  HWY_INLINE void Update(const StepInputs& in, V g, V& w, V* slot) const {
    V& a = slot[0];
    V& c = slot[1];
    c += V(1.0f);
    a = V(accumulator_decay) * a + g * g;
    a = SelectIfLess(a, initial_accumulator_value, initial_accumulator_value,
                     a);
    V scale = Power(V(in.dynamic_input) / c, probability_exponent);
    scale = SelectIfLess(max_lr_multiplier, scale, max_lr_multiplier, scale);
    V u = DivideOrZero(g * scale, Sqrt(a));
    if (l1 > 0) u += V(l1) * Sign(w);
    if (l2 > 0) u += V(l2) * w;
    w -= V(in.learning_rate) * u;
  }
  float l1;
  float l2;
  float probability_exponent;
  float max_lr_multiplier;
  float accumulator_decay;
  float initial_accumulator_value;
};

}  // namespace HWY_NAMESPACE
}  // namespace tpuless
HWY_AFTER_NAMESPACE();
TPULESS_COMPILE_OPTIMIZER(FrequencyAwareAdagrad);

#if HWY_ONCE
#include "cc/engine/optimizers/registry.h"

namespace tpuless {
HWY_EXPORT(CreateFrequencyAwareAdagrad);

const OptimizerInfo& FrequencyAwareAdagradInfo() {
  static const OptimizerInfo info = {
      /*name=*/"frequency_aware_adagrad",
      /*op_name=*/"",
      /*slots=*/{"accumulators", "counters"},
      /*hyperparameters=*/
      {"l1_regularization_strength", "l2_regularization_strength",
       "probability_exponent", "max_lr_multiplier", "accumulator_decay",
       "initial_accumulator_value"},
      /*create=*/
      [](const Hyperparameters& hyperparameters) {
        return HWY_DYNAMIC_DISPATCH(CreateFrequencyAwareAdagrad)(
            hyperparameters);
      },
      /*check=*/nullptr,
      /*non_lazy=*/"",
      /*dynamic_input=*/"step_counter",
      /*is_experimental=*/[](const Hyperparameters&) { return true; }};
  return info;
}

}  // namespace tpuless
#endif  // HWY_ONCE
