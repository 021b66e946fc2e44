// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Denormals are zero while the engine works, and only then.
#include "cc/engine/denormals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "cc/engine/lookup.h"
#include "cc/engine/update.h"
#include "tests/cc/configs.h"
#include "tests/cc/table_contents.h"

namespace tpuless {
namespace {

constexpr float kMin = std::numeric_limits<float>::min();
constexpr float kDenormal = std::numeric_limits<float>::denorm_min();

// Multiplies where the compiler cannot.
float Product(float a, float b) {
  volatile float x = a, y = b;
  return x * y;
}

TEST(FlushDenormalsTest, ResultsThatAreDenormalBecomeZero) {
  ASSERT_NE(Product(kMin, .5f), 0);
  {
    const FlushDenormals flush;
    EXPECT_EQ(Product(kMin, .5f), 0);
    EXPECT_NE(Product(kMin, 1), 0);
  }
  EXPECT_NE(Product(kMin, .5f), 0);
}

TEST(FlushDenormalsTest, OperandsThatAreDenormalReadAsZero) {
  ASSERT_NE(Product(kDenormal, 0x1p100f), 0);
  {
    const FlushDenormals flush;
    EXPECT_EQ(Product(kDenormal, 0x1p100f), 0);
  }
  EXPECT_NE(Product(kDenormal, 0x1p100f), 0);
}

TEST(FlushDenormalsTest, InnerOnesDoNotEndTheOuterOne) {
  const FlushDenormals outer;
  {
    const FlushDenormals inner;
  }

  EXPECT_EQ(Product(kMin, .5f), 0);
}

// Runs `work` as a thread that flushes would, and as one that does not.
template <class Work>
void ExpectTheSameEitherWay(const Work& work, float expected) {
  EXPECT_EQ(work(), expected);
  const FlushDenormals flush;
  EXPECT_EQ(work(), expected);
}

TEST(FlushDenormalsTest, LookupsDoNotDependOnTheCallersMode) {
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  tables.push_back(LoadedTable(Table("user", 1, 1), {{kMin / 2}}));
  Minibatch minibatch;
  minibatch.inputs.resize(1);
  minibatch.inputs[0].row_splits = {0, 1};
  minibatch.inputs[0].ids = {0};
  minibatch.inputs[0].gains = {0x1p50f};

  ExpectTheSameEitherWay(
      [&] {
        float activation = -1;
        Lookup(tables, minibatch, {&activation}, ParallelFor());
        return activation;
      },
      0);
}

TEST(FlushDenormalsTest, UpdatesDoNotDependOnTheCallersMode) {
  RowGroups groups;
  groups.row_ids = {0};
  groups.row_starts = {0, 1};
  groups.contributions = {{0, 0, 1}};
  const float gradient = kMin / 2;

  ExpectTheSameEitherWay(
      [&] {
        std::vector<std::unique_ptr<EmbeddingTable>> tables;
        TableConfig config = Table("user", 1, 1);
        config.learning_rate = 0x1p50f;
        tables.push_back(LoadedTable(config, {{0}}));
        UpdateTables(tables, {&groups}, {&gradient}, {}, ParallelFor());
        return Retrieved(*tables[0])[0][0];
      },
      0);
}

TEST(FlushDenormalsTest, WeightDecayDoesNotDependOnTheCallersMode) {
  RowGroups groups;
  groups.row_ids = {0};
  groups.row_starts = {0, 1};
  groups.contributions = {{0, 0, 1}};
  const float gradient = 0;

  ExpectTheSameEitherWay(
      [&] {
        std::vector<std::unique_ptr<EmbeddingTable>> tables;
        TableConfig config = Table("user", 1, 1);
        config.learning_rate = kDenormal;
        config.weight_decay_factor = 0x1p127f;
        config.multiply_weight_decay_by_learning_rate = true;
        tables.push_back(LoadedTable(config, {{1}}));
        UpdateTables(tables, {&groups}, {&gradient}, {}, ParallelFor());
        return Retrieved(*tables[0])[0][0];
      },
      1);
}

TEST(FlushDenormalsTest, RowsThatNobodyTouchesKeepTheirDenormals) {
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  tables.push_back(LoadedTable(Table("user", 2, 1), {{kDenormal, 1}}));
  RowGroups groups;
  groups.row_ids = {1};
  groups.row_starts = {0, 1};
  groups.contributions = {{0, 0, 1}};
  const float gradient = 0;

  UpdateTables(tables, {&groups}, {&gradient}, {}, ParallelFor());

  EXPECT_EQ(Retrieved(*tables[0])[0], (std::vector<float>{kDenormal, 1}));
}

}  // namespace
}  // namespace tpuless
