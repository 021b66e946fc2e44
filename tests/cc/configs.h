// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Short ways to write a configuration.
#ifndef TPULESS_TESTS_CC_CONFIGS_H_
#define TPULESS_TESTS_CC_CONFIGS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/engine/engine_config.h"

namespace tpuless {

// A table of `optimizer` with a constant learning rate of 1.
inline TableConfig Table(
    const std::string& name, int64_t vocabulary_size, int64_t dimension,
    int64_t num_features = 0,
    const std::string& optimizer = "stochastic_gradient_descent") {
  TableConfig table;
  table.name = name;
  table.vocabulary_size = vocabulary_size;
  table.dimension = dimension;
  table.num_features = num_features;
  table.optimizer = optimizer;
  table.learning_rate = 1;
  return table;
}

inline FeatureConfig Feature(const std::string& name, int64_t table,
                             std::vector<int64_t> shape) {
  FeatureConfig feature;
  feature.name = name;
  feature.table = table;
  feature.shape = std::move(shape);
  return feature;
}

// Training configurations as a caller would write them.
inline EngineConfig TableLayout(int64_t batch_size,
                                std::vector<TableConfig> tables) {
  EngineConfig config;
  config.mode = Mode::kTraining;
  config.batch_size = batch_size;
  config.tables = std::move(tables);
  return config;
}

inline EngineConfig FeatureLayout(std::vector<TableConfig> tables,
                                  std::vector<FeatureConfig> features) {
  EngineConfig config;
  config.mode = Mode::kTraining;
  config.tables = std::move(tables);
  config.features = std::move(features);
  return config;
}

// Returns the configuration as an engine takes it.
inline EngineConfig Completed(EngineConfig config) {
  const Status status = CheckAndComplete(config);
  EXPECT_TRUE(status.ok()) << status.message();
  return config;
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_CONFIGS_H_
