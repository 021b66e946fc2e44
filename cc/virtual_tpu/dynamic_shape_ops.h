// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Ops by which TPU programs handle batches of varying size.
#ifndef TPULESS_CC_VIRTUAL_TPU_DYNAMIC_SHAPE_OPS_H_
#define TPULESS_CC_VIRTUAL_TPU_DYNAMIC_SHAPE_OPS_H_

namespace tpuless {

// Gives XlaSetDynamicDimensionSize its CPU kernel.
void RegisterDynamicShapeKernels();

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_DYNAMIC_SHAPE_OPS_H_
