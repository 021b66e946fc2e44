// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Warns of a load that FTRL undoes.
#include "cc/kernels/ftrl_warning.h"

#include <algorithm>

#include "tensorflow/core/platform/logging.h"

namespace tpuless {
namespace {

bool IsZero(const TensorView& view) {
  const float* values = static_cast<const float*>(view.data);
  return std::all_of(values, values + view.size(),
                     [](float value) { return value == 0; });
}

}  // namespace

void WarnOfLostWeights(const TableConfig& table,
                       const std::vector<TensorView>& variables) {
  if (table.optimizer != "ftrl") return;
  // Weights, accumulators, linears.
  if (IsZero(variables[2]) && !IsZero(variables[0])) {
    LOG(WARNING) << "table '" << table.name
                 << "': weights loaded with linears of 0 are lost when FTRL "
                    "first updates their row";
  }
}

}  // namespace tpuless
