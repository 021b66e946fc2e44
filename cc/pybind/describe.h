// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What Python may know of optimizers, configurations and statistics.
#ifndef TPULESS_CC_PYBIND_DESCRIBE_H_
#define TPULESS_CC_PYBIND_DESCRIBE_H_

#include <pybind11/pybind11.h>

#include "cc/engine/engine.h"
#include "cc/engine/engine_config.h"

namespace tpuless {

// Returns a dict of name, op_name, slots and hyperparameters for each
// optimizer of this build.
pybind11::list DescribeOptimizers();
pybind11::list DescribeRefusedOptimizers();

// Returns a checked configuration as a dict; its keys are in _engine.pyi.
pybind11::dict DescribeConfig(const EngineConfig& config);

// Returns the four outputs of the op TpulessStatistics.
pybind11::tuple DescribeStatistics(const Statistics& statistics);

}  // namespace tpuless

#endif  // TPULESS_CC_PYBIND_DESCRIBE_H_
