// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A call of the engine that may have to wait, and what it may take along.
#ifndef TPULESS_CC_ENGINE_CALL_H_
#define TPULESS_CC_ENGINE_CALL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cc/engine/parallel_for.h"
#include "cc/engine/status.h"
#include "cc/engine/tensor_view.h"

namespace tpuless {

struct EngineOptions {
  double receive_timeout = 60;  // Seconds that a call may wait; > 0.
  int64_t queue_limit = 256;    // Batches a core may enqueue ahead; 0: any.
  bool skip_out_of_range_ids = false;
  bool experimental_optimizers = false;
};

// How a call that may have to wait reaches its caller.
struct Call {
  // For the call's own work.
  ParallelFor parallel_for;
  // Runs a closure soon, on another thread, which may compute. A call that
  // need not wait works on the caller's thread.
  std::function<void(std::function<void()>)> schedule;
  // Gets the outcome, once.
  std::function<void(const Status&)> done;
  // Set it, then call Engine::SweepCancelled(), to end a waiting call.
  std::shared_ptr<std::atomic<bool>> cancelled;
  // The program (TensorFlow: the step) that makes the call; 0 is none.
  // See Engine::GiveUpProgram().
  int64_t program = 0;
};

// Gradients of one Send, with whatever keeps their memory alive: they may be
// used after the call has ended.
struct Gradients {
  std::vector<TensorView> tensors;
  std::shared_ptr<const void> owner;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_CALL_H_
