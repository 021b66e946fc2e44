// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/engine/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tpuless {
namespace {

using ::testing::Each;

// Lets a thread pass once as many have come as are expected.
class Meeting {
 public:
  explicit Meeting(int expected) : missing_(expected) {}

  void Come() {
    std::unique_lock<std::mutex> lock(mutex_);
    --missing_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return missing_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int missing_;
};

// Returns how often each task ran.
std::vector<int> RunTasks(const ParallelFor& parallel_for, int64_t num_tasks) {
  std::vector<std::atomic<int>> runs(num_tasks);
  parallel_for(num_tasks, [&runs](int64_t i) { ++runs[i]; });
  return {runs.begin(), runs.end()};
}

TEST(ThreadPoolTest, EachTaskRunsOnce) {
  for (int num_threads : {1, 2, 3, 8}) {
    ThreadPool pool(num_threads);
    for (int64_t num_tasks : {0, 1, 2, 7, 1000}) {
      EXPECT_THAT(RunTasks(pool.parallel_for(), num_tasks), Each(1))
          << num_threads << " threads, " << num_tasks << " tasks";
    }
  }
}

TEST(ThreadPoolTest, CountsTheCallingThread) {
  ThreadPool pool(3);

  EXPECT_EQ(pool.parallel_for().num_threads(), 3);
}

TEST(ThreadPoolTest, TheCallingThreadTakesPart) {
  ThreadPool pool(4);
  Meeting meeting(4);
  std::mutex mutex;
  std::set<std::thread::id> ids;

  // Nobody gets past his task before all four threads have one.
  pool.parallel_for()(4, [&](int64_t) {
    meeting.Come();
    std::lock_guard<std::mutex> lock(mutex);
    ids.insert(std::this_thread::get_id());
  });

  EXPECT_EQ(ids.size(), 4u);
  EXPECT_EQ(ids.count(std::this_thread::get_id()), 1u);
}

TEST(ThreadPoolTest, OneThreadIsTheCallingOne) {
  ThreadPool pool(1);
  std::set<std::thread::id> ids;

  pool.parallel_for()(
      5, [&ids](int64_t) { ids.insert(std::this_thread::get_id()); });

  EXPECT_EQ(ids, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(ThreadPoolTest, SeveralThreadsMayCallAtOnce) {
  ThreadPool pool(3);
  std::vector<int> wrong(4);
  std::vector<std::thread> callers;

  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&pool, &wrong, caller] {
      for (int round = 0; round < 200; ++round) {
        const std::vector<int> runs = RunTasks(pool.parallel_for(), 20);
        wrong[caller] += runs != std::vector<int>(20, 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();

  EXPECT_THAT(wrong, Each(0));
}

TEST(ThreadPoolTest, ATaskMayRunTasks) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> runs(6);

  pool.parallel_for()(6, [&](int64_t i) {
    pool.parallel_for()(10, [&runs, i](int64_t) { ++runs[i]; });
  });

  EXPECT_THAT(std::vector<int>(runs.begin(), runs.end()), Each(10));
}

TEST(ThreadPoolTest, WaitsForTasksThatOtherThreadsTook) {
  ThreadPool pool(2);
  Meeting meeting(2);
  const std::thread::id caller = std::this_thread::get_id();
  bool other_is_done = false;

  // The calling thread finds nothing left to take, while the other works on.
  pool.parallel_for()(2, [&](int64_t) {
    meeting.Come();
    if (std::this_thread::get_id() == caller) return;
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    other_is_done = true;
  });

  EXPECT_TRUE(other_is_done);
}

}  // namespace
}  // namespace tpuless
