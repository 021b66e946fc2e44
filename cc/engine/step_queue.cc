// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The rules of the step protocol.
#include "cc/engine/step_queue.h"

#include <algorithm>
#include <utility>

namespace tpuless {

bool Step::complete() const {
  return std::all_of(batches.begin(), batches.end(), [](const auto& batch) {
    return batch != nullptr && batch->state == Batch::kSent;
  });
}

bool Step::forwarded() const {
  return std::all_of(batches.begin(), batches.end(), [](const auto& batch) {
    return batch != nullptr &&
           (batch->backward_only() || batch->state >= Batch::kReceived);
  });
}

StepQueue::StepQueue(int64_t num_cores, bool pipelined)
    : num_cores_(num_cores), pipelined_(pipelined), queued_(num_cores) {}

void StepQueue::Push(std::shared_ptr<Batch> batch) {
  const int64_t core = batch->minibatch->core;
  if (batch->minibatch->needs_gradient()) {
    Step* step = StepToEnqueue(core);
    if (step == nullptr) {
      steps_.push_back(std::make_unique<Step>());
      step = steps_.back().get();
      step->number = ++num_steps_;
      step->batches.resize(num_cores_);
    }
    step->batches[core] = batch;
    batch->step = step;
  }
  queued_[core].push_back(std::move(batch));
}

int64_t StepQueue::num_queued(int64_t core) const {
  return static_cast<int64_t>(queued_[core].size());
}

std::shared_ptr<Batch> StepQueue::NextToReceive(int64_t core) const {
  for (const auto& batch : queued_[core]) {
    if (!batch->backward_only()) return batch;
  }
  return nullptr;
}

int64_t StepQueue::IndexOf(const Step* step) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].get() == step) return static_cast<int64_t>(i);
  }
  return -1;
}

// An inference batch sees every step that the core has received before it.
// Complete steps do not block it: they are applied first.
bool StepQueue::BlocksInference(const Step& step, int64_t core) const {
  const auto& batch = step.batches[core];
  return batch != nullptr && batch->state >= Batch::kReceiving &&
         !step.complete();
}

bool StepQueue::MayReceive(const Batch& batch) const {
  if (batch.step != nullptr) {
    return IndexOf(batch.step) <= (pipelined_ ? 1 : 0);
  }
  return std::none_of(steps_.begin(), steps_.end(), [&](const auto& step) {
    return BlocksInference(*step, batch.minibatch->core);
  });
}

void StepQueue::BeginReceive(const std::shared_ptr<Batch>& batch) {
  auto& queue = queued_[batch->minibatch->core];
  queue.erase(std::find(queue.begin(), queue.end(), batch));
  batch->state = Batch::kReceiving;
}

std::shared_ptr<Batch> StepQueue::NextToSend(int64_t core) const {
  for (const auto& step : steps_) {
    const auto& batch = step->batches[core];
    if (batch == nullptr || batch->state == Batch::kSent) continue;
    if (batch->backward_only() || batch->state == Batch::kReceived) {
      return batch;
    }
  }
  return nullptr;
}

void StepQueue::SetSent(const std::shared_ptr<Batch>& batch,
                        Gradients gradients) {
  if (batch->backward_only()) BeginReceive(batch);  // Leaves the queue.
  batch->gradients = std::move(gradients);
  batch->state = Batch::kSent;
}

Step* StepQueue::NextToApply(bool flush) const {
  if (IsApplying()) return nullptr;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i]->complete()) continue;
    const bool next_forwarded =
        i + 1 < steps_.size() && steps_[i + 1]->forwarded();
    return !pipelined_ || flush || next_forwarded ? steps_[i].get() : nullptr;
  }
  return nullptr;
}

bool StepQueue::IsApplying() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& step) { return step->applying; });
}

bool StepQueue::HasComplete() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const auto& step) { return step->complete(); });
}

void StepQueue::Remove(Step* step) {
  for (const auto& batch : step->batches) {
    if (batch == nullptr) continue;
    auto& queue = queued_[batch->minibatch->core];
    queue.erase(std::remove(queue.begin(), queue.end(), batch), queue.end());
    batch->step = nullptr;
  }
  steps_.erase(steps_.begin() + IndexOf(step));
}

Step* StepQueue::OldestIncomplete() const {
  for (const auto& step : steps_) {
    if (!step->complete()) return step.get();
  }
  return nullptr;
}

Step* StepQueue::StepToEnqueue(int64_t core) const {
  Step* next = nullptr;
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if ((*step)->batches[core] != nullptr) break;
    next = step->get();
  }
  return next;
}

Step* StepQueue::StepToReceive(int64_t core) const {
  const std::shared_ptr<Batch> next = NextToReceive(core);
  return next != nullptr ? next->step : StepToEnqueue(core);
}

Step* StepQueue::StepToSend(int64_t core) const {
  for (const auto& step : steps_) {
    const auto& batch = step->batches[core];
    if (batch != nullptr && batch->state != Batch::kSent) return step.get();
  }
  return StepToEnqueue(core);
}

std::vector<Step*> StepQueue::TakeProgram(int64_t program) {
  for (auto& queue : queued_) {
    queue.erase(std::remove_if(queue.begin(), queue.end(),
                               [&](const auto& batch) {
                                 return batch->step == nullptr &&
                                        batch->enqueued_by == program;
                               }),
                queue.end());
  }
  std::vector<Step*> steps;
  for (const auto& step : steps_) {
    const bool touched = std::any_of(
        step->batches.begin(), step->batches.end(), [&](const auto& batch) {
          return batch != nullptr &&
                 (batch->enqueued_by == program ||
                  batch->received_by == program || batch->sent_by == program);
        });
    if (touched && !step->complete()) steps.push_back(step.get());
  }
  return steps;
}

StepQueue::Obstacle StepQueue::ObstacleOf(const Batch& batch) const {
  for (const auto& step : steps_) {
    if (step.get() == batch.step) break;
    const bool sends = !step->complete();
    const Step* awaited = step.get();
    if (!sends) {
      const int64_t next = IndexOf(awaited) + 1;
      if (next >= static_cast<int64_t>(steps_.size())) continue;
      awaited = steps_[next].get();
    }
    std::string cores;
    for (int64_t core = 0; core < num_cores_; ++core) {
      const auto& part = awaited->batches[core];
      if (part == nullptr ||
          part->state < (sends ? Batch::kSent : Batch::kReceived)) {
        cores += StrCat(cores.empty() ? "" : ", ", core);
      }
    }
    return {StrCat("step ", awaited->number,
                   sends ? " is not complete" : " is not received by all"),
            StrCat(sends ? "SendTPUEmbeddingGradients"
                         : "RecvTPUEmbeddingActivations",
                   " of core ", cores)};
  }
  return {"the core's last receive is not done", "its end"};
}

}  // namespace tpuless
