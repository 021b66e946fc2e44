// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Threads for a ParallelFor where no TensorFlow lends any.
#ifndef TPULESS_CC_ENGINE_THREAD_POOL_H_
#define TPULESS_CC_ENGINE_THREAD_POOL_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "cc/engine/parallel_for.h"

namespace tpuless {

// Thread safe: several threads may run their tasks here at once, and a task
// may run tasks of its own.
class ThreadPool {
 public:
  // Starts `num_threads` - 1 threads, as the one that calls is the last, or
  // as many as the system gives.
  explicit ThreadPool(int num_threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // Nobody may be running tasks here.
  ~ThreadPool();

  // Returns what runs tasks, which must not throw, on these threads. It must
  // not outlive them.
  ParallelFor parallel_for();

 private:
  struct Job;

  void Run(int64_t num_tasks, const ParallelFor::Task& task);
  void Work();
  static void TakeTasks(Job& job);

  std::mutex mutex_;
  std::condition_variable work_;  // There are jobs, or it is time to stop.
  std::condition_variable left_;  // A thread has left a job.
  std::deque<Job*> jobs_;         // That may have tasks nobody has taken.
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_THREAD_POOL_H_
