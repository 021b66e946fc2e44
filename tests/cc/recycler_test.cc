// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/engine/recycler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace tpuless {
namespace {

// Counts those that live.
struct Counted {
  Counted() { ++num_alive; }
  ~Counted() { --num_alive; }
  int value = 0;
  static inline int num_alive = 0;
};

TEST(RecyclerTest, AReturnedObjectServesAgainAsItWasLeft) {
  Recycler<Counted> recycler(1);
  const Counted* first = recycler.Take().get();
  recycler.Take()->value = 7;

  const auto again = recycler.Take();

  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(again->value, 7);
}

TEST(RecyclerTest, ObjectsInUseAreNotHandedOut) {
  Recycler<Counted> recycler(2);
  const auto first = recycler.Take();
  const auto second = recycler.Take();

  EXPECT_NE(first, second);
}

TEST(RecyclerTest, KeepsNoMoreThanItMay) {
  {
    Recycler<Counted> recycler(2);
    std::vector<std::shared_ptr<Counted>> taken;
    for (int i = 0; i < 5; ++i) taken.push_back(recycler.Take());
    EXPECT_EQ(Counted::num_alive, 5);
    taken.clear();
    EXPECT_EQ(Counted::num_alive, 2);
  }
  EXPECT_EQ(Counted::num_alive, 0);
}

TEST(RecyclerTest, ObjectsMayOutliveIt) {
  std::shared_ptr<Counted> object;
  {
    Recycler<Counted> recycler(1);
    object = recycler.Take();
  }
  object->value = 1;
  object = nullptr;
  EXPECT_EQ(Counted::num_alive, 0);
}

TEST(RecyclerTest, ThreadsNeverShareAnObject) {
  struct Owner {
    std::atomic<bool> used{false};
  };
  Recycler<Owner> recycler(2);
  std::atomic<int> num_shared{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const auto object = recycler.Take();
        if (object->used.exchange(true)) ++num_shared;
        object->used = false;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_shared, 0);
}

}  // namespace
}  // namespace tpuless
