// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A thread that runs what the engine schedules, and outcomes to wait for.
#ifndef TPULESS_TESTS_CC_SCHEDULE_THREAD_H_
#define TPULESS_TESTS_CC_SCHEDULE_THREAD_H_

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "cc/engine/status.h"

namespace tpuless {

// Runs closures in their order. It must outlive all engines that use it.
class ScheduleThread {
 public:
  ScheduleThread() : thread_([this] { Work(); }) {}
  ~ScheduleThread() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::function<void(std::function<void()>)> schedule() {
    return [this](std::function<void()> closure) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        closures_.push_back(std::move(closure));
      }
      changed_.notify_all();
    };
  }
  std::thread::id id() const { return thread_.get_id(); }

 private:
  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !closures_.empty(); });
      if (closures_.empty()) return;
      {
        const std::function<void()> closure = std::move(closures_.front());
        closures_.pop_front();
        lock.unlock();
        closure();
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> closures_;
  bool stopping_ = false;
  std::thread thread_;
};

// How a call ended, if it has.
class Outcome {
 public:
  void Set(const Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_FALSE(status_.has_value()) << "a call ended twice";
    status_ = status;
    thread_ = std::this_thread::get_id();
    changed_.notify_all();
  }

  bool done() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return status_.has_value();
  }

  // Returns the status once the call has ended, or after too long an error
  // that no call gives.
  Status Wait() const {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(40),
                             [this] { return status_.has_value(); })
               ? *status_
               : Status(StatusCode::kInternal, "the call did not end");
  }

  // The thread on which it ended.
  std::thread::id thread() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return thread_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Status> status_;
  std::thread::id thread_;
};

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_SCHEDULE_THREAD_H_
