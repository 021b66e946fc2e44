// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// How the engine's caller lends it threads.
#ifndef TPULESS_CC_ENGINE_PARALLEL_FOR_H_
#define TPULESS_CC_ENGINE_PARALLEL_FOR_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

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
    if (num_tasks > 0 && num_threads_ > 1) {
      run_(num_tasks, task);
    } else {
      for (int64_t i = 0; i < num_tasks; ++i) task(i);
    }
  }

 private:
  int num_threads_ = 1;
  Run run_;
};

// Enough floats for a task to be worth handing to another thread.
constexpr int64_t kFloatsPerTask = 1 << 16;

// Runs body(i) for all i in [0, num_items), neighbours as one task until they
// cost `least_cost`, so that no thread is woken for less.
template <class Cost, class Body>
void ForEachByCost(int64_t num_items, const Cost& cost, int64_t least_cost,
                   const ParallelFor& parallel_for, const Body& body) {
  std::vector<int64_t> ends;
  int64_t sum = 0;
  for (int64_t i = 0; i < num_items; ++i) {
    sum += cost(i);
    if (sum < least_cost && i + 1 < num_items) continue;
    ends.push_back(i + 1);
    sum = 0;
  }
  parallel_for(static_cast<int64_t>(ends.size()), [&](int64_t task) {
    for (int64_t i = task == 0 ? 0 : ends[task - 1]; i < ends[task]; ++i) {
      body(i);
    }
  });
}

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_PARALLEL_FOR_H_
