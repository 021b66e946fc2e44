// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Lends the engine the threads that TensorFlow has for work within one op.
#ifndef TPULESS_CC_KERNELS_INTRA_OP_THREADS_H_
#define TPULESS_CC_KERNELS_INTRA_OP_THREADS_H_

#include "cc/engine/parallel_for.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tpuless {

// The calling thread takes part and waits for no thread of the pool to become
// free, so that it may itself be one of the pool.
ParallelFor IntraOpThreads(tensorflow::OpKernelContext* ctx);

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_INTRA_OP_THREADS_H_
