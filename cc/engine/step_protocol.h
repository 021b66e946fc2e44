// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: the step protocol with its waiting calls.
#ifndef TPULESS_CC_ENGINE_STEP_PROTOCOL_H_
#define TPULESS_CC_ENGINE_STEP_PROTOCOL_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cc/engine/call.h"
#include "cc/engine/engine.h"
#include "cc/engine/step_queue.h"
#include "cc/engine/table_set.h"

namespace tpuless {

// Thread safe. Calls of one kind and core are served in their order. A call
// that can be served at once works on the caller's thread; one that cannot is
// kept, and no thread waits for it: the call that serves it schedules it, a
// thread of the protocol's own ends it when its time is up.
//
//   mutex_ guards all state and is never held while anything is computed;
//   an admitted call computes, then comes back to settle: apply the steps
//   that are ready, admit the calls that now can be.
class StepProtocol : public std::enable_shared_from_this<StepProtocol> {
 public:
  StepProtocol(int64_t num_cores, bool pipelined, TableSet& tables,
               const EngineOptions& options);
  ~StepProtocol();

  EngineOptions options() const;
  void SetOptions(const EngineOptions& options);
  // Fills in all but the tables.
  Statistics statistics() const;

  void Enqueue(std::shared_ptr<const Minibatch> minibatch, Call call);
  void Receive(int64_t core, const std::vector<float*>& outputs, Call call);
  void Send(int64_t core, Gradients gradients,
            std::vector<float> learning_rates, Call call);

  // Applies all complete steps. Returns when that is done.
  void Flush(const ParallelFor& parallel_for);

  // Ends a call of `core` that is refused: with several cores, gives up the
  // step that the core's next batch would join, or its next Send is for.
  void RefuseEnqueue(int64_t core, const Status& why, const Call& call);
  void RefuseSend(int64_t core, const Status& why, const Call& call);

  Status AbandonStep();
  void GiveUpProgram(int64_t program, const Status& why);
  void SweepCancelled();
  void Shutdown();

 private:
  enum Kind { kEnqueue, kReceive, kSend };
  struct Waiter;
  using Lock = std::unique_lock<std::mutex>;
  using Waiters = std::deque<std::shared_ptr<Waiter>>;

  // Queues a call, settles, and runs it if it was admitted.
  void Start(const std::shared_ptr<Waiter>& waiter);
  void RunReceive(const std::shared_ptr<Waiter>& waiter);
  void Refuse(Lock& lock, Step* step, const Status& why, const Call& call);

  // The rest needs the lock.
  void Settle(Lock& lock, const ParallelFor& parallel_for);
  bool Admit();
  bool AdmitEnqueue(Waiter& waiter);
  bool AdmitReceive(Waiter& waiter);
  bool AdmitSend(Waiter& waiter);
  void Apply(Lock& lock, Step* step, const ParallelFor& parallel_for);
  void GiveUp(Step* step, const Status& why);
  void ExpectLateCall(const Batch& batch);
  // Returns with what a call ends that must not be served: after Shutdown,
  // cancelled, or late (see late_calls_).
  Status RefusedAtOnce(const Waiter& waiter);
  static bool IsCancelled(const Waiter& waiter);
  // Returns whether a call was waiting.
  bool FinishFront(Kind kind, int64_t core, const Status& status);
  // Ends the waiting calls for which `outcome` returns an error.
  void FinishIf(const std::function<Status(const Waiter&)>& outcome);
  Status TimedOut(const Waiter& waiter) const;
  void WatchDeadlines();

  // Unlocks, hands admitted and finished calls to their threads, and then
  // goes on with `own`, if it is one of them, on this thread.
  void Dispatch(Lock& lock, const std::shared_ptr<Waiter>& own);
  // Settles for a caller that is not a call, and dispatches.
  void SettleAndDispatch(Lock& lock);

  const int64_t num_cores_;
  TableSet& tables_;

  mutable std::mutex mutex_;
  EngineOptions options_;
  StepQueue queue_;
  std::vector<Waiters> waiters_[3];  // By kind and core.
  // Calls that programs had still to make for batches that were given up:
  // they must not be taken for calls of the next step.
  struct LateCall {
    Kind kind;
    int64_t core;
    int64_t program;
    Status status;
  };
  std::deque<LateCall> late_calls_;
  std::vector<bool> receiving_;                    // By core.
  std::vector<std::shared_ptr<Waiter>> admitted_;  // Until Dispatch().
  std::vector<std::shared_ptr<Waiter>> finished_;  // Until Dispatch().
  Statistics statistics_;
  bool shut_down_ = false;
  std::condition_variable applied_;   // Some step has been applied.
  std::condition_variable deadline_;  // A call waits, or all is over.
  std::thread watcher_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_STEP_PROTOCOL_H_
