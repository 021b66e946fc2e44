// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/pybind/describe.h"

#include <pybind11/stl.h>

#include "cc/engine/memory.h"
#include "cc/engine/optimizer.h"

namespace tpuless {
namespace {

namespace py = pybind11;
using py::literals::operator""_a;

const char* ModeName(Mode mode) {
  switch (mode) {
    case Mode::kUnspecified:
      return "UNSPECIFIED";
    case Mode::kInference:
      return "INFERENCE";
    case Mode::kTraining:
      return "TRAINING";
    case Mode::kBackwardPassOnly:
      return "BACKWARD_PASS_ONLY";
  }
  return "";
}

py::dict DescribeTable(const TableConfig& table) {
  return py::dict(
      "name"_a = table.name, "vocabulary_size"_a = table.vocabulary_size,
      "dimension"_a = table.dimension, "num_features"_a = table.num_features,
      "optimizer"_a = table.optimizer,
      "slots"_a = table.optimizer_info()->slots,
      "hyperparameters"_a = table.hyperparameters.values(),
      "accumulates"_a = table.accumulate_gradients,
      "learning_rate"_a = table.learning_rate,
      "learning_rate_tag"_a = table.learning_rate_tag);
}

py::dict DescribeOutput(const EngineConfig& config, int64_t i) {
  const FeatureConfig& feature = config.features[i];
  return py::dict("name"_a = feature.name, "title"_a = config.output_name(i),
                  "table"_a = feature.table,
                  "shape"_a = config.output_shape(i));
}

}  // namespace

py::list DescribeOptimizers() {
  py::list optimizers;
  for (const OptimizerInfo* info : Optimizers()) {
    optimizers.append(py::dict(
        "name"_a = info->name, "op_name"_a = info->op_name,
        "slots"_a = info->slots, "hyperparameters"_a = info->hyperparameters,
        "dynamic_input"_a = info->dynamic_input));
  }
  return optimizers;
}

py::list DescribeRefusedOptimizers() {
  py::list optimizers;
  for (const RefusedOptimizer& refused : RefusedOptimizers()) {
    optimizers.append(py::dict("name"_a = refused.name,
                               "op_name"_a = refused.op_name,
                               "reason"_a = refused.reason));
  }
  return optimizers;
}

py::dict DescribeConfig(const EngineConfig& config) {
  py::list tables;
  for (const TableConfig& table : config.tables) {
    tables.append(DescribeTable(table));
  }
  py::list outputs;
  for (size_t i = 0; i < config.features.size(); ++i) {
    outputs.append(DescribeOutput(config, static_cast<int64_t>(i)));
  }
  return py::dict(
      "mode"_a = ModeName(config.mode), "batch_size"_a = config.batch_size,
      "num_hosts"_a = config.num_hosts, "num_cores"_a = config.num_cores,
      "sharding"_a = config.sharding == ShardingStrategy::kMod ? "MOD" : "DIV",
      "pipelined"_a = config.pipelined,
      "feature_layout"_a = config.feature_layout,
      "num_learning_rates"_a = config.num_learning_rates(), "tables"_a = tables,
      "outputs"_a = outputs, "memory_limit"_a = MemoryLimit());
}

py::tuple DescribeStatistics(const Statistics& statistics) {
  py::list table_names;
  py::list table_values;
  for (const TableStatistics& table : statistics.tables) {
    table_names.append(table.name);
    table_values.append(py::make_tuple(table.vocabulary_size, table.dimension,
                                       table.num_bytes, table.loaded));
  }
  const py::dict counters(
      "enqueues"_a = statistics.enqueues, "receives"_a = statistics.receives,
      "sends"_a = statistics.sends, "steps"_a = statistics.steps,
      "abandoned_steps"_a = statistics.abandoned_steps,
      "ids"_a = statistics.ids, "unique_rows"_a = statistics.unique_rows,
      "queued_batches"_a = statistics.queued_batches);
  return py::make_tuple(py::list(counters.attr("keys")()),
                        py::list(counters.attr("values")()), table_names,
                        table_values);
}

}  // namespace tpuless
