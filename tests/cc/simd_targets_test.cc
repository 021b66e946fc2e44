// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The same bits on every instruction set that this machine has.
#include "cc/engine/simd_targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>
//
#include "cc/engine/lookup.h"
#include "hwy/highway.h"
#include "tests/cc/configs.h"
#include "tests/cc/optimizer_cases.h"
#include "tests/cc/table_updates.h"

namespace tpuless {
namespace {

using ::testing::ElementsAre;
using ::testing::NanSensitiveFloatEq;
using ::testing::Pointwise;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Returns the targets that are compiled in and that this machine runs.
std::vector<int64_t> Targets() {
  std::vector<int64_t> targets;
  int64_t rest = hwy::SupportedTargets() & HWY_TARGETS;
  for (; rest != 0; rest &= rest - 1) targets.push_back(rest & -rest);
  return targets;
}

// While it lives, the engine runs on one target.
class OnTarget {
 public:
  explicit OnTarget(int64_t target) { Choose(target); }
  ~OnTarget() { Choose(0); }

 private:
  static void Choose(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<uint32_t> Bits(const std::vector<float>& floats) {
  std::vector<uint32_t> bits(floats.size());
  std::memcpy(bits.data(), floats.data(), floats.size() * sizeof(float));
  return bits;
}

TEST(SimdTargetsTest, TheChosenTargetIsUsed) {
  for (const int64_t target : Targets()) {
    const OnTarget on(target);

    EXPECT_EQ(hwy::SupportedTargets() & HWY_TARGETS, target)
        << hwy::TargetName(target);
  }
}

class SimdUpdateTest : public ::testing::TestWithParam<OptimizerCase> {};

TEST_P(SimdUpdateTest, UpdatesGiveTheSameBits) {
  std::mt19937 random(23);
  const bool one_column = GetParam().optimizer == "frequency_estimator";
  const int64_t dimension = one_column ? 1 : 64 + 32 + 16 + 8 + 4 + 2 + 1;
  TableConfig config = GetParam().Configure(Table("user", 40, dimension));
  config.weight_decay_factor = .01f;
  config.clip_gradients = Limits{-2, 1.5f};
  config.clip_weights = Limits{-1.8f, 1.9f};
  Variables before = {RandomFloats(40 * dimension, -2, 2, random)};
  for (size_t k = FindOptimizer(config.optimizer)->slots.size(); k > 0; --k) {
    before.push_back(RandomFloats(40 * dimension, .1f, 3, random));
  }
  StepGradients step;
  for (int i = 0; i < 100; ++i) step.ids.push_back(random() % 35);
  step.values = RandomFloats(100 * dimension, -1, 1, random);
  step.gains = RandomFloats(100, -1, 2, random);
  step.learning_rates = {GetParam().inputs().dynamic_input};

  std::vector<Variables> results;
  for (const int64_t target : Targets()) {
    const OnTarget on(target);
    results.push_back(AfterStep(config, before, step));
  }

  for (size_t i = 1; i < results.size(); ++i) {
    for (size_t k = 0; k < before.size(); ++k) {
      EXPECT_EQ(Bits(results[i][k]), Bits(results[0][k]))
          << hwy::TargetName(Targets()[i]) << ", variable " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimdUpdateTest,
                         ::testing::ValuesIn(OptimizerCases()),
                         [](const auto& info) { return info.param.name; });

// With momentum 0 and a gradient that adds nothing to its accumulator, the
// second slot becomes g / a^(1 / 3).
TEST(SimdPowerTest, PowersAreRoundedOnceAndHaveTheirLimits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> bases = {kInfinity, kNan, -1.0f, 1.0f};
  std::vector<float> expected = {0.0f, kNan, kNan, 0x1p-60f};
  std::mt19937 random(31);
  for (const float exponent : RandomFloats(123, -60, 75, random)) {
    bases.push_back(std::exp(exponent));
    expected.push_back(0x1p-60f /
                       static_cast<float>(std::cbrt(double{bases.back()})));
  }
  const int64_t dimension = static_cast<int64_t>(bases.size());
  TableConfig config = Table("user", 1, dimension, 0, "adagrad_momentum");
  config.hyperparameters.Set("exponent", 3);
  config.hyperparameters.Set("beta2", 1);
  const std::vector<float> zeros(dimension);

  for (const int64_t target : Targets()) {
    const OnTarget on(target);
    const Variables after =
        AfterStep(config, {zeros, bases, zeros},
                  {{0}, std::vector<float>(dimension, 0x1p-60f), {}, {}});

    EXPECT_THAT(after[2], Pointwise(NanSensitiveFloatEq(), expected))
        << hwy::TargetName(target);
  }
}

TEST(SimdPowerTest, ThePowerOfZeroIsZero) {
  TableConfig config = Table("user", 1, 3, 0, "adagrad_momentum");
  config.hyperparameters.Set("exponent", 3);
  config.hyperparameters.Set("beta2", 1);

  for (const int64_t target : Targets()) {
    const OnTarget on(target);

    // 0 / 0 counts as 0, 1 / 0 does not.
    EXPECT_THAT(AfterStep(config, {{1, 2, 3}, {0, 0, 0}, {0, 0, 0}},
                          {{0}, {0, 0, 0x1p-90f}, {}, {}})[2],
                ElementsAre(0, 0, kInfinity))
        << hwy::TargetName(target);
  }
}

TEST(SimdLookupTest, LookupsGiveTheSameBits) {
  for (const bool quantized : {false, true}) {
    std::mt19937 random(29);
    TableConfig config = Table("user", 50, 127);
    if (quantized) config.quantization = SimulatedQuantization{{-.7f, .9f}, 37};
    std::vector<std::unique_ptr<EmbeddingTable>> tables;
    tables.push_back(
        LoadedTable(config, {RandomFloats(50 * 127, -1, 1, random)}));
    Minibatch minibatch;
    minibatch.inputs.resize(1);
    InputLookups& input = minibatch.inputs[0];
    input.width = input.stride = 20;
    input.row_splits = {0};
    for (int64_t row = 1; row <= 20; ++row) {
      input.row_splits.push_back(row * 5);
    }
    for (int i = 0; i < 100; ++i) input.ids.push_back(random() % 50);
    input.gains = RandomFloats(100, -1, 2, random);

    std::vector<std::vector<uint32_t>> results;
    for (const int64_t target : Targets()) {
      const OnTarget on(target);
      std::vector<float> output(20 * 127);
      Lookup(tables, minibatch, {output.data()}, ParallelFor());
      results.push_back(Bits(output));
    }

    for (size_t i = 1; i < results.size(); ++i) {
      EXPECT_EQ(results[i], results[0]) << hwy::TargetName(Targets()[i]);
    }
  }
}

}  // namespace
}  // namespace tpuless
