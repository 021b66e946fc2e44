// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Warns of a load that FTRL undoes.
#ifndef TPULESS_CC_KERNELS_FTRL_WARNING_H_
#define TPULESS_CC_KERNELS_FTRL_WARNING_H_

#include <vector>

#include "cc/engine/engine_config.h"
#include "cc/engine/tensor_view.h"

namespace tpuless {

// FTRL computes weights from its slots alone: logs a warning if weights other
// than 0 were loaded with linears of 0. `variables` must be those of `table`.
void WarnOfLostWeights(const TableConfig& table,
                       const std::vector<TensorView>& variables);

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_FTRL_WARNING_H_
