// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Memory of large activations, which serves again step after step.
#ifndef TPULESS_CC_KERNELS_ACTIVATION_MEMORY_H_
#define TPULESS_CC_KERNELS_ACTIVATION_MEMORY_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/engine/memory.h"
#include "tensorflow/core/framework/allocator.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace tpuless {

// Gives tensors blocks that tensors of the same size left behind. TensorFlow's
// allocator would return them to the system after each step, which then clears
// every page of the next step's. Thread safe; lives until the process ends, as
// tensors outlive all else.
class ActivationMemory final : public tensorflow::Allocator {
 public:
  static ActivationMemory& Get();

  // Allocates output `i`: with TensorFlow's allocator if it is small.
  static absl::Status AllocateOutput(tensorflow::OpKernelContext* ctx, int i,
                                     const tensorflow::TensorShape& shape,
                                     tensorflow::Tensor** output);

  std::string Name() override { return "tpuless_activations"; }
  void* AllocateRaw(size_t alignment, size_t num_bytes) override;
  void DeallocateRaw(void* data) override;

  // Returns the blocks that no tensor uses to the system.
  void ReleaseIdle();

 private:
  struct Block {
    size_t num_bytes = 0;
    std::unique_ptr<Memory> memory;
  };

  // More idle bytes than that go back to the system.
  const int64_t most_idle_ = MemoryLimit() / 64;

  std::mutex mutex_;
  std::unordered_map<void*, Block> used_;
  std::vector<Block> idle_;
  int64_t idle_bytes_ = 0;
};

}  // namespace tpuless

#endif  // TPULESS_CC_KERNELS_ACTIVATION_MEMORY_H_
