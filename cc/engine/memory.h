// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Large blocks of memory, and how much of it there is.
#ifndef TPULESS_CC_ENGINE_MEMORY_H_
#define TPULESS_CC_ENGINE_MEMORY_H_

#include <cstdint>

namespace tpuless {

// A page-aligned block of floats that reads as 0 until it is written; pages
// are claimed as they are written, huge ones where the system has them.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  // Returns whether the system gave the room.
  bool Allocate(int64_t num_floats);

  bool allocated() const { return data_ != nullptr; }
  float* data() { return data_; }
  const float* data() const { return data_; }

 private:
  float* data_ = nullptr;
  int64_t num_bytes_ = 0;
};

// Returns the bytes that this process could ever hold: the machine's memory
// and swap space, or the limit of its control group if that is less.
int64_t MemoryLimit();

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_MEMORY_H_
