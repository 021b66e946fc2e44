// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The gather loop against a plain one.
#include "cc/engine/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "cc/engine/thread_pool.h"
#include "tests/cc/configs.h"
#include "tests/cc/table_contents.h"

namespace tpuless {
namespace {

using ::testing::Each;
using Tables = std::vector<std::unique_ptr<EmbeddingTable>>;

constexpr int64_t kVocabularySize = 37;

// Returns lookups of 0 to 6 ids in each of `num_rows` rows.
InputLookups RandomLookups(int64_t num_rows, bool weighted,
                           std::mt19937& random) {
  InputLookups input;
  input.width = input.stride = num_rows;
  input.row_splits = {0};
  for (int64_t row = 0; row < num_rows; ++row) {
    for (uint32_t count = random() % 7; count > 0; --count) {
      input.ids.push_back(random() % kVocabularySize);
    }
    input.row_splits.push_back(static_cast<int64_t>(input.ids.size()));
  }
  if (weighted) {
    input.gains =
        RandomFloats(static_cast<int64_t>(input.ids.size()), -1, 2, random);
  }
  return input;
}

std::vector<float> Activations(const Tables& tables, const InputLookups& input,
                               const ParallelFor& parallel_for) {
  Minibatch minibatch;
  minibatch.inputs = {input};
  // What was there before must not show.
  std::vector<float> output(input.num_rows() * tables[0]->config().dimension,
                            std::nanf(""));
  Lookup(tables, minibatch, {output.data()}, parallel_for);
  return output;
}

double Quantized(double x, const SimulatedQuantization& quantization) {
  const double lower = quantization.limits.lower;
  const double upper = quantization.limits.upper;
  const double quantum = (upper - lower) / (quantization.num_buckets - 1);
  const double inside = std::min(std::max(x, lower), upper);
  return std::floor((inside - lower) / quantum + 0.5) * quantum + lower;
}

// Compares with a sum in double precision. Each of up to 6 terms of less than
// 2 * 4 is rounded twice, and each sum once, by half an ulp of at most 48.
void ExpectPlainSum(const TableConfig& config, const Variables& variables,
                    const InputLookups& input,
                    const std::vector<float>& activations) {
  constexpr double kTolerance = 6 * 3 * 48 * 0x1p-24;
  const int64_t dimension = config.dimension;
  for (int64_t row = 0; row < input.num_rows(); ++row) {
    for (int64_t column = 0; column < dimension; ++column) {
      double sum = 0;
      for (int64_t k = input.row_splits[row]; k < input.row_splits[row + 1];
           ++k) {
        double x = variables[0][input.ids[k] * dimension + column];
        if (config.quantization) x = Quantized(x, *config.quantization);
        sum += (input.gains.empty() ? 1.0 : input.gains[k]) * x;
      }
      ASSERT_NEAR(activations[row * dimension + column], sum, kTolerance)
          << "row " << row << ", column " << column;
    }
  }
}

class LookupDimensionTest : public ::testing::TestWithParam<int64_t> {
 protected:
  // Compares a random table's lookups.
  void Compare(TableConfig config, bool weighted) {
    std::mt19937 random(5);
    const Variables variables = {
        RandomFloats(kVocabularySize * GetParam(), -4, 4, random)};
    Tables tables;
    tables.push_back(LoadedTable(config, variables));
    const InputLookups input = RandomLookups(50, weighted, random);

    const std::vector<float> activations =
        Activations(tables, input, ParallelFor());

    ExpectPlainSum(config, variables, input, activations);
  }

  const TableConfig config_ = Table("user", kVocabularySize, GetParam());
};

TEST_P(LookupDimensionTest, SumsTheRows) { Compare(config_, false); }

TEST_P(LookupDimensionTest, SumsTheRowsTimesTheirGains) {
  Compare(config_, true);
}

TEST_P(LookupDimensionTest, QuantizesBeforeItSums) {
  TableConfig config = config_;
  // A quantum of 1/2, exact in both precisions.
  config.quantization = SimulatedQuantization{{-2, 2}, 9};

  Compare(config, true);
}

INSTANTIATE_TEST_SUITE_P(Dimensions, LookupDimensionTest,
                         ::testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17,
                                           31, 32, 63, 64, 65, 100, 130));

Tables OneTable(TableConfig config, const std::vector<float>& weights) {
  Tables tables;
  tables.push_back(LoadedTable(config, {weights}));
  return tables;
}

InputLookups OneRow(const std::vector<int64_t>& ids) {
  InputLookups input;
  input.row_splits = {0, static_cast<int64_t>(ids.size())};
  input.ids = ids;
  return input;
}

TEST(LookupTest, RowsWithoutIdsAreZeroAlsoWhereZeroIsQuantized) {
  TableConfig config = Table("user", 2, 3);
  config.quantization = SimulatedQuantization{{1, 2}, 2};
  const Tables tables = OneTable(config, std::vector<float>(6, 7));

  EXPECT_THAT(Activations(tables, OneRow({}), ParallelFor()), Each(0));
  EXPECT_THAT(Activations(tables, OneRow({0}), ParallelFor()), Each(2));
}

TEST(LookupTest, QuantizationRoundsHalvesUp) {
  TableConfig config = Table("user", 4, 1);
  config.quantization = SimulatedQuantization{{0, 3}, 4};
  const Tables tables = OneTable(config, {.5, 1.49f, 2.5, 1});

  EXPECT_EQ(Activations(tables, OneRow({0}), ParallelFor())[0], 1);
  EXPECT_EQ(Activations(tables, OneRow({1}), ParallelFor())[0], 1);
  EXPECT_EQ(Activations(tables, OneRow({2}), ParallelFor())[0], 3);
  EXPECT_EQ(Activations(tables, OneRow({3}), ParallelFor())[0], 1);
}

TEST(LookupTest, SumsInTheOrderOfTheIds) {
  const Tables tables = OneTable(Table("user", 3, 1), {0x1p24f, 1, -0x1p24f});

  EXPECT_EQ(Activations(tables, OneRow({0, 2, 1}), ParallelFor())[0], 1);
  EXPECT_EQ(Activations(tables, OneRow({0, 1, 2}), ParallelFor())[0], 0);
}

TEST(LookupTest, NaNStaysInItsColumnAndItsRow) {
  std::vector<float> weights(2 * 9, 1);
  weights[4] = std::nanf("");
  const Tables tables = OneTable(Table("user", 2, 9), weights);
  InputLookups input = OneRow({0, 1, 1});
  input.row_splits = {0, 2, 3};
  input.width = input.stride = 2;

  const std::vector<float> activations =
      Activations(tables, input, ParallelFor());

  for (size_t i = 0; i < activations.size(); ++i) {
    if (i == 4) {
      EXPECT_TRUE(std::isnan(activations[i]));
    } else {
      EXPECT_EQ(activations[i], i < 9 ? 2 : 1);
    }
  }
}

TEST(LookupTest, InputsOfOneOutputInterleave) {
  const Tables tables = OneTable(Table("user", 3, 1), {10, 20, 30});
  Minibatch minibatch;
  minibatch.inputs.resize(2);
  for (int64_t i = 0; i < 2; ++i) {
    InputLookups& input = minibatch.inputs[i];
    input.width = 1;
    input.stride = 2;
    input.offset = i;
    input.row_splits = {0, 1, 2};
    input.ids = {i, i + 1};
  }
  std::vector<float> output(4);

  Lookup(tables, minibatch, {output.data()}, ParallelFor());

  EXPECT_EQ(output, (std::vector<float>{10, 20, 20, 30}));
}

TEST(LookupTest, SameBitsForAnyNumberOfThreads) {
  std::mt19937 random(3);
  constexpr int64_t kDimension = 65;
  Tables tables =
      OneTable(Table("user", kVocabularySize, kDimension),
               RandomFloats(kVocabularySize * kDimension, -1, 1, random));
  const InputLookups input = RandomLookups(5000, true, random);
  const std::vector<float> expected = Activations(tables, input, ParallelFor());

  for (const int num_threads : {2, 3, 7}) {
    ThreadPool pool(num_threads);
    EXPECT_EQ(Activations(tables, input, pool.parallel_for()), expected)
        << num_threads;
  }
}

TEST(LookupTest, SameBitsForAnyOrderOfTasks) {
  std::mt19937 random(3);
  Tables tables = OneTable(Table("user", kVocabularySize, 64),
                           RandomFloats(kVocabularySize * 64, -1, 1, random));
  const InputLookups input = RandomLookups(5000, true, random);
  int64_t most_tasks = 0;
  const ParallelFor backwards(
      2, [&](int64_t num_tasks, const ParallelFor::Task& task) {
        most_tasks = std::max(most_tasks, num_tasks);
        for (int64_t i = num_tasks; i-- > 0;) task(i);
      });

  EXPECT_EQ(Activations(tables, input, backwards),
            Activations(tables, input, ParallelFor()));
  EXPECT_GT(most_tasks, 4);
}

}  // namespace
}  // namespace tpuless
