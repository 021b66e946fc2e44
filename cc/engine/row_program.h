// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A user's own update rule, which the engine runs without knowing its form.
#ifndef TPULESS_CC_ENGINE_ROW_PROGRAM_H_
#define TPULESS_CC_ENGINE_ROW_PROGRAM_H_

#include <cstdint>

namespace tpuless {

// Elementwise function of gradient, weights and slot variables. Immutable and
// thread safe.
class RowProgram {
 public:
  virtual ~RowProgram() = default;

  virtual int num_slots() const = 0;

  // Computes `size` elements. `inputs` are gradient, weights, slots...;
  // `outputs` are weights, slots..., which may not overlap the inputs.
  virtual void Run(int64_t size, float learning_rate,
                   const float* const* inputs, float* const* outputs) const = 0;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_ROW_PROGRAM_H_
