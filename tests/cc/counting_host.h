// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// An engine of which a weight counts the gradients that were applied.
#ifndef TPULESS_TESTS_CC_COUNTING_HOST_H_
#define TPULESS_TESTS_CC_COUNTING_HOST_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/engine/engine.h"
#include "tests/cc/configs.h"
#include "tests/cc/schedule_thread.h"
#include "tests/cc/tensor_arena.h"

namespace tpuless {

// A call that may not have ended yet.
struct PendingCall {
  bool done() const { return outcome->done(); }
  Status Wait() const { return outcome->Wait(); }
  // Waits for whatever outcome.
  void End() const { EXPECT_NE(outcome->Wait().code(), StatusCode::kInternal); }
  // Of 'watched', once a Receive has ended.
  float activation() const { return (*activations)[0]; }

  std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
  std::shared_ptr<std::atomic<bool>> cancelled =
      std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<std::vector<float>> activations =
      std::make_shared<std::vector<float>>(2, -1.0f);
};

// Table 'user' has 4 rows of one column, all 0 at first; features 'watched'
// and 'liked', of one element each, look up ids 0 and 1. SGD with a learning
// rate of 1: a gradient of -1, what Send() sends for 'watched', adds 1 to row
// 0, which counts the sends that were applied.
class CountingHost {
 public:
  explicit CountingHost(int64_t num_cores = 1, bool pipelined = false,
                        const EngineOptions& options = EngineOptions())
      : CountingHost(Config(num_cores, pipelined), options) {}
  CountingHost(EngineConfig config, const EngineOptions& options) {
    config = Completed(std::move(config));
    engine_ = *Engine::Create(std::move(config), options);
    LoadAll(0);
  }
  ~CountingHost() { engine_->Shutdown(); }

  static EngineConfig Config(int64_t num_cores, bool pipelined) {
    EngineConfig config =
        FeatureLayout({Table("user", 4, 1)},
                      {Feature("watched", 0, {1}), Feature("liked", 0, {1})});
    config.num_cores = num_cores;
    config.pipelined = pipelined;
    return config;
  }
  static EngineOptions Timeout(double seconds) {
    EngineOptions options;
    options.receive_timeout = seconds;
    return options;
  }

  Engine& engine() { return *engine_; }
  std::thread::id schedule_thread() const { return thread_.id(); }

  // Returns what to give the engine as `call`.
  Call MakeCall(const PendingCall& pending, int64_t program = 0,
                ParallelFor parallel_for = ParallelFor()) {
    Call call;
    call.parallel_for = std::move(parallel_for);
    call.schedule = thread_.schedule();
    call.done = [outcome = pending.outcome, activations = pending.activations](
                    const Status& status) { outcome->Set(status); };
    call.cancelled = pending.cancelled;
    call.program = program;
    return call;
  }

  // Enqueues a lookup of `id` for 'watched'; one out of range is refused.
  PendingCall Enqueue(int64_t core, const std::string& mode = "train",
                      int64_t program = 0, int32_t id = 0) {
    TensorArena a;
    EnqueueRequest request;
    request.inputs = {a.Input(a.Ints({}), {id}), a.Input(a.Ints({}), {1})};
    request.mode_override = mode;
    request.device_ordinal = core;
    PendingCall pending;
    engine_->Enqueue(request, MakeCall(pending, program));
    return pending;
  }
  PendingCall EnqueueBadId(int64_t core) {
    return Enqueue(core, "train", 0, 4);
  }

  PendingCall Receive(int64_t core, int64_t program = 0,
                      ParallelFor parallel_for = ParallelFor()) {
    PendingCall pending;
    engine_->Receive(core,
                     {&(*pending.activations)[0], &(*pending.activations)[1]},
                     MakeCall(pending, program, std::move(parallel_for)));
    return pending;
  }

  PendingCall Send(int64_t core, float gradient = -1, int64_t program = 0,
                   const std::vector<float>& learning_rates = {}) {
    auto arena = std::make_shared<TensorArena>();
    Gradients gradients;
    gradients.tensors = {arena->Floats({gradient}, {1, 1}),
                         arena->Floats({0}, {1, 1})};
    gradients.owner = arena;
    std::vector<TensorView> rates;
    for (const float rate : learning_rates) {
      rates.push_back(arena->Scalar(rate));
    }
    PendingCall pending;
    engine_->Send(core, std::move(gradients), rates,
                  MakeCall(pending, program));
    return pending;
  }
  // Sends gradients for one feature only, which is refused.
  PendingCall SendTooFew(int64_t core) {
    TensorArena a;
    PendingCall pending;
    engine_->Send(core, {{a.Floats({1}, {1, 1})}, nullptr}, {},
                  MakeCall(pending));
    return pending;
  }

  // Enqueues and receives; returns the activation.
  float Forward(int64_t core, const std::string& mode = "train") {
    EXPECT_TRUE(Enqueue(core, mode).Wait().ok());
    const PendingCall receive = Receive(core);
    const Status status = receive.Wait();
    EXPECT_TRUE(status.ok()) << status.message();
    return receive.activation();
  }

  // Returns row 0.
  float Count() {
    float rows[4];
    const Status status = engine_->Retrieve(0, Shard(), {rows}, ParallelFor());
    EXPECT_TRUE(status.ok()) << status.message();
    return rows[0];
  }

  // Loads `value` into all weights and slots.
  void LoadAll(float value) {
    TensorArena a;
    const std::vector<TensorView> variables(
        engine_->table(0).num_variables(),
        a.Floats({value, value, value, value}, {4, 1}));
    const Status status = engine_->Load(0, Shard(), variables, ParallelFor());
    EXPECT_TRUE(status.ok()) << status.message();
  }

 private:
  ScheduleThread thread_;
  std::shared_ptr<Engine> engine_;
};

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_COUNTING_HOST_H_
