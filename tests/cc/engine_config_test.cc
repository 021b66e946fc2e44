// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What each layout implies, and names of outputs.
#include "cc/engine/engine_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/cc/configs.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

using ::testing::ElementsAre;

TEST(EngineConfigTest, TableLayoutImpliesOneFeatureATable) {
  EngineConfig config =
      TableLayout(4, {Table("user", 8, 2, 3), Table("item", 8, 5, 1)});

  ASSERT_THAT(CheckAndComplete(config), IsOk());

  EXPECT_FALSE(config.feature_layout);
  ASSERT_EQ(config.features.size(), 2u);
  EXPECT_EQ(config.features[0].table, 0);
  EXPECT_THAT(config.features[0].shape, ElementsAre(12));
  EXPECT_EQ(config.features[1].table, 1);
  EXPECT_THAT(config.features[1].shape, ElementsAre(4));
  EXPECT_EQ(config.batch_size, 4);
}

TEST(EngineConfigTest, FeatureLayoutImpliesTheLargestBatchSize) {
  EngineConfig config = FeatureLayout(
      {Table("user", 8, 2), Table("item", 8, 2)},
      {Feature("a", 0, {6, 3}), Feature("b", 1, {12}), Feature("c", 0, {30})});

  ASSERT_THAT(CheckAndComplete(config), IsOk());

  EXPECT_TRUE(config.feature_layout);
  EXPECT_EQ(config.batch_size, 6);
  EXPECT_EQ(config.tables[0].num_features, 3 + 5);
  EXPECT_EQ(config.tables[1].num_features, 2);
  EXPECT_EQ(config.features.size(), 3u);
}

TEST(EngineConfigTest, CoprimeFeaturesImplyABatchSizeOfOne) {
  EngineConfig config = FeatureLayout(
      {Table("user", 8, 2)}, {Feature("a", 0, {4}), Feature("b", 0, {9})});

  ASSERT_THAT(CheckAndComplete(config), IsOk());

  EXPECT_EQ(config.batch_size, 1);
  EXPECT_EQ(config.tables[0].num_features, 13);
}

TEST(EngineConfigTest, OutputShapeOfATableIsItsRowsByItsDimension) {
  const EngineConfig config =
      Completed(TableLayout(4, {Table("user", 8, 2, 3)}));

  EXPECT_THAT(config.output_shape(0), ElementsAre(12, 2));
}

TEST(EngineConfigTest, OutputShapeOfAFeatureEndsInTheDimension) {
  const EngineConfig config =
      Completed(FeatureLayout({Table("user", 8, 2), Table("item", 8, 7)},
                              {Feature("a", 1, {2, 3}), Feature("b", 0, {2})}));

  EXPECT_THAT(config.output_shape(0), ElementsAre(2, 3, 7));
  EXPECT_THAT(config.output_shape(1), ElementsAre(2, 2));
}

TEST(EngineConfigTest, OutputsAreNamedAsTheCallerWroteThem) {
  const EngineConfig tables =
      Completed(TableLayout(4, {Table("user", 8, 2, 3)}));
  const EngineConfig features = Completed(
      FeatureLayout({Table("user", 8, 2)},
                    {Feature("watched", 0, {2}), Feature("", 0, {2})}));

  EXPECT_EQ(tables.output_name(0), "table 'user'");
  EXPECT_EQ(features.output_name(0), "feature 'watched'");
  EXPECT_EQ(features.output_name(1), "feature 1");
}

TEST(EngineConfigTest, NumberOfLearningRatesIsThatOfDistinctTags) {
  EngineConfig config =
      TableLayout(1, {Table("a", 8, 2, 1), Table("b", 8, 2, 1),
                      Table("c", 8, 2, 1), Table("d", 8, 2, 1)});
  EXPECT_EQ(config.num_learning_rates(), 0);

  config.tables[0].learning_rate_tag = 1;
  config.tables[2].learning_rate_tag = 0;
  config.tables[3].learning_rate_tag = 1;

  EXPECT_THAT(CheckAndComplete(config), IsOk());
  EXPECT_EQ(config.num_learning_rates(), 2);
}

TEST(EngineConfigTest, DynamicInputsAreAmongTheLearningRates) {
  EngineConfig config = TableLayout(
      1, {Table("a", 8, 2, 1), Table("b", 8, 2, 1, "frequency_aware_adagrad")});
  config.tables[0].learning_rate_tag = 0;
  config.tables[1].dynamic_input_tag = 1;

  EXPECT_THAT(CheckAndComplete(config), IsOk());
  EXPECT_EQ(config.num_learning_rates(), 2);
}

TEST(EngineConfigTest, MostOptimizersAreNotExperimental) {
  for (const OptimizerInfo* info : Optimizers()) {
    if (info->name == "frequency_aware_adagrad" ||
        info->name == "online_yogi") {
      continue;
    }
    const EngineConfig config =
        TableLayout(1, {Table("user", 8, 1, 1, info->name)});

    EXPECT_THAT(CheckNoExperimentalOptimizers(config), IsOk()) << info->name;
  }
}

TEST(EngineConfigTest, EveryOptimizerIsAccepted) {
  for (const OptimizerInfo* info : Optimizers()) {
    EngineConfig config = TableLayout(1, {Table("user", 8, 1, 1, info->name)});
    if (!info->dynamic_input.empty()) config.tables[0].dynamic_input_tag = 0;

    EXPECT_THAT(CheckAndComplete(config), IsOk()) << info->name;
  }
}

TEST(EngineConfigTest, LimitsMayMeetAndMayBeInfinite) {
  EngineConfig config = TableLayout(1, {Table("user", 8, 1, 1)});
  config.tables[0].clip_weights = Limits{2, 2};
  config.tables[0].clip_gradients =
      Limits{-std::numeric_limits<float>::infinity(), 1};

  EXPECT_THAT(CheckAndComplete(config), IsOk());
}

}  // namespace
}  // namespace tpuless
