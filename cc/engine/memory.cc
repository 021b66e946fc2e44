// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Memory from the system's pages (Linux).
#include "cc/engine/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace tpuless {
namespace {

constexpr int64_t kHugePage = 2 << 20;

// Returns a line "Key:  123 kB" of /proc/meminfo in bytes, or 0.
int64_t MemInfo(const std::string& key) {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (int64_t value; file >> name >> value; std::getline(file, unit)) {
    if (name == key + ":") return value * 1024;
  }
  return 0;
}

// Returns the limit in a control group's file, or the largest number.
int64_t ControlGroupLimit(const char* path) {
  std::ifstream file(path);
  int64_t limit = 0;
  return file >> limit && limit > 0 ? limit
                                    : std::numeric_limits<int64_t>::max();
}

}  // namespace

Memory::~Memory() {
  if (data_ != nullptr) munmap(data_, num_bytes_);
}

bool Memory::Allocate(int64_t num_floats) {
  const int64_t num_bytes = num_floats * static_cast<int64_t>(sizeof(float));
  void* data = mmap(nullptr, num_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return false;
  // Advice only; small blocks would waste most of a huge page.
  if (num_bytes >= 2 * kHugePage) madvise(data, num_bytes, MADV_HUGEPAGE);
  data_ = static_cast<float*>(data);
  num_bytes_ = num_bytes;
  return true;
}

int64_t MemoryLimit() {
  const int64_t machine = MemInfo("MemTotal") + MemInfo("SwapTotal");
  return std::min(
      {machine > 0 ? machine
                   : sysconf(_SC_PHYS_PAGES) *
                         static_cast<int64_t>(sysconf(_SC_PAGE_SIZE)),
       ControlGroupLimit("/sys/fs/cgroup/memory.max"),
       ControlGroupLimit("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

}  // namespace tpuless
