// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The table of all optimizers.
#include "cc/engine/optimizers/registry.h"

namespace tpuless {

const std::vector<const OptimizerInfo*>& Optimizers() {
#define TPULESS_OPTIMIZER_INFO(Algorithm) &Algorithm##Info(),
  static const std::vector<const OptimizerInfo*> optimizers = {
      TPULESS_OPTIMIZERS(TPULESS_OPTIMIZER_INFO)};
#undef TPULESS_OPTIMIZER_INFO
  return optimizers;
}

const OptimizerInfo* FindOptimizer(const std::string& name) {
  for (const OptimizerInfo* optimizer : Optimizers()) {
    if (optimizer->name == name) return optimizer;
  }
  return nullptr;
}

const std::vector<RefusedOptimizer>& RefusedOptimizers() {
  static const std::vector<RefusedOptimizer> refused = {
      {"mdl_adagrad_light", "MDLAdagradLight",
       "no public text gives its formula"}};
  return refused;
}

}  // namespace tpuless
