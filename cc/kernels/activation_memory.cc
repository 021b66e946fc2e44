// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Memory of large activations, which serves again step after step.
#include "cc/kernels/activation_memory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/tensor.h"

namespace tpuless {
namespace {

// What the C library may keep for itself when it is freed.
constexpr int64_t kSmallBytes = 1 << 19;

}  // namespace

ActivationMemory& ActivationMemory::Get() {
  static ActivationMemory* const memory = new ActivationMemory;
  return *memory;
}

absl::Status ActivationMemory::AllocateOutput(
    tensorflow::OpKernelContext* ctx, int i,
    const tensorflow::TensorShape& shape, tensorflow::Tensor** output) {
  if (shape.num_elements() * static_cast<int64_t>(sizeof(float)) <=
      kSmallBytes) {
    return ctx->allocate_output(i, shape, output);
  }
  tensorflow::Tensor tensor(&Get(), tensorflow::DT_FLOAT, shape);
  if (!tensor.IsInitialized()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("output ", i, ": the system has no memory for shape ",
                     shape.DebugString()));
  }
  ctx->set_output(i, std::move(tensor));
  *output = ctx->mutable_output(i);
  return absl::OkStatus();
}

void* ActivationMemory::AllocateRaw(size_t /*alignment*/, size_t num_bytes) {
  Block block;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // The last one freed is the most likely one in the caches.
    const auto idle = std::find_if(
        idle_.rbegin(), idle_.rend(),
        [num_bytes](const Block& each) { return each.num_bytes == num_bytes; });
    if (idle != idle_.rend()) {
      block = std::move(*idle);
      idle_.erase(std::next(idle).base());
      idle_bytes_ -= static_cast<int64_t>(num_bytes);
    }
  }
  if (block.memory == nullptr) {
    block.num_bytes = num_bytes;
    block.memory = std::make_unique<Memory>();
    // Page-aligned, which is more than any tensor asks for.
    if (!block.memory->Allocate((num_bytes + 3) / sizeof(float))) {
      return nullptr;
    }
  }
  void* const data = block.memory->data();
  const std::lock_guard<std::mutex> lock(mutex_);
  used_[data] = std::move(block);
  return data;
}

void ActivationMemory::DeallocateRaw(void* data) {
  std::vector<Block> released;  // Unmapped without the lock.
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto used = used_.find(data);
  idle_bytes_ += static_cast<int64_t>(used->second.num_bytes);
  idle_.push_back(std::move(used->second));
  used_.erase(used);
  // The oldest ones first: of a size that nobody asks for any more.
  auto last = idle_.begin();
  for (; idle_bytes_ > most_idle_ && last != idle_.end(); ++last) {
    idle_bytes_ -= static_cast<int64_t>(last->num_bytes);
    released.push_back(std::move(*last));
  }
  idle_.erase(idle_.begin(), last);
}

void ActivationMemory::ReleaseIdle() {
  std::vector<Block> released;
  const std::lock_guard<std::mutex> lock(mutex_);
  released.swap(idle_);
  idle_bytes_ = 0;
}

}  // namespace tpuless
