// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer whose formula is a program of the configuration.
#ifndef TPULESS_CC_ENGINE_OPTIMIZERS_USER_DEFINED_PROGRAM_H_
#define TPULESS_CC_ENGINE_OPTIMIZERS_USER_DEFINED_PROGRAM_H_

#include <memory>

#include "cc/engine/optimizer.h"
#include "cc/engine/row_program.h"

namespace tpuless {

// Describes a user_defined_program; its slots are Slot_0, Slot_1, ...
std::shared_ptr<const OptimizerInfo> UserDefinedProgramInfo(
    std::shared_ptr<const RowProgram> program);

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_OPTIMIZERS_USER_DEFINED_PROGRAM_H_
