// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What a configuration is refused for, in whole messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "cc/engine/engine_config.h"
#include "tests/cc/configs.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns what CheckAndComplete() says of a sound configuration of one table
// 'user' after a change to it.
Status AfterChange(const std::function<void(EngineConfig&)>& change) {
  EngineConfig config = TableLayout(4, {Table("user", 8, 2, 1)});
  change(config);
  return CheckAndComplete(config);
}

Status AfterTableChange(const std::function<void(TableConfig&)>& change) {
  return AfterChange([&](EngineConfig& config) { change(config.tables[0]); });
}

// The same of one with features 'a' and ''.
Status AfterFeatureChange(const std::function<void(EngineConfig&)>& change) {
  EngineConfig config = FeatureLayout(
      {Table("user", 8, 2)}, {Feature("a", 0, {4}), Feature("", 0, {4, 3})});
  change(config);
  return CheckAndComplete(config);
}

TEST(EngineConfigRefusalsTest, NoTable) {
  EXPECT_THAT(AfterChange([](auto& config) { config.tables.clear(); }),
              IsInvalidArgument("table_descriptor must have at least one "
                                "entry"));
}

TEST(EngineConfigRefusalsTest, EmptyName) {
  EXPECT_THAT(AfterTableChange([](auto& table) { table.name = ""; }),
              IsInvalidArgument("table 0: name must not be empty"));
}

TEST(EngineConfigRefusalsTest, SameName) {
  EXPECT_THAT(AfterChange([](auto& config) {
                config.tables.push_back(config.tables[0]);
              }),
              IsInvalidArgument("table 1: name 'user' must not be that of "
                                "another table"));
}

TEST(EngineConfigRefusalsTest, Mode) {
  EXPECT_THAT(
      AfterChange([](auto& config) { config.mode = Mode::kUnspecified; }),
      IsInvalidArgument("mode must be INFERENCE, TRAINING or "
                        "BACKWARD_PASS_ONLY, got UNSPECIFIED"));
}

TEST(EngineConfigRefusalsTest, BatchSizeOfTableLayout) {
  EXPECT_THAT(AfterChange([](auto& config) { config.batch_size = 0; }),
              IsInvalidArgument("batch_size_per_tensor_core must be > 0 where "
                                "there is no feature_descriptor, got 0"));
}

TEST(EngineConfigRefusalsTest, NumFeaturesOfTableLayout) {
  EXPECT_THAT(AfterTableChange([](auto& table) { table.num_features = 0; }),
              IsInvalidArgument("table 'user': num_features must be > 0 where "
                                "there is no feature_descriptor, got 0"));
}

TEST(EngineConfigRefusalsTest, BatchSizeOfFeatureLayout) {
  EXPECT_THAT(AfterFeatureChange([](auto& config) { config.batch_size = 4; }),
              IsInvalidArgument("batch_size_per_tensor_core must be 0 where "
                                "there are feature_descriptors, got 4"));
}

TEST(EngineConfigRefusalsTest, NumFeaturesOfFeatureLayout) {
  EXPECT_THAT(AfterFeatureChange(
                  [](auto& config) { config.tables[0].num_features = 1; }),
              IsInvalidArgument("table 'user': num_features must be 0 where "
                                "there are feature_descriptors, got 1"));
}

TEST(EngineConfigRefusalsTest, TableIdOfAFeature) {
  for (const int64_t id : {-1, 1}) {
    EXPECT_THAT(AfterFeatureChange(
                    [&](auto& config) { config.features[0].table = id; }),
                IsInvalidArgument("feature 'a': table_id must be >= 0 and < "
                                  "1, got " +
                                  std::to_string(id)));
  }
}

TEST(EngineConfigRefusalsTest, ShapeOfAFeature) {
  EXPECT_THAT(AfterFeatureChange(
                  [](auto& config) { config.features[0].shape.clear(); }),
              IsInvalidArgument("feature 'a': input_shape must have one or "
                                "more dimensions, all > 0, got []"));
  EXPECT_THAT(
      AfterFeatureChange([](auto& config) { config.features[1].shape[1] = 0; }),
      IsInvalidArgument("feature 1: input_shape must have one or more "
                        "dimensions, all > 0, got [4, 0]"));
}

TEST(EngineConfigRefusalsTest, TableWithoutAFeature) {
  EXPECT_THAT(AfterFeatureChange([](auto& config) {
                config.tables.push_back(Table("item", 8, 2));
              }),
              IsInvalidArgument("table 'item': must have one or more "
                                "feature_descriptors, got 0"));
}

TEST(EngineConfigRefusalsTest, VocabularySize) {
  EXPECT_THAT(
      AfterTableChange([](auto& table) { table.vocabulary_size = 0; }),
      IsInvalidArgument("table 'user': vocabulary_size must be > 0, got 0"));
}

TEST(EngineConfigRefusalsTest, Dimension) {
  EXPECT_THAT(AfterTableChange([](auto& table) { table.dimension = -3; }),
              IsInvalidArgument("table 'user': dimension must be > 0, got -3"));
}

TEST(EngineConfigRefusalsTest, UnknownOptimizerNamesTheKnownOnes) {
  std::string known;
  for (const OptimizerInfo* info : Optimizers()) {
    known += (known.empty() ? "'" : ", '") + info->name + "'";
  }

  EXPECT_THAT(AfterTableChange([](auto& table) { table.optimizer = "sgd"; }),
              StatusIs(StatusCode::kUnimplemented,
                       "table 'user': optimizer 'sgd' is not supported, "
                       "expected one of " +
                           known));
}

TEST(EngineConfigRefusalsTest, OptimizersWithoutAPublicFormula) {
  EXPECT_THAT(AfterTableChange(
                  [](auto& table) { table.optimizer = "mdl_adagrad_light"; }),
              StatusIs(StatusCode::kUnimplemented,
                       "table 'user': optimizer 'mdl_adagrad_light' is not "
                       "supported: no public text gives its formula"));
}

TEST(EngineConfigRefusalsTest, ExperimentalOptimizers) {
  for (const auto& [optimizer, hyperparameter] :
       {std::pair("bounded_adagrad", "max_var_update"),
        std::pair("frequency_aware_adagrad", ""),
        std::pair("online_yogi", "")}) {
    EngineConfig config = TableLayout(2, {Table("user", 4, 2, 1, optimizer)});
    config.tables[0].hyperparameters.Set(hyperparameter, .5);

    EXPECT_THAT(CheckNoExperimentalOptimizers(config),
                StatusIs(StatusCode::kUnimplemented,
                         StrCat("table 'user': optimizer '", optimizer,
                                "' is experimental, no public text fixes its "
                                "formula; set option experimental_optimizers "
                                "to run our reading of it")));
  }
}

TEST(EngineConfigRefusalsTest, StepCounterOfFrequencyAwareAdagrad) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.optimizer = "frequency_aware_adagrad";
              }),
              IsInvalidArgument("table 'user': frequency_aware_adagrad."
                                "step_counter must be set"));
}

TEST(EngineConfigRefusalsTest, DimensionOfTheFrequencyEstimator) {
  EXPECT_THAT(AfterTableChange(
                  [](auto& table) { table.optimizer = "frequency_estimator"; }),
              IsInvalidArgument("table 'user': dimension must be 1 for "
                                "optimizer 'frequency_estimator', got 2"));
}

TEST(EngineConfigRefusalsTest, ClippedGradientsWithoutAccumulation) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.accumulate_gradients = false;
                table.clip_gradients = Limits{-1, 1};
              }),
              IsInvalidArgument("table 'user': gradient_clipping_limits must "
                                "not be set where gradient_accumulation_status "
                                "is DISABLED"));
}

TEST(EngineConfigRefusalsTest, NonLazyWithoutAccumulation) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.optimizer = "adam";
                table.hyperparameters.Set("use_non_lazy_adam", 1);
                table.accumulate_gradients = false;
              }),
              IsInvalidArgument("table 'user': use_non_lazy_adam must not be "
                                "set where gradient_accumulation_status is "
                                "DISABLED"));
}

TEST(EngineConfigRefusalsTest, NonLazyLionWithoutAccumulation) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.optimizer = "lion";
                table.hyperparameters.Set("use_non_lazy_lion", 1);
                table.accumulate_gradients = false;
              }),
              IsInvalidArgument("table 'user': use_non_lazy_lion must not be "
                                "set where gradient_accumulation_status is "
                                "DISABLED"));
}

TEST(EngineConfigRefusalsTest, CrossedLimits) {
  EXPECT_THAT(
      AfterTableChange([](auto& table) { table.clip_weights = Limits{1, -1}; }),
      IsInvalidArgument("table 'user': clipping_limits.lower must be "
                        "<= upper, got 1 and -1"));
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.clip_gradients = Limits{0, std::nanf("")};
              }),
              IsInvalidArgument("table 'user': gradient_clipping_limits.lower "
                                "must be <= upper, got 0 and nan"));
}

TEST(EngineConfigRefusalsTest, QuantizationBuckets) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.quantization = SimulatedQuantization{{-1, 1}, 1};
              }),
              IsInvalidArgument(
                  "table 'user': simulated_quantization.num_buckets must be >= "
                  "2, got 1"));
}

TEST(EngineConfigRefusalsTest, QuantizationLimits) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.quantization = SimulatedQuantization{{1, 1}, 4};
              }),
              IsInvalidArgument("table 'user': simulated_quantization."
                                "clipping_limits must be finite with lower < "
                                "upper, got 1 and 1"));
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.quantization = SimulatedQuantization{{0, kInfinity}, 4};
              }),
              IsInvalidArgument("table 'user': simulated_quantization."
                                "clipping_limits must be finite with lower < "
                                "upper, got 0 and inf"));
}

TEST(EngineConfigRefusalsTest, NegativeLearningRateTag) {
  EXPECT_THAT(
      AfterTableChange([](auto& table) { table.learning_rate_tag = -1; }),
      IsInvalidArgument("table 'user': learning rate tag must be >= 0, got "
                        "-1"));
}

TEST(EngineConfigRefusalsTest, NegativeDynamicInputTag) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.optimizer = "frequency_aware_adagrad";
                table.dynamic_input_tag = -2;
              }),
              IsInvalidArgument("table 'user': dynamic input tag must be >= 0, "
                                "got -2"));
}

TEST(EngineConfigRefusalsTest, HoleInTagsOfDynamicInputs) {
  EXPECT_THAT(AfterTableChange([](auto& table) {
                table.optimizer = "frequency_aware_adagrad";
                table.learning_rate_tag = 0;
                table.dynamic_input_tag = 2;
              }),
              IsInvalidArgument("learning rate tags of all tables must be 0 to "
                                "n - 1 without a hole, got 2 but no 1"));
}

TEST(EngineConfigRefusalsTest, HoleInLearningRateTags) {
  EXPECT_THAT(AfterChange([](auto& config) {
                config.tables.push_back(Table("item", 8, 2, 1));
                config.tables[0].learning_rate_tag = 2;
                config.tables[1].learning_rate_tag = 0;
              }),
              IsInvalidArgument("learning rate tags of all tables must be 0 to "
                                "n - 1 without a hole, got 2 but no 1"));
}

TEST(EngineConfigRefusalsTest, ActivationsThatFitNoMemory) {
  EXPECT_THAT(AfterFeatureChange([](auto& config) {
                config.features[1].shape = {int64_t{1} << 31, int64_t{1} << 31};
              }),
              IsInvalidArgument("feature 1: activations must have at most "
                                "1152921504606846975 elements, got shape "
                                "[2147483648, 2147483648, 2]"));
}

}  // namespace
}  // namespace tpuless
