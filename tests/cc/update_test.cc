// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What happens to a row around the optimizer's formula, and at its edges.
#include "cc/engine/update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/cc/configs.h"
#include "tests/cc/table_updates.h"

namespace tpuless {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// SGD with a learning rate of 1 on `rows` rows of one column.
TableConfig Sgd(int64_t rows) { return Table("user", rows, 1); }

TableConfig Adam(int64_t rows, int64_t dimension = 1) {
  TableConfig config = Table("user", rows, dimension, 0, "adam");
  config.hyperparameters.Set("beta1", .5);
  config.hyperparameters.Set("beta2", .5);
  return config;
}

TEST(UpdateTest, ContributionsAddUpTimesTheirGains) {
  const Variables after =
      AfterStep(Sgd(3), {{10, 20, 30}}, {{2, 0, 2}, {1, 2, 4}, {2, 1, .5}, {}});

  EXPECT_THAT(after[0], ElementsAre(8, 20, 26));
}

TEST(UpdateTest, ContributionsAddUpInTheirOrder) {
  EXPECT_THAT(
      AfterStep(Sgd(1), {{0}}, {{0, 0, 0}, {0x1p24f, 1, -0x1p24f}, {}, {}})[0],
      ElementsAre(0));
  EXPECT_THAT(
      AfterStep(Sgd(1), {{0}}, {{0, 0, 0}, {0x1p24f, -0x1p24f, 1}, {}, {}})[0],
      ElementsAre(-1));
}

// Returns how many tasks a step of `num_ids` contributions to one row is.
int64_t NumTasksOfOneRow(int64_t num_ids, int64_t dimension, int num_threads) {
  int64_t num_tasks = 0;
  const ParallelFor counting(num_threads,
                             [&](int64_t num, const ParallelFor::Task& task) {
                               num_tasks = num;
                               for (int64_t i = 0; i < num; ++i) task(i);
                             });
  const std::vector<float> zeros(dimension);
  AfterStep(Table("user", 1, dimension), {zeros},
            {std::vector<int64_t>(num_ids),
             std::vector<float>(num_ids * dimension, 1.0f),
             {},
             {}},
            counting);
  return num_tasks;
}

TEST(UpdateTest, AHotRowIsSharedOutByItsColumns) {
  EXPECT_EQ(NumTasksOfOneRow(3 * kFloatsPerTask / 64, 64, 2), 3);
  EXPECT_EQ(NumTasksOfOneRow(100 * kFloatsPerTask / 40, 40, 2), 3);  // Lines.
  EXPECT_EQ(NumTasksOfOneRow(3 * kFloatsPerTask / 16, 16, 2), 1);
}

TEST(UpdateTest, OtherRowsAndSingleThreadsAreNot) {
  EXPECT_EQ(NumTasksOfOneRow(kFloatsPerTask / 64, 64, 2), 1);
  // 0: a single thread is handed no tasks.
  EXPECT_EQ(NumTasksOfOneRow(3 * kFloatsPerTask / 64, 64, 1), 0);
}

TEST(UpdateTest, GradientsAreClippedAfterTheyAreSummed) {
  TableConfig config = Sgd(3);
  config.clip_gradients = Limits{-1, 2};

  EXPECT_THAT(AfterStep(config, {{0, 0, 0}},
                        {{0, 0, 1, 2, 2}, {5, -4, -5, 1, 2}, {}, {}})[0],
              ElementsAre(-1, 1, -2));
}

TEST(UpdateTest, ClippedGradientsGoIntoTheSlots) {
  TableConfig config = Table("user", 1, 1, 0, "adagrad");
  config.clip_gradients = Limits{-1, 1};

  EXPECT_THAT(AfterStep(config, {{0}, {3}}, {{0}, {100}, {}, {}}),
              ElementsAre(ElementsAre(-.5), ElementsAre(4)));
}

TEST(UpdateTest, WeightsAreClippedLastAndSlotsAreNot) {
  TableConfig config = Table("user", 2, 1, 0, "momentum");
  config.hyperparameters.Set("momentum", 1);
  config.clip_weights = Limits{-1, kInfinity};

  EXPECT_THAT(AfterStep(config, {{0, -5}, {7, 0}}, {{0}, {1}, {}, {}}),
              ElementsAre(ElementsAre(-1, -5), ElementsAre(8, 0)));
}

TEST(UpdateTest, WithoutAccumulationWeightsAreClippedEachTime) {
  TableConfig config = Sgd(1);
  config.accumulate_gradients = false;
  config.clip_weights = Limits{-1, 1};

  // 0 - 5 is clipped to -1, + 1.5 gives 0.5.
  EXPECT_THAT(AfterStep(config, {{0}}, {{0, 0}, {5, -1.5}, {}, {}})[0],
              ElementsAre(.5));
}

TEST(UpdateTest, WeightsDecayBeforeTheUpdate) {
  TableConfig config = Sgd(2);
  config.weight_decay_factor = .25;

  EXPECT_THAT(AfterStep(config, {{8, 8}}, {{0}, {1}, {}, {}})[0],
              ElementsAre(5, 8));
}

TEST(UpdateTest, DecayMayBeTimesTheLearningRateOfTheStep) {
  TableConfig config = Sgd(1);
  config.learning_rate_tag = 0;
  config.weight_decay_factor = .25;
  config.multiply_weight_decay_by_learning_rate = true;

  EXPECT_THAT(AfterStep(config, {{8}}, {{0}, {1}, {}, {.5}})[0],
              ElementsAre(8 - 1 - .5));
}

TEST(UpdateTest, WithoutAccumulationWeightsDecayEachTime) {
  TableConfig config = Sgd(1);
  config.accumulate_gradients = false;
  config.weight_decay_factor = .5;

  EXPECT_THAT(AfterStep(config, {{8}}, {{0, 0}, {1, 1}, {}, {}})[0],
              ElementsAre((8 * .5 - 1) * .5 - 1));
}

TEST(UpdateTest, ZeroGradientsStillTouchTheirRow) {
  // m = 1/2 * 2, v = 1/2 * 8, w -= 1 / sqrt(4).
  EXPECT_THAT(
      AfterStep(Adam(2), {{0, 0}, {2, 2}, {8, 8}}, {{0}, {0}, {}, {}}),
      ElementsAre(ElementsAre(-.5, 0), ElementsAre(1, 2), ElementsAre(4, 8)));
  EXPECT_THAT(
      AfterStep(Adam(2), {{0, 0}, {2, 2}, {8, 8}}, {{0}, {7}, {0}, {}})[0],
      ElementsAre(-.5, 0));
}

TEST(UpdateTest, NonLazyUpdatesTheRowsThatNobodyTouched) {
  TableConfig config = Adam(3);
  config.hyperparameters.Set("use_non_lazy_adam", 1);
  config.weight_decay_factor = .5;

  const Variables after =
      AfterStep(config, {{1, 1, 1}, {2, 2, 2}, {8, 8, 8}}, {{1}, {2}, {}, {}});

  // Of the touched row: m = 1 + 1, v = 4 + 2, w = .5 - 2 / sqrt(6).
  EXPECT_THAT(after[0],
              ElementsAre(0, testing::FloatEq(.5f - 2 / std::sqrt(6.0f)), 0));
  EXPECT_THAT(after[1], ElementsAre(1, 2, 1));
  EXPECT_THAT(after[2], ElementsAre(4, 6, 4));
}

TEST(UpdateTest, NonLazyUpdatesAllRowsOfAStepWithoutIds) {
  TableConfig config = Adam(3);
  config.hyperparameters.Set("use_non_lazy_adam", 1);

  EXPECT_THAT(
      AfterStep(config, {{0, 0, 0}, {2, 2, 2}, {8, 8, 8}}, {{}, {}, {}, {}})[0],
      Each(-.5));
}

TEST(UpdateTest, AStepWithoutIdsChangesNothing) {
  EXPECT_THAT(AfterStep(Sgd(2), {{1, 2}}, {{}, {}, {}, {}})[0],
              ElementsAre(1, 2));
}

TEST(UpdateTest, ZeroByZeroIsZero) {
  const StepGradients zero = {{0}, {0}, {}, {}};

  EXPECT_THAT(AfterStep(Table("user", 1, 1, 0, "adagrad"), {{3}, {0}}, zero),
              ElementsAre(ElementsAre(3), ElementsAre(0)));
  EXPECT_THAT(AfterStep(Adam(1), {{3}, {0}, {0}}, zero),
              ElementsAre(ElementsAre(3), ElementsAre(0), ElementsAre(0)));
}

TEST(UpdateTest, FtrlWithAccumulatorsOfZeroGivesZero) {
  TableConfig config = Table("user", 1, 1, 0, "ftrl");
  config.hyperparameters.Set("lr_power", -.5);

  EXPECT_THAT(AfterStep(config, {{3}, {0}, {0}}, {{0}, {0}, {}, {}})[0],
              ElementsAre(0));
}

TEST(UpdateTest, NaNStaysInItsRowAndColumn) {
  for (const OptimizerInfo* info : Optimizers()) {
    const int64_t dimension = info->name == "frequency_estimator" ? 1 : 21;
    TableConfig config = Table("user", 3, dimension, 0, info->name);
    config.clip_weights = Limits{-100, 100};
    config.clip_gradients = Limits{-100, 100};
    config.hyperparameters.Set("lr_power", -.5);
    const Variables before(1 + info->slots.size(),
                           std::vector<float>(3 * dimension, 1));
    StepGradients step = {
        {0, 1, 2}, std::vector<float>(3 * dimension, 1), {}, {}};
    step.values[dimension + dimension / 2] = std::nanf("");

    const Variables after = AfterStep(config, before, step);

    const bool reads_gradient = info->name != "frequency_estimator";
    for (int64_t i = 0; i < 3 * dimension; ++i) {
      EXPECT_EQ(std::isnan(after[0][i]),
                reads_gradient && i == dimension + dimension / 2)
          << info->name << ", element " << i;
    }
  }
}

TEST(UpdateTest, InfiniteGradientsMayBeClipped) {
  TableConfig config = Sgd(2);
  config.clip_gradients = Limits{-1, 1};

  EXPECT_THAT(
      AfterStep(config, {{0, 0}}, {{0, 1}, {kInfinity, -kInfinity}, {}, {}})[0],
      ElementsAre(-1, 1));
}

TEST(UpdateTest, AnUnsetLearningRateActsAsZero) {
  TableConfig config = Sgd(1);
  config.learning_rate = TableConfig().learning_rate;

  EXPECT_THAT(AfterStep(config, {{3}}, {{0}, {1}, {}, {}})[0], ElementsAre(3));
}

}  // namespace
}  // namespace tpuless
