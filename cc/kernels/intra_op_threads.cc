// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Lends the engine the threads that TensorFlow has for work within one op.
#include "cc/kernels/intra_op_threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/platform/threadpool.h"

namespace tpuless {
namespace {

// The tasks of one ParallelFor, taken one by one by whoever comes.
class Tasks {
 public:
  Tasks(int64_t num_tasks, const ParallelFor::Task& task)
      : num_tasks_(num_tasks), task_(task) {}

  // Runs tasks until none is left. A thread that comes too late touches
  // nothing but the counter: `task_` may be gone.
  void Work() {
    int64_t num_done = 0;
    for (int64_t i; (i = next_++) < num_tasks_; ++num_done) task_(i);
    if (num_done == 0) return;
    std::lock_guard<std::mutex> lock(mutex_);
    num_done_ += num_done;
    if (num_done_ == num_tasks_) all_done_.notify_one();
  }

  void WaitForOthers() {
    std::unique_lock<std::mutex> lock(mutex_);
    all_done_.wait(lock, [this] { return num_done_ == num_tasks_; });
  }

 private:
  const int64_t num_tasks_;
  const ParallelFor::Task& task_;
  std::atomic<int64_t> next_{0};
  std::mutex mutex_;
  std::condition_variable all_done_;
  int64_t num_done_ = 0;
};

}  // namespace

ParallelFor IntraOpThreads(tensorflow::OpKernelContext* ctx) {
  tensorflow::thread::ThreadPool* pool =
      ctx->device()->tensorflow_cpu_worker_threads()->workers;
  const int num_threads = pool->NumThreads();
  return ParallelFor(
      num_threads,
      [pool, num_threads](int64_t num_tasks, const ParallelFor::Task& task) {
        auto tasks = std::make_shared<Tasks>(num_tasks, task);
        const int64_t num_helpers =
            std::min<int64_t>(num_threads, num_tasks) - 1;
        for (int64_t i = 0; i < num_helpers; ++i) {
          pool->Schedule([tasks] { tasks->Work(); });
        }
        tasks->Work();
        tasks->WaitForOthers();
      });
}

}  // namespace tpuless
