// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What all kernels share: one function, one status; calls that may wait.
#include "cc/kernels/kernel.h"

#include <atomic>
#include <thread>
#include <utility>

#include "cc/kernels/conversions.h"
#include "cc/kernels/intra_op_threads.h"
#include "cc/kernels/program_watch.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/platform/status.h"
#include "tensorflow/core/platform/threadpool.h"

namespace tpuless {

using tensorflow::CancellationManager;
using tensorflow::CancellationToken;
using tensorflow::OpKernelContext;

namespace {

// Returns a way to run closures on other threads. TensorFlow's own runs them
// on the calling one where the user asked for a single thread; then they go
// to the threads of the device.
std::function<void(std::function<void()>)> Scheduler(OpKernelContext* ctx) {
  auto* pool = ctx->device()->tensorflow_cpu_worker_threads()->workers;
  return [runner = *ctx->runner(), pool](std::function<void()> closure) {
    const std::thread::id caller = std::this_thread::get_id();
    runner([caller, pool, closure = std::move(closure)]() mutable {
      if (std::this_thread::get_id() == caller) {
        pool->Schedule(std::move(closure));
      } else {
        closure();
      }
    });
  };
}

// Returns the status of a call that ended. That its step was given up is the
// consequence of another error, which TensorFlow shows first if it has both.
absl::Status Consequence(const Status& status) {
  const absl::Status converted = ToAbsl(status);
  return status.code() == StatusCode::kAborted
             ? tsl::StatusGroup::MakeDerived(converted)
             : converted;
}

}  // namespace

void Kernel::Compute(OpKernelContext* ctx) {
  const Status status = Run(ctx);
  if (!status.ok()) ctx->SetStatus(ToAbsl(status));
}

void WaitingKernel::ComputeAsync(OpKernelContext* ctx, DoneCallback done) {
  Result<Work> work = Prepare(ctx);
  if (!work.ok()) {
    ctx->SetStatus(ToAbsl(work.status()));
    done();
    return;
  }
  const std::shared_ptr<Engine> engine = work->engine;
  WatchProgram(ctx, engine);

  auto cancelled = std::make_shared<std::atomic<bool>>(false);
  CancellationManager* manager = ctx->cancellation_manager();
  CancellationToken token = CancellationManager::kInvalidToken;
  if (manager != nullptr) {
    token = manager->get_cancellation_token();
    // The manager may outlive this call and the engine's last user: the
    // callback owns all that it touches.
    const bool registered =
        manager->RegisterCallback(token, [engine, cancelled] {
          *cancelled = true;
          engine->SweepCancelled();
        });
    if (!registered) *cancelled = true;
  }

  Call call;
  call.parallel_for = IntraOpThreads(ctx);
  call.schedule = Scheduler(ctx);
  call.cancelled = cancelled;
  call.program = ProgramOf(ctx);
  call.done = [ctx, done, manager, token, engine,
               program = call.program](const Status& status) {
    if (manager != nullptr) {
      // Waits for nothing, unlike DeregisterCallback: this may be running
      // inside the callback.
      manager->TryDeregisterCallback(token);
      // The watch of a failing program may have looked before this call came.
      if (manager->IsCancelling() || manager->IsCancelled()) {
        engine->GiveUpProgram(program, Status(StatusCode::kCancelled,
                                              "another op of its run failed"));
      }
    }
    if (!status.ok()) ctx->SetStatus(Consequence(status));
    done();
  };
  work->start(std::move(call));
  // The callback may have come before the call began to wait.
  if (*cancelled) engine->SweepCancelled();
}

}  // namespace tpuless
