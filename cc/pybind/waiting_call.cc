// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/pybind/waiting_call.h"

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "cc/pybind/raise.h"

namespace tpuless {
namespace {

namespace py = pybind11;

// Often enough for whoever presses Control-C, seldom enough to cost nothing.
constexpr std::chrono::milliseconds kSignalPeriod{100};

// What the waiting thread shares with those that the engine runs on.
class WaitingCall {
 public:
  void Schedule(std::function<void()> closure) {
    std::lock_guard<std::mutex> lock(mutex_);
    closures_.push_back(std::move(closure));
    changed_.notify_one();
  }

  void Finish(const Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    status_ = status;
    changed_.notify_one();
  }

  // Runs the next closure, or waits for it until a signal may have come.
  // Returns the outcome once the call is done.
  std::optional<Status> Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, kSignalPeriod,
                      [this] { return status_ || !closures_.empty(); });
    if (closures_.empty()) return status_;
    std::function<void()> closure = std::move(closures_.front());
    closures_.pop_front();
    lock.unlock();
    closure();
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> closures_;
  std::optional<Status> status_;
};

// Whether this is the thread that Python's signal handlers run on. Others have
// no reason to take the GIL before they are done, and would not survive it once
// Python is ending, as a daemon thread that waits has to.
bool IsMainThread() {
  const py::object main =
      py::module_::import("threading").attr("main_thread")();
  return main.attr("ident").cast<unsigned long>() ==
         PyThread_get_thread_ident();
}

// Returns what a signal handler of Python raises, or null.
std::exception_ptr CheckSignals() {
  py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return nullptr;
  return std::make_exception_ptr(py::error_already_set());
}

}  // namespace

void RunCall(Engine& engine, const ParallelFor& parallel_for,
             const std::function<void(Call)>& start) {
  auto waiting = std::make_shared<WaitingCall>();
  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  Call call;
  call.parallel_for = parallel_for;
  call.schedule = [waiting](std::function<void()> closure) {
    waiting->Schedule(std::move(closure));
  };
  call.done = [waiting](const Status& status) { waiting->Finish(status); };
  call.cancelled = cancelled;

  const bool is_main_thread = IsMainThread();
  std::optional<Status> status;
  std::exception_ptr interrupt;
  {
    py::gil_scoped_release release;
    start(std::move(call));
    // The call is waited for in any case: it may write to its outputs.
    while (!(status = waiting->Work())) {
      if (!is_main_thread || interrupt) continue;
      interrupt = CheckSignals();
      if (!interrupt) continue;
      *cancelled = true;
      engine.SweepCancelled();
    }
  }
  if (interrupt) std::rethrow_exception(interrupt);
  Raise(*status);
}

}  // namespace tpuless
