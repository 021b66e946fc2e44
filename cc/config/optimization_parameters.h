// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From tensorflow.tpu.OptimizationParameters to a table's optimizer.
#ifndef TPULESS_CC_CONFIG_OPTIMIZATION_PARAMETERS_H_
#define TPULESS_CC_CONFIG_OPTIMIZATION_PARAMETERS_H_

#include "cc/engine/engine_config.h"
#include "cc/engine/status.h"
#include "tensorflow/core/protobuf/tpu/optimization_parameters.pb.h"

namespace tpuless {

// Fills in all of `table` that has to do with its updates. The optimizer and
// its hyperparameters are found by reflection: which ones there are depends
// on the version of TensorFlow.
Status SetOptimizationParameters(
    const tensorflow::tpu::OptimizationParameters& proto, TableConfig& table);

}  // namespace tpuless

#endif  // TPULESS_CC_CONFIG_OPTIMIZATION_PARAMETERS_H_
