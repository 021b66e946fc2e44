// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From a user_defined_program's HLO to an update rule that the engine runs.
#ifndef TPULESS_CC_CONFIG_HLO_PROGRAM_H_
#define TPULESS_CC_CONFIG_HLO_PROGRAM_H_

#include <memory>

#include "cc/engine/row_program.h"
#include "cc/engine/status.h"
#include "xla/service/hlo.pb.h"

namespace tpuless {

// Checks `program`, which takes gradient, weights, up to 7 slots and, if its
// last parameter is a scalar, the learning rate, and returns a tuple of
// weights and slots; all but the scalar are f32[1,1]. Errors do not name the
// table.
Result<std::shared_ptr<const RowProgram>> ParseHloProgram(
    const xla::HloModuleProto& program);

}  // namespace tpuless

#endif  // TPULESS_CC_CONFIG_HLO_PROGRAM_H_
