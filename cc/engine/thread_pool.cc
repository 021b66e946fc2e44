// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/engine/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <system_error>

namespace tpuless {

// The tasks of one call. It lives on the stack of the calling thread, which
// stays until all others have left.
struct ThreadPool::Job {
  const int64_t num_tasks;
  const ParallelFor::Task& task;
  std::atomic<int64_t> next_task{0};
  int num_guests = 0;  // Threads of the pool in it; under the pool's mutex.
};

ThreadPool::ThreadPool(int num_threads) {
  try {
    for (int i = 1; i < num_threads; ++i) {
      threads_.emplace_back([this] { Work(); });
    }
  } catch (const std::system_error&) {
    // The system has no more: those that started do.
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

ParallelFor ThreadPool::parallel_for() {
  return ParallelFor(static_cast<int>(threads_.size()) + 1,
                     [this](int64_t num_tasks, const ParallelFor::Task& task) {
                       Run(num_tasks, task);
                     });
}

void ThreadPool::Run(int64_t num_tasks, const ParallelFor::Task& task) {
  Job job{num_tasks, task};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(&job);
  }
  const int64_t num_guests = std::min<int64_t>(num_tasks - 1, threads_.size());
  for (int64_t i = 0; i < num_guests; ++i) work_.notify_one();

  TakeTasks(job);

  std::unique_lock<std::mutex> lock(mutex_);
  jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), &job), jobs_.end());
  left_.wait(lock, [&job] { return job.num_guests == 0; });
}

void ThreadPool::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    Job* job = jobs_.front();
    ++job->num_guests;
    lock.unlock();
    TakeTasks(*job);
    lock.lock();
    // All its tasks are taken: nobody else need look at it.
    jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
    if (--job->num_guests == 0) left_.notify_all();
  }
}

void ThreadPool::TakeTasks(Job& job) {
  for (int64_t i = job.next_task++; i < job.num_tasks; i = job.next_task++) {
    job.task(i);
  }
}

}  // namespace tpuless
