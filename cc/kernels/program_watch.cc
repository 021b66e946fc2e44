// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Tells the engine when a TensorFlow step that used it has failed.
//
// TensorFlow tells kernels nothing of the kind. It runs the callbacks of a
// step's cancellation manager when the step fails, but also when the manager
// is destroyed after a step that went well. What tells the two apart:
//
//  * Functions, eager ops and remote sessions have a rendezvous that is
//    reference counted. A failing step aborts it, with the error, before it
//    cancels; otherwise it is in order or gone.
//  * A local session destroys the manager and, next, the step's container on
//    one thread. A failing op cancels from another one; where there is only
//    one (a session that runs in its caller's thread), failures go unseen,
//    and calls that wait for the rest of the step run into their time limit.
#include "cc/kernels/program_watch.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "cc/kernels/conversions.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/rendezvous.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/platform/refcount.h"

namespace tpuless {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Rendezvous;

// The steps that are watched, so that a loop within one is watched once.
class WatchedPrograms {
 public:
  using Program = std::pair<const Engine*, int64_t>;

  static WatchedPrograms& Get() {
    static auto* programs = new WatchedPrograms;
    return *programs;
  }

  bool Insert(const Program& program) {
    std::lock_guard<std::mutex> lock(mutex_);
    return programs_.insert(program).second;
  }

  void Erase(const Program& program) {
    std::lock_guard<std::mutex> lock(mutex_);
    programs_.erase(program);
  }

 private:
  std::mutex mutex_;
  std::set<Program> programs_;
};

// Lives until the step's cancellation manager and container are gone.
class ProgramWatch {
 public:
  ProgramWatch(std::shared_ptr<Engine> engine, int64_t program)
      : engine_(std::move(engine)), program_(program) {}
  ~ProgramWatch() { WatchedPrograms::Get().Erase({engine_.get(), program_}); }

  void GiveUp(const Status& why) { engine_->GiveUpProgram(program_, why); }

  // For local sessions.
  void Cancelled() {
    std::lock_guard<std::mutex> lock(mutex_);
    cancelled_by_ = std::this_thread::get_id();
  }
  void ContainerCleared() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!cancelled_by_.has_value() ||
          *cancelled_by_ == std::this_thread::get_id()) {
        return;
      }
    }
    GiveUp(Status(StatusCode::kCancelled, "another op of its run failed"));
  }

 private:
  const std::shared_ptr<Engine> engine_;
  const int64_t program_;
  std::mutex mutex_;
  std::optional<std::thread::id> cancelled_by_;
};

// Lets the container of a local session's step tell when it is cleared.
class ContainerWatch final : public tensorflow::ResourceBase {
 public:
  explicit ContainerWatch(std::shared_ptr<ProgramWatch> watch)
      : watch_(std::move(watch)) {}
  ~ContainerWatch() override { watch_->ContainerCleared(); }
  std::string DebugString() const override { return "tpuless step"; }

 private:
  const std::shared_ptr<ProgramWatch> watch_;
};

// Returns the error with which the rendezvous was aborted, if it was. There
// is no other way to ask than to send something that nobody receives.
Status AbortStatus(Rendezvous& rendezvous, const std::string& key) {
  Rendezvous::ParsedKey parsed;
  TPULESS_RETURN_IF_ERROR(FromAbsl(Rendezvous::ParseKey(key, &parsed)));
  return FromAbsl(rendezvous.Send(parsed, Rendezvous::Args(),
                                  tensorflow::Tensor(), /*is_dead=*/false));
}

void WatchRendezvous(OpKernelContext* ctx, Rendezvous* rendezvous,
                     const std::shared_ptr<ProgramWatch>& watch) {
  const auto& device = ctx->device()->attributes();
  const std::string key =
      Rendezvous::CreateKey(device.name(), device.incarnation(), device.name(),
                            "tpuless_watch", tensorflow::FrameAndIter(0, 0));
  tensorflow::CancellationManager* manager = ctx->cancellation_manager();
  manager->RegisterCallback(
      manager->get_cancellation_token(),
      [watch, key, weak = tsl::core::WeakPtr<Rendezvous>(rendezvous)] {
        const auto alive = weak.GetNewRef();
        if (alive == nullptr) return;
        const Status status = AbortStatus(*alive, key);
        if (!status.ok()) watch->GiveUp(status);
      });
}

void WatchSession(OpKernelContext* ctx,
                  const std::shared_ptr<ProgramWatch>& watch) {
  auto* resource = new ContainerWatch(watch);
  const absl::Status status = ctx->step_container()->Create(
      ctx->resource_manager(),
      StrCat("tpuless_watch_", reinterpret_cast<uintptr_t>(resource)),
      resource);
  if (!status.ok()) return;
  tensorflow::CancellationManager* manager = ctx->cancellation_manager();
  manager->RegisterCallback(manager->get_cancellation_token(),
                            [watch] { watch->Cancelled(); });
}

// Returns whether `ctx` is that of an eager op, which TensorFlow runs as a
// function with the op's own signature and nothing else in it. It is a program
// of its own, and done when it ends; but functions that run at the same time
// share a rendezvous, and another one that fails aborts it.
bool IsEager(OpKernelContext* ctx) {
  const tensorflow::OpKernel& kernel = ctx->op_kernel();
  tensorflow::CallFrameInterface* frame = ctx->call_frame();
  return frame != nullptr && kernel.name() == kernel.type_string() &&
         static_cast<int>(frame->num_args()) == ctx->num_inputs() &&
         static_cast<int>(frame->num_retvals()) == ctx->num_outputs();
}

}  // namespace

int64_t ProgramOf(OpKernelContext* ctx) {
  if (IsEager(ctx)) return 0;
  if (ctx->session_state() == nullptr) return ctx->step_id();
  // Each local session counts its steps from 1.
  const auto session = reinterpret_cast<uintptr_t>(ctx->session_state());
  const auto step = static_cast<uint64_t>(ctx->step_id());
  return static_cast<int64_t>(session * 0x9E3779B97F4A7C15 + step);
}

void WatchProgram(OpKernelContext* ctx, const std::shared_ptr<Engine>& engine) {
  if (ctx->cancellation_manager() == nullptr) return;
  auto* rendezvous = dynamic_cast<Rendezvous*>(ctx->rendezvous());
  const bool in_session =
      ctx->session_state() != nullptr && ctx->step_container() != nullptr;
  if (rendezvous == nullptr && !in_session) return;

  const int64_t program = ProgramOf(ctx);
  if (program == 0) return;  // TensorFlow did not number the step.
  if (!WatchedPrograms::Get().Insert({engine.get(), program})) return;
  const auto watch = std::make_shared<ProgramWatch>(engine, program);
  if (rendezvous != nullptr) {
    WatchRendezvous(ctx, rendezvous, watch);
  } else {
    WatchSession(ctx, watch);
  }
}

}  // namespace tpuless
