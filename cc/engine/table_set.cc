// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Locks around the tables, and the two passes over all of them.
#include "cc/engine/table_set.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include "cc/engine/lookup.h"
#include "cc/engine/memory.h"
#include "cc/engine/step_queue.h"
#include "cc/engine/update.h"

namespace tpuless {
namespace {

// Returns "parameters" or the name of the slot variable before it.
std::string VariableName(const OptimizerInfo& info, size_t variable) {
  return variable == 0 ? "parameters" : info.slots[variable - 1];
}

Status CheckVariables(const EmbeddingTable& table, int64_t num_rows,
                      const std::vector<TensorView>& variables) {
  const std::string& name = table.config().name;
  const size_t num_variables = static_cast<size_t>(table.num_variables());
  if (variables.size() != num_variables) {
    return InvalidArgument("table '", name, "': must have ", num_variables,
                           " variables for optimizer '",
                           table.optimizer_info().name, "', got ",
                           variables.size());
  }
  const std::vector<int64_t> shape = {num_rows, table.config().dimension};
  for (size_t i = 0; i < num_variables; ++i) {
    const std::string variable = VariableName(table.optimizer_info(), i);
    if (variables[i].dtype != DType::kFloat32) {
      return InvalidArgument("table '", name, "': ", variable,
                             " must be float32");
    }
    if (variables[i].shape != shape) {
      return InvalidArgument("table '", name, "': ", variable,
                             " must have shape ", ShapeString(shape), ", got ",
                             ShapeString(variables[i].shape));
    }
  }
  return Status();
}

// Writes a size that may not fit any integer.
std::string BytesString(double num_bytes) {
  std::ostringstream out;
  out.precision(0);
  out << std::fixed << num_bytes;
  return out.str();
}

Status CheckTableMemory(const EngineConfig& config, int64_t limit) {
  double total = 0;
  for (const TableConfig& table : config.tables) {
    const double num_variables = 1.0 + table.optimizer_info()->slots.size();
    const double num_bytes = static_cast<double>(table.vocabulary_size) *
                             table.dimension * num_variables * sizeof(float);
    total += num_bytes;
    if (total > limit) {
      return ResourceExhausted(
          "table '", table.name, "': needs ", BytesString(num_bytes),
          " bytes (", table.vocabulary_size, " rows x ", table.dimension, " x ",
          num_variables, " variables x 4 bytes), ", BytesString(total),
          " with the tables before it, but the machine has ", limit);
    }
  }
  return Status();
}

Status CheckActivationMemory(const EngineConfig& config, int64_t limit) {
  double total = 0;
  for (size_t i = 0; i < config.features.size(); ++i) {
    const int64_t output = static_cast<int64_t>(i);
    const std::vector<int64_t> shape = config.output_shape(output);
    // Activations, and what a minibatch knows of each of their rows.
    const double num_bytes =
        static_cast<double>(config.features[i].num_rows()) *
        (shape.back() * sizeof(float) + sizeof(int64_t));
    total += num_bytes;
    if (total > limit) {
      return ResourceExhausted(
          config.output_name(output), ": a batch of shape ", ShapeString(shape),
          " needs ", BytesString(num_bytes), " bytes, ", BytesString(total),
          " with the outputs before it, but the machine has ", limit);
    }
  }
  return Status();
}

}  // namespace

Status CheckMemory(const EngineConfig& config) {
  const int64_t limit = MemoryLimit();
  TPULESS_RETURN_IF_ERROR(CheckTableMemory(config, limit));
  return CheckActivationMemory(config, limit);
}

TableSet::TableSet(const EngineConfig& config) : config_(config) {
  for (const TableConfig& table : config.tables) {
    tables_.push_back(std::make_unique<EmbeddingTable>(table, config.sharding));
  }
}

Status TableSet::Load(int64_t table, const Shard& shard,
                      const std::vector<TensorView>& variables,
                      const ParallelFor& parallel_for) {
  const Result<int64_t> num_rows = tables_[table]->ShardRows(shard);
  if (!num_rows.ok()) return num_rows.status();
  TPULESS_RETURN_IF_ERROR(
      CheckVariables(*tables_[table], *num_rows, variables));
  std::vector<const float*> data;
  for (const TensorView& variable : variables) {
    data.push_back(static_cast<const float*>(variable.data));
  }
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  TPULESS_RETURN_IF_ERROR(tables_[table]->Load(shard, data, parallel_for));
  all_loaded_ =
      std::all_of(tables_.begin(), tables_.end(),
                  [](const auto& each) { return each->CheckLoaded().ok(); });
  return Status();
}

Status TableSet::Retrieve(int64_t table, const Shard& shard,
                          const std::vector<float*>& variables,
                          const ParallelFor& parallel_for) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return tables_[table]->Retrieve(shard, variables, parallel_for);
}

Status TableSet::CheckLoaded() const {
  if (all_loaded_) return Status();
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  for (const auto& table : tables_) {
    TPULESS_RETURN_IF_ERROR(table->CheckLoaded());
  }
  return Status();
}

bool TableSet::IsLoaded(int64_t table) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  return tables_[table]->CheckLoaded().ok();
}

void TableSet::Lookup(const Minibatch& minibatch,
                      const std::vector<float*>& outputs,
                      const ParallelFor& parallel_for) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  ::tpuless::Lookup(tables_, minibatch, outputs, parallel_for);
}

int64_t TableSet::Apply(const Step& step, const ParallelFor& parallel_for) {
  std::vector<const float*> gradients;
  for (const auto& batch : step.batches) {
    for (const TensorView& tensor : batch->gradients.tensors) {
      gradients.push_back(static_cast<const float*>(tensor.data));
    }
  }
  const int64_t num_outputs = static_cast<int64_t>(config_.features.size());
  std::vector<RowGroups> merged(step.batches.size() > 1 ? size() : 0);
  parallel_for(static_cast<int64_t>(merged.size()), [&](int64_t table) {
    std::vector<const RowGroups*> cores;
    for (const auto& batch : step.batches) {
      cores.push_back(&batch->minibatch->groups[table]);
    }
    merged[table] = MergeGroups(cores, num_outputs);
  });
  std::vector<const RowGroups*> groups;
  int64_t num_rows = 0;
  for (int64_t table = 0; table < size(); ++table) {
    groups.push_back(merged.empty() ? &step.batches[0]->minibatch->groups[table]
                                    : &merged[table]);
    num_rows += groups.back()->num_rows();
  }
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  UpdateTables(tables_, groups, gradients, step.learning_rates, parallel_for);
  return num_rows;
}

}  // namespace tpuless
