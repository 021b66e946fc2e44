// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Tables with known or random contents.
#ifndef TPULESS_TESTS_CC_TABLE_CONTENTS_H_
#define TPULESS_TESTS_CC_TABLE_CONTENTS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "cc/engine/embedding_table.h"

namespace tpuless {

// Weights, then slots, each [rows, dimension].
using Variables = std::vector<std::vector<float>>;

// Returns floats in [lower, upper), the same ones on every machine.
inline std::vector<float> RandomFloats(int64_t size, float lower, float upper,
                                       std::mt19937& random) {
  std::vector<float> floats;
  for (int64_t i = 0; i < size; ++i) {
    const float unit = static_cast<float>(random() >> 8) * 0x1p-24f;
    floats.push_back(lower + (upper - lower) * unit);
  }
  return floats;
}

inline std::vector<const float*> ConstPointers(const Variables& variables) {
  std::vector<const float*> pointers;
  for (const auto& variable : variables) pointers.push_back(variable.data());
  return pointers;
}

inline std::vector<float*> Pointers(Variables& variables) {
  std::vector<float*> pointers;
  for (auto& variable : variables) pointers.push_back(variable.data());
  return pointers;
}

inline std::unique_ptr<EmbeddingTable> LoadedTable(const TableConfig& config,
                                                   const Variables& variables) {
  auto table = std::make_unique<EmbeddingTable>(config, ShardingStrategy::kDiv);
  const Status status =
      table->Load(Shard(), ConstPointers(variables), ParallelFor());
  EXPECT_TRUE(status.ok()) << status.message();
  return table;
}

inline Variables Retrieved(const EmbeddingTable& table,
                           const Shard& shard = Shard()) {
  const int64_t size = *table.ShardRows(shard) * table.config().dimension;
  Variables variables(table.num_variables(), std::vector<float>(size));
  const Status status =
      table.Retrieve(shard, Pointers(variables), ParallelFor());
  EXPECT_TRUE(status.ok()) << status.message();
  return variables;
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_TABLE_CONTENTS_H_
