// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What an engine is configured with: tables, features, cores, mode.
#ifndef TPULESS_CC_ENGINE_ENGINE_CONFIG_H_
#define TPULESS_CC_ENGINE_ENGINE_CONFIG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/engine/optimizer.h"
#include "cc/engine/status.h"

namespace tpuless {

enum class Mode { kUnspecified = 0, kInference, kTraining, kBackwardPassOnly };

enum class ShardingStrategy { kDiv = 0, kMod };

// x <- round to one of `num_buckets` evenly spaced values within the limits.
struct SimulatedQuantization {
  Limits limits;
  int32_t num_buckets;
};

struct TableConfig {
  std::string name;
  int64_t vocabulary_size = 0;  // Rows.
  int64_t dimension = 0;        // Columns.
  int64_t num_features = 0;     // Table layout only, else filled in.

  std::string optimizer;  // OptimizerInfo::name.
  // Of a user_defined_program, whose slots are the program's; else null.
  std::shared_ptr<const OptimizerInfo> user_optimizer;
  Hyperparameters hyperparameters;
  float learning_rate = 0;                   // If there is no tag.
  std::optional<int32_t> learning_rate_tag;  // Index into Send's rates.
  std::optional<int32_t> dynamic_input_tag;  // Likewise.
  std::optional<Limits> clip_weights;
  std::optional<Limits> clip_gradients;
  float weight_decay_factor = 0;
  bool multiply_weight_decay_by_learning_rate = false;
  bool accumulate_gradients = true;
  std::optional<SimulatedQuantization> quantization;

  // Returns null if there is no such optimizer.
  const OptimizerInfo* optimizer_info() const;
};

struct FeatureConfig {
  std::string name;  // May be empty.
  int64_t table = 0;
  std::vector<int64_t> shape;  // Of the output, without the dimension.

  int64_t num_rows() const {
    int64_t rows = 1;
    for (int64_t dim : shape) rows *= dim;
    return rows;
  }
};

struct EngineConfig {
  std::vector<TableConfig> tables;
  // With the feature layout one output a feature, else one a table; then
  // CheckAndComplete() adds the implied feature of each table.
  std::vector<FeatureConfig> features;
  bool feature_layout = false;
  Mode mode = Mode::kUnspecified;
  int64_t batch_size = 0;  // Samples a core; filled in with features.
  int64_t num_hosts = 1;
  int64_t num_cores = 1;  // Of this host.
  ShardingStrategy sharding = ShardingStrategy::kDiv;
  bool pipelined = false;

  int64_t num_learning_rates() const;

  // Returns the shape of output `i` of Receive: [rows..., dimension].
  std::vector<int64_t> output_shape(int64_t i) const;

  // Returns "feature 'watched'", or "table 'user'" in the table layout.
  std::string output_name(int64_t i) const;
};

// Refuses a configuration that cannot run, naming the table or feature, and
// fills in what one layout implies of the other.
Status CheckAndComplete(EngineConfig& config);

// Refuses optimizers that run only on request.
Status CheckNoExperimentalOptimizers(const EngineConfig& config);

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_ENGINE_CONFIG_H_
