// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Each optimizer against its formula in double precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cc/engine/thread_pool.h"
#include "tests/cc/configs.h"
#include "tests/cc/optimizer_cases.h"
#include "tests/cc/table_updates.h"

namespace tpuless {
namespace {

constexpr int64_t kVocabularySize = 12;

// Up to 8 updates of 4 roundings each, of half an ulp of the largest
// number on the way.
constexpr double kRoundings = 8 * 4;

bool IsNonLazy(const OptimizerCase& test_case) {
  const std::string& field = FindOptimizer(test_case.optimizer)->non_lazy;
  return !field.empty() && test_case.hyperparameters.count(field) > 0;
}

class OptimizerTest : public ::testing::TestWithParam<OptimizerCase> {
 protected:
  static TableConfig Config(int64_t dimension) {
    return GetParam().Configure(Table("user", kVocabularySize, dimension));
  }

  // Dimensions around those of all vectors; of one column where the optimizer
  // has but one.
  static std::vector<int64_t> Dimensions() {
    if (GetParam().optimizer == "frequency_estimator") return {1};
    return {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65, 100, 130};
  }

  // Returns weights of either sign and slots > 0.
  Variables RandomVariables(const TableConfig& config) {
    const size_t num_slots = FindOptimizer(config.optimizer)->slots.size();
    const int64_t size = config.vocabulary_size * config.dimension;
    Variables variables = {RandomFloats(size, -2, 2, random_)};
    for (size_t k = 0; k < num_slots; ++k) {
      variables.push_back(RandomFloats(size, .1f, 3, random_));
    }
    return variables;
  }

  // Returns 20 gradients of rows of which some come up several times, and
  // some do not.
  StepGradients RandomStep(int64_t dimension) {
    StepGradients step;
    for (int i = 0; i < 20; ++i) step.ids.push_back(random_() % 8);
    step.values = RandomFloats(20 * dimension, -1, 1, random_);
    step.gains = RandomFloats(20, -1, 2, random_);
    step.learning_rates = {GetParam().inputs().dynamic_input};
    return step;
  }

  // Returns, in double precision, what a column of a row becomes.
  static std::vector<double> Expected(const TableConfig& config,
                                      const Variables& before,
                                      const StepGradients& step, int64_t row,
                                      int64_t column) {
    const int64_t at = row * config.dimension + column;
    double w = before[0][at];
    std::vector<double> slots;
    for (size_t k = 1; k < before.size(); ++k) slots.push_back(before[k][at]);
    const auto update = [&](double g) {
      GetParam().formula(config.hyperparameters, GetParam().inputs(), g, w,
                         slots.data());
    };
    double sum = 0;
    bool touched = IsNonLazy(GetParam());
    for (size_t i = 0; i < step.ids.size(); ++i) {
      if (step.ids[i] != row) continue;
      const double g =
          double{step.gains[i]} * step.values[i * config.dimension + column];
      touched = true;
      sum += g;
      if (!config.accumulate_gradients) update(g);
    }
    if (config.accumulate_gradients && touched) update(sum);
    slots.insert(slots.begin(), w);
    return slots;
  }

  void ExpectFormula(const TableConfig& config) {
    const Variables before = RandomVariables(config);
    const StepGradients step = RandomStep(config.dimension);

    const Variables after = AfterStep(config, before, step);

    for (int64_t row = 0; row < kVocabularySize; ++row) {
      for (int64_t column = 0; column < config.dimension; ++column) {
        const std::vector<double> expected =
            Expected(config, before, step, row, column);
        for (size_t k = 0; k < expected.size(); ++k) {
          ASSERT_NEAR(after[k][row * config.dimension + column], expected[k],
                      kRoundings * 0x1p-24 * GetParam().magnitude)
              << "variable " << k << ", row " << row << ", column " << column
              << " of " << config.dimension;
        }
      }
    }
  }

  // A step of the given ids, with random gradients, once with a thread and
  // then with more.
  void ExpectSameBits(const TableConfig& config, StepGradients step) {
    const Variables before = RandomVariables(config);
    const int64_t num_ids = static_cast<int64_t>(step.ids.size());
    step.values = RandomFloats(num_ids * config.dimension, -1, 1, random_);
    step.learning_rates = {GetParam().inputs().dynamic_input};
    const Variables expected = AfterStep(config, before, step);

    for (const int num_threads : {2, 5}) {
      ThreadPool pool(num_threads);
      EXPECT_EQ(AfterStep(config, before, step, pool.parallel_for()), expected)
          << num_threads;
    }
  }

  std::mt19937 random_{17};
};

TEST_P(OptimizerTest, UpdatesEachTouchedRowOnceWithTheSum) {
  for (const int64_t dimension : Dimensions()) {
    ExpectFormula(Config(dimension));
  }
}

// Of the optimizers that need not update all rows in each step.
class LazyOptimizerTest : public OptimizerTest {};

TEST_P(LazyOptimizerTest, WithoutAccumulationUpdatesOnceAContribution) {
  for (const int64_t dimension : Dimensions()) {
    TableConfig config = Config(dimension);
    config.accumulate_gradients = false;
    ExpectFormula(config);
  }
}

TEST_P(LazyOptimizerTest, LeavesOtherRowsAsTheyWere) {
  const TableConfig config = Config(Dimensions().back());
  const Variables before = RandomVariables(config);
  const StepGradients step = RandomStep(config.dimension);

  const Variables after = AfterStep(config, before, step);

  // Rows from 8 on are not in the step.
  for (size_t k = 0; k < before.size(); ++k) {
    EXPECT_TRUE(std::equal(before[k].begin() + 8 * config.dimension,
                           before[k].end(),
                           after[k].begin() + 8 * config.dimension));
  }
}

TEST_P(OptimizerTest, ReadsTheLearningRateOfItsTag) {
  TableConfig config = Config(1);
  const Variables before = RandomVariables(config);
  StepGradients step = RandomStep(1);
  const Variables expected = AfterStep(config, before, step);

  config.learning_rate_tag = 2;
  step.learning_rates.push_back(-99);
  step.learning_rates.push_back(config.learning_rate);
  config.learning_rate = 55;

  EXPECT_EQ(AfterStep(config, before, step), expected);
}

TEST_P(OptimizerTest, SameBitsForAnyNumberOfThreads) {
  TableConfig config = Config(Dimensions().back());
  config.vocabulary_size = 3000;
  StepGradients step;
  for (int i = 0; i < 4000; ++i) step.ids.push_back(random_() % 3000);

  ExpectSameBits(config, step);
}

// Rows with very many contributions are shared out by columns.
TEST_P(OptimizerTest, SameBitsOfHotRowsForAnyNumberOfThreads) {
  TableConfig config = Config(Dimensions().back());
  config.vocabulary_size = 40;
  StepGradients step;
  for (int64_t i = 0; i < 6 * kFloatsPerTask / config.dimension; ++i) {
    step.ids.push_back(i % 10 < 4 ? 7 : i % 10 < 8 ? 39 : random_() % 40);
  }

  ExpectSameBits(config, step);
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest,
                         ::testing::ValuesIn(OptimizerCases()),
                         [](const auto& info) { return info.param.name; });

std::vector<OptimizerCase> LazyOptimizerCases() {
  std::vector<OptimizerCase> cases = OptimizerCases();
  cases.erase(std::remove_if(cases.begin(), cases.end(), IsNonLazy),
              cases.end());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, LazyOptimizerTest,
                         ::testing::ValuesIn(LazyOptimizerCases()),
                         [](const auto& info) { return info.param.name; });

TEST(OptimizersTest, EveryOneIsTested) {
  std::set<std::string> tested;
  for (const OptimizerCase& each : OptimizerCases()) {
    tested.insert(each.optimizer);
  }
  std::set<std::string> known;
  for (const OptimizerInfo* info : Optimizers()) known.insert(info->name);

  EXPECT_EQ(tested, known);
}

TEST(OptimizersTest, AnUnknownOneIsNotFound) {
  EXPECT_EQ(FindOptimizer("sgd"), nullptr);
}

TEST(HyperparametersTest, ReadAsZeroUnlessTheyAreSet) {
  Hyperparameters hyperparameters;
  hyperparameters.Set("beta1", .1);

  EXPECT_EQ(hyperparameters["beta1"], .1f);
  EXPECT_EQ(hyperparameters["beta2"], 0);
}

}  // namespace
}  // namespace tpuless
