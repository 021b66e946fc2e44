// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What all kernels share: one function, one status; calls that may wait.
#ifndef TPULESS_CC_KERNELS_KERNEL_H_
#define TPULESS_CC_KERNELS_KERNEL_H_

#include <functional>
#include <memory>

#include "cc/engine/engine.h"
#include "cc/engine/status.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tpuless {

// A kernel that waits for nothing.
class Kernel : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(tensorflow::OpKernelContext* ctx) final;

 private:
  virtual Status Run(tensorflow::OpKernelContext* ctx) = 0;
};

// A kernel that makes one engine call, which may wait.
class WaitingKernel : public tensorflow::AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(tensorflow::OpKernelContext* ctx, DoneCallback done) final;

 protected:
  // What Prepare() leaves to do.
  struct Work {
    std::shared_ptr<Engine> engine;
    std::function<void(Call)> start;
  };

 private:
  // Checks all that needs no waiting.
  virtual Result<Work> Prepare(tensorflow::OpKernelContext* ctx) = 0;
};

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_KERNEL_H_
