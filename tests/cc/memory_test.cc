// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Blocks of memory, and the limit of it.
#include "cc/engine/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace tpuless {
namespace {

TEST(MemoryTest, HasNothingAtFirst) {
  const Memory memory;

  EXPECT_FALSE(memory.allocated());
  EXPECT_EQ(memory.data(), nullptr);
}

TEST(MemoryTest, ReadsAsZeroUntilItIsWritten) {
  // Less and more than what huge pages are asked for.
  for (const int64_t num_floats : {1, 1000, 3 << 20}) {
    Memory memory;
    ASSERT_TRUE(memory.Allocate(num_floats));

    EXPECT_TRUE(memory.allocated());
    EXPECT_TRUE(std::all_of(memory.data(), memory.data() + num_floats,
                            [](float x) { return x == 0; }));
  }
}

TEST(MemoryTest, KeepsWhatIsWritten) {
  Memory memory;
  ASSERT_TRUE(memory.Allocate(3 << 20));

  memory.data()[0] = 1;
  memory.data()[(3 << 20) - 1] = 2;

  EXPECT_EQ(memory.data()[0], 1);
  EXPECT_EQ(memory.data()[(3 << 20) - 1], 2);
}

TEST(MemoryTest, IsAlignedToPages) {
  Memory memory;
  ASSERT_TRUE(memory.Allocate(1));

  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 4096, 0u);
}

TEST(MemoryTest, MoreThanTheAddressSpaceIsRefused) {
  Memory memory;

  EXPECT_FALSE(memory.Allocate(int64_t{1} << 60));
  EXPECT_FALSE(memory.allocated());
}

TEST(MemoryTest, LimitIsThatOfARealMachine) {
  EXPECT_GT(MemoryLimit(), int64_t{1} << 26);
  EXPECT_LT(MemoryLimit(), int64_t{1} << 50);
}

}  // namespace
}  // namespace tpuless
