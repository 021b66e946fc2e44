// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Where kernels find the engine of the TensorFlow task that they run in.
#include "cc/kernels/engine_store.h"

#include <map>
#include <tuple>

#include "cc/config/tpu_embedding_config.h"
#include "cc/kernels/activation_memory.h"
#include "tensorflow/core/framework/device_base.h"

namespace tpuless {

ConfigAttribute::ConfigAttribute(tensorflow::OpKernelConstruction* ctx) {
  OP_REQUIRES_OK(ctx, ctx->GetAttr("config", &bytes_));
}

EngineStore& EngineStore::Of(tensorflow::OpKernelContext* ctx) {
  using Task = std::tuple<std::string, int, int>;
  // Never destroyed: kernels may run until the process ends.
  static auto* mutex = new std::mutex;
  static auto* stores = new std::map<Task, std::unique_ptr<EngineStore>>;

  const auto& name = ctx->device()->parsed_name();
  std::lock_guard<std::mutex> lock(*mutex);
  std::unique_ptr<EngineStore>& store =
      (*stores)[Task(name.job, name.replica, name.task)];
  if (store == nullptr) store = std::make_unique<EngineStore>();
  return *store;
}

Result<std::shared_ptr<Engine>> EngineStore::Create(
    const std::string& config) const {
  Result<EngineConfig> parsed = ParseTpuEmbeddingConfig(config);
  if (!parsed.ok()) return parsed.status();
  return Engine::Create(std::move(*parsed), options_);
}

Status EngineStore::Configure(const std::string& config) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (engine_ != nullptr) {
    return Status(StatusCode::kAlreadyExists,
                  "an engine is configured already; tpuless.reset() or "
                  "ShutdownDistributedTPU drops it");
  }
  Result<std::shared_ptr<Engine>> engine = Create(config);
  if (!engine.ok()) return engine.status();
  engine_ = *engine;
  config_ = config;
  ++configuration_;
  return Status();
}

Status EngineStore::Reset(const std::string& config) {
  std::shared_ptr<Engine> old;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Engine> engine;
    if (!config.empty()) {
      Result<std::shared_ptr<Engine>> created = Create(config);
      if (!created.ok()) return created.status();
      engine = *created;
      ++configuration_;
    }
    old = std::exchange(engine_, engine);
    config_ = config;
  }
  if (old != nullptr) old->Shutdown();
  ActivationMemory::Get().ReleaseIdle();
  return Status();
}

Result<std::shared_ptr<Engine>> EngineStore::Find(ConfigAttribute& config) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (engine_ == nullptr) return NotConfigured();
  std::shared_ptr<Engine> engine = engine_;
  const int64_t configuration = configuration_;
  if (config.bytes_.empty() || config.equal_to_ == configuration) {
    return engine;
  }
  const std::string configured = config_;
  lock.unlock();
  TPULESS_RETURN_IF_ERROR(CheckSameConfig(configured, config.bytes_));
  config.equal_to_ = configuration;
  return engine;
}

Status EngineStore::NotConfigured() {
  return FailedPrecondition(
      "no engine is configured; run ConfigureTPUEmbedding first");
}

std::shared_ptr<Engine> EngineStore::Get() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return engine_;
}

EngineOptions EngineStore::options() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return options_;
}

void EngineStore::SetOptions(const EngineOptions& options) {
  std::lock_guard<std::mutex> lock(mutex_);
  options_ = options;
  if (engine_ != nullptr) engine_->SetOptions(options);
}

}  // namespace tpuless
