// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Many threads at once, mostly for ThreadSanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "cc/engine/thread_pool.h"
#include "tests/cc/counting_host.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

constexpr int64_t kNumCores = 4;
constexpr int kNumSteps = 300;

class StressTest : public ::testing::TestWithParam<bool> {
 protected:
  // Calls work(i) for `count` numbers i on a thread of its own.
  void Repeat(int count, std::function<void(int)> work) {
    workers_.emplace_back([count, work = std::move(work)] {
      for (int i = 0; i < count; ++i) work(i);
    });
  }
  // Calls work(i) on a thread of its own while those of Repeat() run.
  void Disturb(std::function<void(int)> work) {
    disturbers_.emplace_back([this, work = std::move(work)] {
      for (int i = 0; !done_; ++i) {
        work(i);
        std::this_thread::yield();
      }
    });
  }
  void Join() {
    for (std::thread& thread : workers_) thread.join();
    done_ = true;
    for (std::thread& thread : disturbers_) thread.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::vector<std::thread> workers_;
  std::vector<std::thread> disturbers_;
};

TEST_P(StressTest, EveryStepIsAppliedOnce) {
  EngineOptions options;
  options.queue_limit = 2;
  CountingHost host(kNumCores, GetParam(), options);
  ThreadPool pool(3);
  for (int64_t core = 0; core < kNumCores; ++core) {
    Repeat(kNumSteps, [&host, core](int) {
      EXPECT_THAT(host.Enqueue(core).Wait(), IsOk());
    });
    Repeat(kNumSteps, [&host, &pool, core](int) {
      const PendingCall receive = host.Receive(core, 0, pool.parallel_for());
      EXPECT_THAT(host.Send(core).Wait(), IsOk());
      EXPECT_THAT(receive.Wait(), IsOk());
    });
  }
  Disturb([&](int) { host.Count(); });
  Disturb([&](int) { host.engine().statistics(); });
  Disturb([&](int) { host.engine().SweepCancelled(); });
  Disturb([&](int i) {
    EngineOptions changed = options;
    changed.queue_limit = 1 + i % 3;
    host.engine().SetOptions(changed);
  });
  Join();

  EXPECT_EQ(host.Count(), kNumSteps * kNumCores);
  EXPECT_EQ(host.engine().statistics().steps, kNumSteps);
}

TEST_P(StressTest, StepsThatAreGivenUpAddNothing) {
  EngineOptions options = CountingHost::Timeout(.005);
  options.queue_limit = 4;
  CountingHost host(kNumCores, GetParam(), options);
  ThreadPool pool(3);
  for (int64_t core = 0; core < kNumCores; ++core) {
    Repeat(80, [&host, &pool, core](int i) {
      // Whatever these say: they end.
      const int64_t program = i * kNumCores + core + 1;
      const bool inference = i % 7 == 6;
      host.Enqueue(core, inference ? "inference" : "train", program).End();
      host.Receive(core, program, pool.parallel_for()).End();
      if (!inference) host.Send(core, -1, program).End();
      if (i % 11 == 10) {
        host.engine().GiveUpProgram(
            program, Status(StatusCode::kInternal, "the program failed"));
      }
      if (i % 13 == 12) host.EnqueueBadId(core).End();
      if (i % 17 == 16) host.SendTooFew(core).End();
    });
  }
  Disturb([&](int i) {
    if (i % 16 == 0) static_cast<void>(host.engine().AbandonStep());
  });
  Disturb([&](int) {
    const PendingCall receive = host.Receive(0);
    *receive.cancelled = true;
    host.engine().SweepCancelled();
    receive.End();
  });
  Disturb([&](int) { host.Count(); });
  Join();

  EXPECT_EQ(host.Count(), host.engine().statistics().steps * kNumCores);
}

INSTANTIATE_TEST_SUITE_P(Pipelined, StressTest, ::testing::Bool());

TEST(StressShutdownTest, EndsEveryCallOnce) {
  for (int round = 0; round < 20; ++round) {
    CountingHost host(2);
    std::vector<std::thread> threads;
    for (int64_t core = 0; core < 2; ++core) {
      threads.emplace_back([&, core] {
        std::vector<PendingCall> calls;
        for (int i = 0; i < 5; ++i) {
          calls.push_back(host.Receive(core));
          calls.push_back(host.Send(core));
          calls.push_back(host.Enqueue(core));
        }
        host.engine().Shutdown();
        for (const PendingCall& call : calls) call.End();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

}  // namespace
}  // namespace tpuless
