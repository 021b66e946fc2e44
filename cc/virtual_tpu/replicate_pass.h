// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Turns programs for replicas on TPU cores into graphs that TensorFlow runs.
#ifndef TPULESS_CC_VIRTUAL_TPU_REPLICATE_PASS_H_
#define TPULESS_CC_VIRTUAL_TPU_REPLICATE_PASS_H_

namespace tpuless {

// Adds the pass to TensorFlow's, before placement.
void RegisterReplicatePass();

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_REPLICATE_PASS_H_
