// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Tells the engine when a TensorFlow step that used it has failed.
#ifndef TPULESS_CC_KERNELS_PROGRAM_WATCH_H_
#define TPULESS_CC_KERNELS_PROGRAM_WATCH_H_

#include <cstdint>
#include <memory>

#include "cc/engine/engine.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tpuless {

// Returns the Call::program of the TensorFlow step that `ctx` belongs to; 0
// for an op that is run eagerly.
int64_t ProgramOf(tensorflow::OpKernelContext* ctx);

// Calls Engine::GiveUpProgram() if the TensorFlow step (one run of a session
// or function) that `ctx` belongs to fails, at whatever op: a model that fails
// between Recv and Send would leave the other cores waiting.
void WatchProgram(tensorflow::OpKernelContext* ctx,
                  const std::shared_ptr<Engine>& engine);

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_PROGRAM_WATCH_H_
