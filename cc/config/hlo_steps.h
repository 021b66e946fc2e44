// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From an xla.HloModuleProto to the elementwise steps that it takes.
#ifndef TPULESS_CC_CONFIG_HLO_STEPS_H_
#define TPULESS_CC_CONFIG_HLO_STEPS_H_

#include <string>
#include <vector>

#include "cc/engine/status.h"
#include "xla/service/hlo.pb.h"

namespace tpuless {

// Operands and outputs are values: the inputs come first, gradient, weights,
// slots and the learning rate if there is one, then one value a step.
struct HloStep {
  std::string opcode;                // Elementwise, or "constant".
  bool is_predicate = false;         // Whether it gives a bool, not a float.
  std::vector<int> operands;         // Each of an earlier value.
  std::string comparison_direction;  // Of a comparison: "EQ", "NE", ...
  float constant = 0;                // Of a constant; 0 or 1 for a predicate.
};

struct HloSteps {
  int num_slots = 0;
  bool takes_learning_rate = false;
  std::vector<HloStep> steps;
  std::vector<int> outputs;  // [1 + num_slots].

  int num_inputs() const { return 2 + num_slots + takes_learning_rate; }
};

// Checks all that a user_defined_program must be. Calls are expanded, and what
// only moves a value (a reshape, a broadcast of the scalar) leaves no step.
Result<HloSteps> ReadHloSteps(const xla::HloModuleProto& program);

}  // namespace tpuless

#endif  // TPULESS_CC_CONFIG_HLO_STEPS_H_
