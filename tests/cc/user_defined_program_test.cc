// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A program as optimizer, against built-in ones with the same formula.
#include "cc/engine/optimizers/user_defined_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "cc/engine/thread_pool.h"
#include "tests/cc/configs.h"
#include "tests/cc/table_updates.h"

namespace tpuless {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AdagradProgram final : public RowProgram {
 public:
  int num_slots() const override { return 1; }

  void Run(int64_t size, float learning_rate, const float* const* inputs,
           float* const* outputs) const override {
    for (int64_t i = 0; i < size; ++i) {
      const float g = inputs[0][i];
      const float a = inputs[2][i] + g * g;
      outputs[0][i] = inputs[1][i] - learning_rate * (g / std::sqrt(a));
      outputs[1][i] = a;
    }
  }
};

class NoSlotsProgram final : public RowProgram {
 public:
  int num_slots() const override { return 0; }

  void Run(int64_t size, float learning_rate, const float* const* inputs,
           float* const* outputs) const override {
    for (int64_t i = 0; i < size; ++i) {
      outputs[0][i] = inputs[1][i] - learning_rate * inputs[0][i];
    }
  }
};

TableConfig WithProgram(TableConfig table,
                        std::unique_ptr<RowProgram> program) {
  table.optimizer = "user_defined_program";
  table.user_optimizer = UserDefinedProgramInfo(std::move(program));
  return table;
}

class UserDefinedProgramTest : public ::testing::TestWithParam<int64_t> {
 protected:
  UserDefinedProgramTest() {
    builtin_.learning_rate = .1f;
    const int64_t size = builtin_.vocabulary_size * builtin_.dimension;
    before_ = {RandomFloats(size, -2, 2, random_),
               RandomFloats(size, .1f, 3, random_)};
    for (int i = 0; i < 700; ++i) step_.ids.push_back(random_() % 350);
    step_.values = RandomFloats(700 * builtin_.dimension, -1, 1, random_);
    step_.gains = RandomFloats(700, -1, 2, random_);
  }

  // Expects the same bits of the program and of the built-in optimizer.
  void ExpectSame() {
    const TableConfig program =
        WithProgram(builtin_, std::make_unique<AdagradProgram>());
    ThreadPool pool(3);

    const Variables expected = AfterStep(builtin_, before_, step_);

    EXPECT_EQ(AfterStep(program, before_, step_), expected);
    EXPECT_EQ(AfterStep(program, before_, step_, pool.parallel_for()),
              expected);
  }

  std::mt19937 random_{41};
  // More rows than one batch of the program has.
  TableConfig builtin_ = Table("user", 400, GetParam(), 0, "adagrad");
  Variables before_;
  StepGradients step_;
};

TEST_P(UserDefinedProgramTest, UpdatesTheTouchedRows) { ExpectSame(); }

TEST_P(UserDefinedProgramTest, SharesOutAHotRowByItsColumns) {
  const int64_t num_ids = 3 * kFloatsPerTask / builtin_.dimension;
  step_ = {std::vector<int64_t>(num_ids, 7),
           RandomFloats(num_ids * builtin_.dimension, -1, 1, random_),
           {},
           {}};
  ExpectSame();
}

TEST_P(UserDefinedProgramTest, WithoutAccumulationUpdatesOnceAContribution) {
  builtin_.accumulate_gradients = false;

  ExpectSame();
}

TEST_P(UserDefinedProgramTest, ClipsAndDecaysAroundTheProgram) {
  builtin_.clip_gradients = Limits{-.5f, .4f};
  builtin_.clip_weights = Limits{-1.5f, 1.4f};
  builtin_.weight_decay_factor = .1f;

  ExpectSame();
}

TEST_P(UserDefinedProgramTest, ReadsTheLearningRateOfItsTag) {
  builtin_.learning_rate_tag = 1;
  step_.learning_rates = {9, .3f};

  ExpectSame();
}

INSTANTIATE_TEST_SUITE_P(Dimensions, UserDefinedProgramTest,
                         ::testing::Values(1, 13, 64, 5000));

TEST(UserDefinedProgramInfoTest, NamesTheSlots) {
  EXPECT_THAT(UserDefinedProgramInfo(std::make_shared<AdagradProgram>())->slots,
              ElementsAre("Slot_0"));
  EXPECT_THAT(UserDefinedProgramInfo(std::make_shared<NoSlotsProgram>())->slots,
              IsEmpty());
}

TEST(UserDefinedProgramInfoTest, MayHaveNoSlots) {
  const TableConfig table =
      WithProgram(Table("user", 2, 1), std::make_unique<NoSlotsProgram>());

  EXPECT_THAT(AfterStep(table, {{1, 2}}, {{1}, {.5}, {}, {}}),
              ElementsAre(ElementsAre(1, 1.5)));
}

TEST(UserDefinedProgramInfoTest, UpdatesAllRowsIfAskedTo) {
  const TableConfig table =
      WithProgram(Table("user", 3, 1), std::make_unique<NoSlotsProgram>());
  std::vector<float> weights = {1, 2, 3};
  const int64_t row_ids[] = {1};
  const int64_t row_starts[] = {0, 1};
  const Contribution contributions[] = {{0, 0, 1}};
  const float gradient = 5;
  const float* gradients[] = {&gradient};
  TableUpdate update = {};
  update.table = weights.data();
  update.row_stride = update.slot_stride = update.dimension = 1;
  update.end_column = 1;
  update.row_ids = row_ids;
  update.row_starts = row_starts;
  update.contributions = contributions;
  update.gradients = gradients;
  update.inputs = {1, 0};
  update.accumulate = true;

  table.user_optimizer->create({})->UpdateAllRows(update, 0, 3, 0, 1);

  EXPECT_THAT(weights, ElementsAre(1, -3, 3));
}

}  // namespace
}  // namespace tpuless
