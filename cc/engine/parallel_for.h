// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// How the engine's caller lends it threads.
#ifndef TPULESS_CC_ENGINE_PARALLEL_FOR_H_
#define TPULESS_CC_ENGINE_PARALLEL_FOR_H_

#include <cstdint>
#include <functional>
#include <utility>

namespace tpuless {

// Runs task(0) .. task(num_tasks - 1), in any order and on any threads, and
// returns when all are done. Results never depend on which thread ran what,
// so a caller may run them one after the other.
class ParallelFor {
 public:
  using Task = std::function<void(int64_t)>;
  using Run = std::function<void(int64_t num_tasks, const Task& task)>;

  // Runs everything on the calling thread.
  ParallelFor() = default;

  // `run` may use up to `num_threads` threads, the calling one included.
  ParallelFor(int num_threads, Run run)
      : num_threads_(num_threads), run_(std::move(run)) {}

  int num_threads() const { return num_threads_; }

  void operator()(int64_t num_tasks, const Task& task) const {
    if (num_tasks > 1 && num_threads_ > 1) {
      run_(num_tasks, task);
    } else {
      for (int64_t i = 0; i < num_tasks; ++i) task(i);
    }
  }

 private:
  int num_threads_ = 1;
  Run run_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_PARALLEL_FOR_H_
