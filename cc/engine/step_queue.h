// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which batch a Receive or Send is about, and when a step may be applied.
#ifndef TPULESS_CC_ENGINE_STEP_QUEUE_H_
#define TPULESS_CC_ENGINE_STEP_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "cc/engine/call.h"
#include "cc/engine/minibatch.h"
#include "cc/engine/status.h"

namespace tpuless {

struct Step;

// One core's batch on its way through the engine.
struct Batch {
  enum State { kQueued, kReceiving, kReceived, kSent };

  std::shared_ptr<const Minibatch> minibatch;
  State state = kQueued;
  Step* step = nullptr;     // Null for inference, and once the step has ended.
  int64_t enqueued_by = 0;  // Programs, see Call::program.
  int64_t received_by = 0;
  int64_t sent_by = 0;
  Gradients gradients;  // Once it is sent.
  Status given_up;      // Not OK once its step was.

  bool backward_only() const {
    return minibatch->mode == Mode::kBackwardPassOnly;
  }
};

// The batches that are updated together: one of every core.
struct Step {
  int64_t number = 0;                           // From 1.
  std::vector<std::shared_ptr<Batch>> batches;  // By core; null until queued.
  std::vector<float> learning_rates;            // Of the first Send.
  bool has_learning_rates = false;
  bool applying = false;

  bool complete() const;   // Every core has sent.
  bool forwarded() const;  // Every core has received.
};

// The state of the step protocol and its rules; it computes nothing and waits
// for nothing. Not thread safe.
//
// Steps that are neither applied nor given up stand in order. A core's batches
// that need a gradient take the steps one by one. Without pipelining a batch
// may be received when its step is the first, with it when it is one of the
// first two: its forward pass then sees all updates but that of the step
// before it, which is applied once all cores are past that forward pass.
class StepQueue {
 public:
  StepQueue(int64_t num_cores, bool pipelined);

  void Push(std::shared_ptr<Batch> batch);

  // Batches of a core that were pushed and neither received nor dropped.
  int64_t num_queued(int64_t core) const;

  // Returns the batch that the core's next Receive is for, or null.
  std::shared_ptr<Batch> NextToReceive(int64_t core) const;
  // Returns whether it may be received now.
  bool MayReceive(const Batch& batch) const;
  // Takes it out of the core's queue.
  void BeginReceive(const std::shared_ptr<Batch>& batch);

  // Returns the batch that the core's next Send is for, if it is ready.
  std::shared_ptr<Batch> NextToSend(int64_t core) const;
  void SetSent(const std::shared_ptr<Batch>& batch, Gradients gradients);

  // Returns the step to be applied next, null if there is none or one is being
  // applied. `flush` asks for complete steps that pipelining would park.
  Step* NextToApply(bool flush) const;
  bool IsApplying() const;
  bool HasComplete() const;

  // Ends a step. Its batches leave the queues, and their `step` is null.
  void Remove(Step* step);

  // Returns the first step that has not all gradients, or null.
  Step* OldestIncomplete() const;
  // Returns the step of the batch that the core enqueues (receives, sends)
  // next; null if that is inference or would begin a new step.
  Step* StepToEnqueue(int64_t core) const;
  Step* StepToReceive(int64_t core) const;
  Step* StepToSend(int64_t core) const;

  // Returns the steps of which a batch belongs to the program and that are not
  // complete; removes the program's queued inference batches.
  std::vector<Step*> TakeProgram(int64_t program);

  // Says, for a message, what keeps `batch` from being received.
  struct Obstacle {
    std::string state;    // "step 3 is not complete".
    std::string missing;  // "SendTPUEmbeddingGradients of core 0, 1".
  };
  Obstacle ObstacleOf(const Batch& batch) const;

 private:
  int64_t IndexOf(const Step* step) const;
  bool BlocksInference(const Step& step, int64_t core) const;

  const int64_t num_cores_;
  const bool pipelined_;
  int64_t num_steps_ = 0;                                   // Ever made.
  std::vector<std::deque<std::shared_ptr<Batch>>> queued_;  // By core.
  std::deque<std::unique_ptr<Step>> steps_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_STEP_QUEUE_H_
