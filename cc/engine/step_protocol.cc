// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Admission, deadlines, and giving up of calls.
#include "cc/engine/step_protocol.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tpuless {
namespace {

using Clock = std::chrono::steady_clock;

Status Aborted(const std::string& message) {
  return Status(StatusCode::kAborted, message);
}

Status DeadlineExceeded(const std::string& message) {
  return Status(StatusCode::kDeadlineExceeded, message);
}

// More than anybody waits, and less than the clock can count.
constexpr double kLongestTimeout = 1e9;

Status CallCancelled() {
  return Status(StatusCode::kCancelled, "the call was cancelled");
}

constexpr size_t kMostLateCalls = 256;

bool SameBits(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

}  // namespace

struct StepProtocol::Waiter {
  Kind kind;
  int64_t core;
  Call call;
  std::shared_ptr<Batch> batch;  // Enqueue: its own; Receive: once admitted.
  std::vector<float*> outputs;   // Receive.
  Gradients gradients;           // Send.
  std::vector<float> learning_rates;  // Send.
  double timeout = 0;                 // Seconds.
  Clock::time_point deadline;
  Status status;  // Once it is finished.
};

bool StepProtocol::IsCancelled(const Waiter& waiter) {
  const auto& cancelled = waiter.call.cancelled;
  return cancelled != nullptr && *cancelled;
}

StepProtocol::StepProtocol(int64_t num_cores, bool pipelined, TableSet& tables,
                           const EngineOptions& options)
    : num_cores_(num_cores),
      tables_(tables),
      options_(options),
      queue_(num_cores, pipelined),
      receiving_(num_cores, false) {
  for (auto& waiters : waiters_) waiters.resize(num_cores);
}

StepProtocol::~StepProtocol() {
  Shutdown();
  if (watcher_.joinable()) watcher_.join();
}

EngineOptions StepProtocol::options() const {
  const Lock lock(mutex_);
  return options_;
}

void StepProtocol::SetOptions(const EngineOptions& options) {
  Lock lock(mutex_);
  options_ = options;
  SettleAndDispatch(lock);  // A larger queue may admit calls.
}

Statistics StepProtocol::statistics() const {
  const Lock lock(mutex_);
  Statistics statistics = statistics_;
  for (int64_t core = 0; core < num_cores_; ++core) {
    statistics.queued_batches += queue_.num_queued(core);
  }
  return statistics;
}

void StepProtocol::Enqueue(std::shared_ptr<const Minibatch> minibatch,
                           Call call) {
  auto waiter = std::make_shared<Waiter>();
  waiter->kind = kEnqueue;
  waiter->core = minibatch->core;
  waiter->batch = std::make_shared<Batch>();
  waiter->batch->minibatch = std::move(minibatch);
  waiter->batch->enqueued_by = call.program;
  waiter->call = std::move(call);
  Start(waiter);
}

void StepProtocol::Receive(int64_t core, const std::vector<float*>& outputs,
                           Call call) {
  auto waiter = std::make_shared<Waiter>();
  waiter->kind = kReceive;
  waiter->core = core;
  waiter->outputs = outputs;
  waiter->call = std::move(call);
  Start(waiter);
}

void StepProtocol::Send(int64_t core, Gradients gradients,
                        std::vector<float> learning_rates, Call call) {
  auto waiter = std::make_shared<Waiter>();
  waiter->kind = kSend;
  waiter->core = core;
  waiter->gradients = std::move(gradients);
  waiter->learning_rates = std::move(learning_rates);
  waiter->call = std::move(call);
  Start(waiter);
}

void StepProtocol::Start(const std::shared_ptr<Waiter>& waiter) {
  Lock lock(mutex_);
  waiter->timeout = options_.receive_timeout;
  waiter->deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(std::min(
                                            waiter->timeout, kLongestTimeout)));
  const Status refused = RefusedAtOnce(*waiter);
  if (!refused.ok()) {
    waiter->status = refused;
    finished_.push_back(waiter);
  } else {
    waiters_[waiter->kind][waiter->core].push_back(waiter);
    Settle(lock, waiter->call.parallel_for);
    const Waiters& waiting = waiters_[waiter->kind][waiter->core];
    if (std::find(waiting.begin(), waiting.end(), waiter) != waiting.end()) {
      if (!watcher_.joinable()) {
        watcher_ = std::thread([this] { WatchDeadlines(); });
      }
      deadline_.notify_one();
    }
  }
  Dispatch(lock, waiter);
}

void StepProtocol::RunReceive(const std::shared_ptr<Waiter>& waiter) {
  const std::shared_ptr<Batch> batch = waiter->batch;
  const ParallelFor& parallel_for = waiter->call.parallel_for;
  if (!batch->minibatch->needs_gradient()) Flush(parallel_for);
  tables_.Lookup(*batch->minibatch, waiter->outputs, parallel_for);
  Lock lock(mutex_);
  receiving_[waiter->core] = false;
  batch->state = Batch::kReceived;
  waiter->status = batch->given_up;
  if (waiter->status.ok()) ++statistics_.receives;
  finished_.push_back(waiter);
  Settle(lock, parallel_for);
  Dispatch(lock, waiter);
}

// Applies and admits until neither makes the other possible.
void StepProtocol::Settle(Lock& lock, const ParallelFor& parallel_for) {
  while (true) {
    if (Step* step = queue_.NextToApply(/*flush=*/false)) {
      Apply(lock, step, parallel_for);
    } else if (!Admit()) {
      return;
    }
  }
}

bool StepProtocol::Admit() {
  bool any = false;
  const auto admit_front = [&](Kind kind, int64_t core,
                               bool (StepProtocol::*admit)(Waiter&)) {
    Waiters& waiters = waiters_[kind][core];
    while (!waiters.empty()) {
      const std::shared_ptr<Waiter> waiter = waiters.front();
      if (!(this->*admit)(*waiter)) break;
      // Whoever gave up a step has taken its waiters away.
      if (!waiters.empty() && waiters.front() == waiter) waiters.pop_front();
      (kind == kReceive ? admitted_ : finished_).push_back(waiter);
      any = true;
    }
  };
  for (int64_t core = 0; core < num_cores_; ++core) {
    admit_front(kEnqueue, core, &StepProtocol::AdmitEnqueue);
    admit_front(kReceive, core, &StepProtocol::AdmitReceive);
    admit_front(kSend, core, &StepProtocol::AdmitSend);
  }
  return any;
}

bool StepProtocol::AdmitEnqueue(Waiter& waiter) {
  if (options_.queue_limit > 0 &&
      queue_.num_queued(waiter.core) >= options_.queue_limit) {
    return false;
  }
  ++statistics_.enqueues;
  statistics_.ids += waiter.batch->minibatch->num_ids;
  queue_.Push(waiter.batch);
  return true;
}

bool StepProtocol::AdmitReceive(Waiter& waiter) {
  const std::shared_ptr<Batch> batch = queue_.NextToReceive(waiter.core);
  if (receiving_[waiter.core] || batch == nullptr ||
      !queue_.MayReceive(*batch)) {
    return false;
  }
  receiving_[waiter.core] = true;
  batch->received_by = waiter.call.program;
  queue_.BeginReceive(batch);
  waiter.batch = batch;
  return true;
}

bool StepProtocol::AdmitSend(Waiter& waiter) {
  const std::shared_ptr<Batch> batch = queue_.NextToSend(waiter.core);
  if (batch == nullptr) return false;
  Step& step = *batch->step;
  if (!step.has_learning_rates) {
    step.learning_rates = waiter.learning_rates;
    step.has_learning_rates = true;
  }
  for (size_t i = 0; i < step.learning_rates.size(); ++i) {
    if (SameBits(waiter.learning_rates[i], step.learning_rates[i])) continue;
    waiter.status = InvalidArgument(
        "learning_rates[", i, "] must be the same on all cores of step ",
        step.number, ", got ", waiter.learning_rates[i], " on core ",
        waiter.core, " but ", step.learning_rates[i], " before");
    waiters_[kSend][waiter.core].pop_front();
    queue_.SetSent(batch, Gradients());  // This core's Send has had its turn.
    GiveUp(&step, waiter.status);
    return true;
  }
  ++statistics_.sends;
  batch->sent_by = waiter.call.program;
  queue_.SetSent(batch, std::move(waiter.gradients));
  return true;
}

void StepProtocol::Apply(Lock& lock, Step* step,
                         const ParallelFor& parallel_for) {
  step->applying = true;
  lock.unlock();
  const int64_t num_rows = tables_.Apply(*step, parallel_for);
  lock.lock();
  ++statistics_.steps;
  statistics_.unique_rows += num_rows;
  queue_.Remove(step);
  applied_.notify_all();
}

void StepProtocol::Flush(const ParallelFor& parallel_for) {
  Lock lock(mutex_);
  while (queue_.HasComplete()) {
    if (Step* step = queue_.NextToApply(/*flush=*/true)) {
      Apply(lock, step, parallel_for);
    } else {
      applied_.wait(lock);
    }
  }
  Settle(lock, parallel_for);
  Dispatch(lock, nullptr);
}

void StepProtocol::GiveUp(Step* step, const Status& why) {
  const Status status =
      Aborted(StrCat("step ", step->number, " was given up: ", why.message()));
  for (int64_t core = 0; core < num_cores_; ++core) {
    const auto& batch = step->batches[core];
    if (batch != nullptr) batch->given_up = status;
    bool told = false;
    if (queue_.StepToReceive(core) == step) {
      told |= FinishFront(kReceive, core, status);
    }
    if (queue_.StepToSend(core) == step) {
      told |= FinishFront(kSend, core, status);
    }
    if (batch != nullptr && !told) ExpectLateCall(*batch);
  }
  queue_.Remove(step);
  ++statistics_.abandoned_steps;
}

void StepProtocol::ExpectLateCall(const Batch& batch) {
  // Without a program nobody can tell a late call from the next one.
  const bool queued = batch.state == Batch::kQueued;
  const int64_t program = queued ? batch.enqueued_by : batch.received_by;
  if (program == 0 || batch.state == Batch::kReceiving ||
      batch.state == Batch::kSent) {
    return;
  }
  late_calls_.push_back({queued && !batch.backward_only() ? kReceive : kSend,
                         batch.minibatch->core, program, batch.given_up});
  // Of programs that went on without them.
  if (late_calls_.size() > kMostLateCalls) late_calls_.pop_front();
}

Status StepProtocol::RefusedAtOnce(const Waiter& waiter) {
  if (shut_down_) return Aborted("the engine was shut down");
  // Before it is served: nobody would undo what a dead program's call did.
  if (IsCancelled(waiter)) return CallCancelled();
  const auto late = std::find_if(
      late_calls_.begin(), late_calls_.end(), [&](const LateCall& call) {
        return call.kind == waiter.kind && call.core == waiter.core &&
               call.program == waiter.call.program;
      });
  if (late == late_calls_.end()) return Status();
  const Status status = late->status;
  late_calls_.erase(late);
  return status;
}

bool StepProtocol::FinishFront(Kind kind, int64_t core, const Status& status) {
  Waiters& waiters = waiters_[kind][core];
  if (waiters.empty()) return false;
  waiters.front()->status = status;
  finished_.push_back(std::move(waiters.front()));
  waiters.pop_front();
  return true;
}

void StepProtocol::FinishIf(
    const std::function<Status(const Waiter&)>& outcome) {
  for (auto& of_kind : waiters_) {
    for (Waiters& waiters : of_kind) {
      for (auto it = waiters.begin(); it != waiters.end();) {
        const Status status = outcome(**it);
        if (status.ok()) {
          ++it;
          continue;
        }
        (*it)->status = status;
        finished_.push_back(std::move(*it));
        it = waiters.erase(it);
      }
    }
  }
}

void StepProtocol::RefuseEnqueue(int64_t core, const Status& why,
                                 const Call& call) {
  Lock lock(mutex_);
  Refuse(lock, queue_.StepToEnqueue(core), why, call);
}

void StepProtocol::RefuseSend(int64_t core, const Status& why,
                              const Call& call) {
  Lock lock(mutex_);
  Refuse(lock, queue_.StepToSend(core), why, call);
}

void StepProtocol::Refuse(Lock& lock, Step* step, const Status& why,
                          const Call& call) {
  if (step != nullptr && num_cores_ > 1) GiveUp(step, why);
  std::vector<std::shared_ptr<Waiter>> given_up;
  given_up.swap(finished_);
  lock.unlock();
  // First: the caller's program is to see the cause, not its consequences.
  call.done(why);
  lock.lock();
  finished_.insert(finished_.end(), given_up.begin(), given_up.end());
  SettleAndDispatch(lock);
}

Status StepProtocol::AbandonStep() {
  Lock lock(mutex_);
  Step* step = queue_.OldestIncomplete();
  if (step == nullptr) {
    return NotFound("no step is open, so none can be abandoned");
  }
  GiveUp(step, Aborted("abandoned by hand"));
  SettleAndDispatch(lock);
  return Status();
}

void StepProtocol::GiveUpProgram(int64_t program, const Status& why) {
  if (program == 0) return;
  Lock lock(mutex_);
  for (Step* step : queue_.TakeProgram(program)) GiveUp(step, why);
  late_calls_.erase(std::remove_if(late_calls_.begin(), late_calls_.end(),
                                   [&](const LateCall& call) {
                                     return call.program == program;
                                   }),
                    late_calls_.end());
  SettleAndDispatch(lock);
}

void StepProtocol::SweepCancelled() {
  Lock lock(mutex_);
  FinishIf([](const Waiter& waiter) {
    return IsCancelled(waiter) ? CallCancelled() : Status();
  });
  SettleAndDispatch(lock);
}

void StepProtocol::Shutdown() {
  Lock lock(mutex_);
  shut_down_ = true;
  FinishIf([](const Waiter&) { return Aborted("the engine was shut down"); });
  deadline_.notify_one();
  Dispatch(lock, nullptr);
}

Status StepProtocol::TimedOut(const Waiter& waiter) const {
  const std::string after =
      StrCat(" after ", waiter.timeout, " s on core ", waiter.core, "; ");
  switch (waiter.kind) {
    case kEnqueue:
      return DeadlineExceeded(StrCat("enqueue: no room in the queue of ",
                                     options_.queue_limit, " batches", after,
                                     "RecvTPUEmbeddingActivations is missing"));
    case kReceive: {
      const std::shared_ptr<Batch> next = queue_.NextToReceive(waiter.core);
      if (next == nullptr) {
        return DeadlineExceeded(StrCat("receive: no enqueued batch", after,
                                       "an EnqueueTPUEmbedding op is missing"));
      }
      const StepQueue::Obstacle obstacle = queue_.ObstacleOf(*next);
      return DeadlineExceeded(
          StrCat("receive: ", obstacle.state, after, obstacle.missing,
                 " is missing (tpuless.abandon_step() gives the step up)"));
    }
    case kSend:
      return DeadlineExceeded(StrCat("send: no received batch", after,
                                     "RecvTPUEmbeddingActivations is missing"));
  }
  return Status();
}

void StepProtocol::WatchDeadlines() {
  Lock lock(mutex_);
  while (!shut_down_) {
    const Clock::time_point now = Clock::now();
    FinishIf([&](const Waiter& waiter) {
      return waiter.deadline <= now ? TimedOut(waiter) : Status();
    });
    if (!finished_.empty()) {
      SettleAndDispatch(lock);
      lock.lock();
      continue;
    }
    Clock::time_point next = Clock::time_point::max();
    for (const auto& of_kind : waiters_) {
      for (const Waiters& waiters : of_kind) {
        for (const auto& waiter : waiters) {
          next = std::min(next, waiter->deadline);
        }
      }
    }
    if (next == Clock::time_point::max()) {
      deadline_.wait(lock);
    } else {
      deadline_.wait_until(lock, next);
    }
  }
}

void StepProtocol::SettleAndDispatch(Lock& lock) {
  Settle(lock, ParallelFor());
  Dispatch(lock, nullptr);
}

void StepProtocol::Dispatch(Lock& lock, const std::shared_ptr<Waiter>& own) {
  auto admitted = std::move(admitted_);
  auto finished = std::move(finished_);
  admitted_.clear();
  finished_.clear();
  lock.unlock();
  bool run_own = false, finish_own = false;
  // The closures keep the calls: none may end on this thread, which can be
  // the watcher, with the last reference to the engine.
  for (auto& waiter : admitted) {
    if (waiter == own) {
      run_own = true;
      continue;
    }
    const auto schedule = waiter->call.schedule;
    schedule([self = shared_from_this(), waiter = std::move(waiter)] {
      self->RunReceive(waiter);
    });
  }
  for (auto& waiter : finished) {
    if (waiter == own) {
      finish_own = true;
      continue;
    }
    const auto schedule = waiter->call.schedule;
    schedule(
        [waiter = std::move(waiter)] { waiter->call.done(waiter->status); });
  }
  if (run_own) RunReceive(own);
  if (finish_own) own->call.done(own->status);
}

}  // namespace tpuless
