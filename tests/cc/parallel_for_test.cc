// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/engine/parallel_for.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tpuless {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the items of each task, given the items' costs.
std::vector<std::vector<int64_t>> TasksByCost(const std::vector<int64_t>& costs,
                                              int64_t least_cost) {
  std::vector<std::vector<int64_t>> tasks;
  const ParallelFor parallel_for(
      2, [&](int64_t num_tasks, const ParallelFor::Task& task) {
        for (int64_t i = 0; i < num_tasks; ++i) {
          tasks.emplace_back();
          task(i);
        }
      });
  ForEachByCost(
      static_cast<int64_t>(costs.size()), [&](int64_t i) { return costs[i]; },
      least_cost, parallel_for, [&](int64_t i) { tasks.back().push_back(i); });
  return tasks;
}

TEST(ForEachByCostTest, NeighboursAreATaskUntilTheyCostEnough) {
  EXPECT_THAT(TasksByCost({1, 2, 3, 9, 1, 5, 1}, 6),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3),
                          ElementsAre(4, 5), ElementsAre(6)));
}

TEST(ForEachByCostTest, LittleIsOneTask) {
  EXPECT_THAT(TasksByCost({1, 0, 2}, 6), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(ForEachByCostTest, NothingIsNoTask) {
  EXPECT_THAT(TasksByCost({}, 6), IsEmpty());
}

}  // namespace
}  // namespace tpuless
