// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Checks what a call alone can be refused for, then hands it on.
#include "cc/engine/engine.h"

#include <utility>

#include "cc/engine/step_protocol.h"

namespace tpuless {
namespace {

// Returns whether a batch belongs to no step. Its request may be a bad one.
bool IsInference(const EnqueueRequest& request, Mode configured) {
  return request.mode_override == "inference" ||
         (request.mode_override == "unspecified" &&
          configured == Mode::kInference);
}

}  // namespace

Result<std::shared_ptr<Engine>> Engine::Create(EngineConfig config,
                                               const EngineOptions& options) {
  if (!options.experimental_optimizers) {
    TPULESS_RETURN_IF_ERROR(CheckNoExperimentalOptimizers(config));
  }
  TPULESS_RETURN_IF_ERROR(CheckMemory(config));
  return std::shared_ptr<Engine>(new Engine(std::move(config), options));
}

Engine::Engine(EngineConfig config, const EngineOptions& options)
    : config_(std::move(config)),
      tables_(config_),
      enqueue_memory_(config_.num_cores),
      protocol_(std::make_shared<StepProtocol>(
          config_.num_cores, config_.pipelined, tables_, options)) {}

Engine::~Engine() { Shutdown(); }

const EngineConfig& Engine::config() const { return config_; }

EngineOptions Engine::options() const { return protocol_->options(); }

void Engine::SetOptions(const EngineOptions& options) {
  protocol_->SetOptions(options);
}

Statistics Engine::statistics() const {
  Statistics statistics = protocol_->statistics();
  for (int64_t i = 0; i < tables_.size(); ++i) {
    const TableConfig& table = tables_[i].config();
    statistics.tables.push_back({table.name, table.vocabulary_size,
                                 table.dimension, tables_[i].num_bytes(),
                                 tables_.IsLoaded(i)});
  }
  return statistics;
}

Result<int64_t> Engine::FindTable(const std::string& name, int64_t id) const {
  if (name.empty()) {
    if (id >= 0 && id < tables_.size()) return id;
    return InvalidArgument("table_id must be >= 0 and < ", tables_.size(),
                           ", got ", id);
  }
  std::string known;
  for (int64_t i = 0; i < tables_.size(); ++i) {
    if (tables_[i].config().name == name) return i;
    known += StrCat(i > 0 ? ", '" : "'", tables_[i].config().name, "'");
  }
  return NotFound("unknown table '", name, "', expected one of ", known);
}

const EmbeddingTable& Engine::table(int64_t id) const { return tables_[id]; }

Status Engine::Load(int64_t table, const Shard& shard,
                    const std::vector<TensorView>& variables,
                    const ParallelFor& parallel_for) {
  protocol_->Flush(parallel_for);
  return tables_.Load(table, shard, variables, parallel_for);
}

Status Engine::Retrieve(int64_t table, const Shard& shard,
                        const std::vector<float*>& variables,
                        const ParallelFor& parallel_for) {
  protocol_->Flush(parallel_for);
  return tables_.Retrieve(table, shard, variables, parallel_for);
}

void Engine::Enqueue(const EnqueueRequest& request, Call call) {
  Result<std::shared_ptr<Minibatch>> minibatch =
      PrepareMinibatch(config_, request, options().skip_out_of_range_ids,
                       enqueue_memory_, call.parallel_for);
  if (!minibatch.ok()) {
    const int64_t core =
        request.device_ordinal == -1 ? 0 : request.device_ordinal;
    if (CheckCore(core).ok() && !IsInference(request, config_.mode)) {
      protocol_->RefuseEnqueue(core, minibatch.status(), call);
    } else {
      call.done(minibatch.status());
    }
    return;
  }
  protocol_->Enqueue(std::move(*minibatch), KeepingAlive(std::move(call)));
}

void Engine::Receive(int64_t core, const std::vector<float*>& outputs,
                     Call call) {
  Status status = CheckCore(core);
  if (status.ok()) status = tables_.CheckLoaded();
  if (!status.ok()) {
    call.done(status);
    return;
  }
  protocol_->Receive(core, outputs, KeepingAlive(std::move(call)));
}

void Engine::Send(int64_t core, Gradients gradients,
                  const std::vector<TensorView>& learning_rates, Call call) {
  Status status = CheckCore(core);
  if (status.ok()) status = tables_.CheckLoaded();
  if (!status.ok()) {
    call.done(status);
    return;
  }
  status = CheckGradients(gradients.tensors);
  if (status.ok()) status = CheckLearningRates(learning_rates);
  if (!status.ok()) {
    protocol_->RefuseSend(core, status, call);
    return;
  }
  std::vector<float> rates;
  for (const TensorView& rate : learning_rates) {
    rates.push_back(*static_cast<const float*>(rate.data));
  }
  protocol_->Send(core, std::move(gradients), std::move(rates),
                  KeepingAlive(std::move(call)));
}

Call Engine::KeepingAlive(Call call) {
  call.done = [engine = shared_from_this(), done = std::move(call.done)](
                  const Status& status) { done(status); };
  return call;
}

Status Engine::CheckCore(int64_t core) const {
  if (core >= 0 && core < config_.num_cores) return Status();
  return InvalidArgument("core must be >= 0 and < ", config_.num_cores,
                         ", the cores of this host, got ", core);
}

Status Engine::CheckGradients(const std::vector<TensorView>& gradients) const {
  const size_t num_outputs = config_.features.size();
  if (gradients.size() != num_outputs) {
    return InvalidArgument("must have ", num_outputs, " gradients, one a ",
                           config_.feature_layout ? "feature" : "table",
                           ", got ", gradients.size());
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    const int64_t output = static_cast<int64_t>(i);
    if (gradients[i].dtype != DType::kFloat32) {
      return InvalidArgument(config_.output_name(output),
                             ": gradients must be float32");
    }
    const std::vector<int64_t> shape = config_.output_shape(output);
    if (gradients[i].shape != shape) {
      return InvalidArgument(config_.output_name(output),
                             ": gradients must have shape ", ShapeString(shape),
                             ", got ", ShapeString(gradients[i].shape));
    }
  }
  return Status();
}

Status Engine::CheckLearningRates(const std::vector<TensorView>& rates) const {
  const int64_t expected = config_.num_learning_rates();
  if (static_cast<int64_t>(rates.size()) != expected) {
    return InvalidArgument("must have ", expected,
                           " learning rates, one a dynamic tag, got ",
                           rates.size());
  }
  for (size_t i = 0; i < rates.size(); ++i) {
    if (rates[i].rank() != 0 || rates[i].dtype != DType::kFloat32) {
      return InvalidArgument("learning_rates[", i,
                             "] must be a float32 scalar, got shape ",
                             ShapeString(rates[i].shape));
    }
  }
  return Status();
}

Status Engine::AbandonStep() { return protocol_->AbandonStep(); }

void Engine::GiveUpProgram(int64_t program, const Status& why) {
  protocol_->GiveUpProgram(program, why);
}

void Engine::SweepCancelled() { protocol_->SweepCancelled(); }

void Engine::Shutdown() { protocol_->Shutdown(); }

}  // namespace tpuless
