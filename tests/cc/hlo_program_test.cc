// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Runs update rules that come as HLO.
#include "cc/config/hlo_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cc/engine/denormals.h"
#include "tests/cc/hlo_protos.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

using Arrays = std::vector<std::vector<float>>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Returns weights and slots.
Arrays Updated(const RowProgram& program, float learning_rate,
               const Arrays& inputs) {
  const size_t size = inputs[0].size();
  Arrays outputs(1 + program.num_slots(), std::vector<float>(size));
  std::vector<const float*> in;
  std::vector<float*> out;
  for (const auto& array : inputs) in.push_back(array.data());
  for (auto& array : outputs) out.push_back(array.data());
  program.Run(size, learning_rate, in.data(), out.data());
  return outputs;
}

std::shared_ptr<const RowProgram> Parse(const xla::HloModuleProto& proto) {
  const auto program = ParseHloProgram(proto);
  EXPECT_THAT(program, IsOk());
  return program.ok() ? *program : nullptr;
}

// Weights become what `add` makes of gradient (id 1) and weights (id 2).
Arrays RunWith(const std::function<int64_t(HloWriter&)>& add,
               const Arrays& inputs) {
  HloWriter hlo;
  hlo.Parameter(0);
  hlo.Parameter(1);
  hlo.Tuple({add(hlo)});
  const auto program = Parse(hlo.proto);
  return program == nullptr ? Arrays(1) : Updated(*program, 0, inputs);
}

Arrays Random(size_t num_arrays, size_t size, float low) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::uniform_real_distribution<float> values(low, 2.0f);
  Arrays arrays(num_arrays, std::vector<float>(size));
  for (auto& array : arrays) {
    for (float& value : array) value = values(random);
  }
  return arrays;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Arrays Adagrad(float lr, const Arrays& inputs) {
  Arrays outputs = {inputs[1], inputs[2]};
  for (size_t i = 0; i < inputs[0].size(); ++i) {
    const float g = inputs[0][i];
    float& w = outputs[0][i];
    float& a = outputs[1][i];
    a += g * g;
    w -= lr * g / std::sqrt(a);
  }
  return outputs;
}

TEST(HloProgramTest, SgdGivesTheBitsOfFloats) {
  const Arrays inputs = Random(2, 1000, -2.0f);
  std::vector<float> expected = inputs[1];
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] -= inputs[0][i] * 0.125f;
  }

  const auto program = Parse(SgdProgram());

  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->num_slots(), 0);
  EXPECT_TRUE(SameBits(Updated(*program, 5.0f, inputs)[0], expected));
}

TEST(HloProgramTest, AdagradGivesTheBitsOfFloatsAtAnySize) {
  const auto program = Parse(AdagradProgram());

  ASSERT_NE(program, nullptr);
  EXPECT_EQ(program->num_slots(), 1);
  for (size_t size : {0, 1, 7, 4096, 8192, 8193, 10000, 40000}) {
    Arrays inputs = Random(3, size, -2.0f);
    for (float& a : inputs[2]) a = std::abs(a);

    const Arrays outputs = Updated(*program, 0.3f, inputs);

    const Arrays expected = Adagrad(0.3f, inputs);
    EXPECT_TRUE(SameBits(outputs[0], expected[0])) << size;
    EXPECT_TRUE(SameBits(outputs[1], expected[1])) << size;
  }
}

TEST(HloProgramTest, RunsOnManyThreadsAtOnce) {
  const auto program = Parse(AdagradProgram());
  ASSERT_NE(program, nullptr);
  constexpr int kThreads = 4;
  std::vector<int> num_same(kThreads);

  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const float lr = 0.1f * static_cast<float>(t + 1);
      const Arrays inputs = Random(3, 9000 + t, 0.1f);
      const Arrays expected = Adagrad(lr, inputs);
      for (int i = 0; i < 20; ++i) {
        const Arrays outputs = Updated(*program, lr, inputs);
        num_same[t] += SameBits(outputs[0], expected[0]) &&
                       SameBits(outputs[1], expected[1]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_THAT(num_same, ElementsAre(20, 20, 20, 20));
}

TEST(HloProgramTest, ComparesAndSelects) {
  // Weights where 0 < g <= 1 or g is NaN, else clamp(-1, g, 1).
  const auto add = [](HloWriter& hlo) {
    const int64_t is_positive = hlo.Compare(1, "GT", hlo.Constant(0.0f));
    const int64_t is_large = hlo.Compare(1, "GT", hlo.Constant(1.0f));
    const int64_t is_nan = hlo.Compare(1, "NE", 1);
    const int64_t is_small = hlo.Add("not", {is_large}, xla::PRED);
    const int64_t is_in = hlo.Add("and", {is_positive, is_small}, xla::PRED);
    const int64_t keeps = hlo.Add("or", {is_in, is_nan}, xla::PRED);
    const int64_t clamped =
        hlo.Add("clamp", {hlo.Constant(-1.0f), 1, hlo.Constant(1.0f)});
    return hlo.Add("select", {keeps, 2, clamped});
  };

  const Arrays outputs =
      RunWith(add, {{0.5f, 1.0f, 0.0f, -0.5f, -3.0f, 4.0f, kNan, kInfinity},
                    {10, 11, 12, 13, 14, 15, 16, 17}});

  EXPECT_THAT(outputs[0], ElementsAre(10, 11, 0, -0.5f, -1, 1, 16, 1));
}

TEST(HloProgramTest, ComparesInAllDirections) {
  const Arrays inputs = {{1, 2, 3, kNan}, {2, 2, 2, 2}};
  const auto compared = [&](const std::string& direction) {
    return RunWith(
        [&](HloWriter& hlo) {
          return hlo.Add("convert", {hlo.Compare(1, direction, 2)});
        },
        inputs)[0];
  };

  EXPECT_THAT(compared("EQ"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(compared("NE"), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(compared("LT"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(compared("LE"), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(compared("GT"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(compared("GE"), ElementsAre(0, 1, 1, 0));
}

TEST(HloProgramTest, RunsOnPredicates) {
  const auto add = [](HloWriter& hlo) {
    const int64_t g = hlo.Add("convert", {1}, xla::PRED);
    const int64_t w = hlo.Add("is-finite", {2}, xla::PRED);
    const int64_t differ = hlo.Add("xor", {g, w}, xla::PRED);
    hlo.Add("constant", {}, xla::PRED, {});
    hlo.newest->mutable_literal()->add_preds(true);
    const int64_t yes = hlo.newest->id();
    const int64_t either = hlo.Add("select", {differ, yes, g}, xla::PRED);
    return hlo.Add("convert", {either});
  };

  const Arrays outputs = RunWith(add, {{0, 0, 2, -3}, {1, kInfinity, 1, kNan}});

  EXPECT_THAT(outputs[0], ElementsAre(1, 0, 1, 1));
}

TEST(HloProgramTest, MinimumAndMaximumPassNanOn) {
  const Arrays inputs = {{1, kNan, 3}, {2, 2, kNan}};
  const auto run = [&](const std::string& opcode) {
    return RunWith([&](HloWriter& hlo) { return hlo.Add(opcode, {1, 2}); },
                   inputs)[0];
  };

  const auto minimum = run("minimum");
  const auto maximum = run("maximum");

  EXPECT_EQ(minimum[0], 1);
  EXPECT_EQ(maximum[0], 2);
  for (int i : {1, 2}) {
    EXPECT_TRUE(std::isnan(minimum[i])) << i;
    EXPECT_TRUE(std::isnan(maximum[i])) << i;
  }
}

// Within a few ulps: the reference is of doubles.
TEST(HloProgramTest, RunsEveryFunction) {
  struct Function {
    const char* opcode;
    double (*reference)(double g, double w);
    bool is_binary = false;
  };
  const Function kFunctions[] = {
      {"abs", [](double g, double) { return std::abs(g); }},
      {"cbrt", [](double g, double) { return std::cbrt(g); }},
      {"ceil", [](double g, double) { return std::ceil(g); }},
      {"cosine", [](double g, double) { return std::cos(g); }},
      {"erf", [](double g, double) { return std::erf(g); }},
      {"exponential", [](double g, double) { return std::exp(g); }},
      {"exponential-minus-one", [](double g, double) { return std::expm1(g); }},
      {"floor", [](double g, double) { return std::floor(g); }},
      {"log", [](double g, double) { return std::log(g); }},
      {"log-plus-one", [](double g, double) { return std::log1p(g); }},
      {"logistic", [](double g, double) { return 1 / (1 + std::exp(-g)); }},
      {"negate", [](double g, double) { return -g; }},
      {"round-nearest-afz", [](double g, double) { return std::round(g); }},
      {"round-nearest-even",
       [](double g, double) { return std::nearbyint(g); }},
      {"rsqrt", [](double g, double) { return 1 / std::sqrt(g); }},
      {"sign",
       [](double g, double) { return g == 0 ? 0.0 : std::copysign(1.0, g); }},
      {"sine", [](double g, double) { return std::sin(g); }},
      {"sqrt", [](double g, double) { return std::sqrt(g); }},
      {"tan", [](double g, double) { return std::tan(g); }},
      {"tanh", [](double g, double) { return std::tanh(g); }},
      {"add", [](double g, double w) { return g + w; }, true},
      {"atan2", [](double g, double w) { return std::atan2(g, w); }, true},
      {"divide", [](double g, double w) { return g / w; }, true},
      {"maximum", [](double g, double w) { return std::max(g, w); }, true},
      {"minimum", [](double g, double w) { return std::min(g, w); }, true},
      {"multiply", [](double g, double w) { return g * w; }, true},
      {"power", [](double g, double w) { return std::pow(g, w); }, true},
      {"remainder", [](double g, double w) { return std::fmod(g, w); }, true},
      {"subtract", [](double g, double w) { return g - w; }, true},
  };
  const Arrays inputs = {{0.5f, 1.0f, 1.5f, 2.5f, 0.01f, 30.0f},
                         {2.0f, 0.25f, -3.0f, 1.1f, 7.0f, -1.0f}};
  for (const Function& function : kFunctions) {
    const Arrays outputs = RunWith(
        [&](HloWriter& hlo) {
          return function.is_binary ? hlo.Add(function.opcode, {1, 2})
                                    : hlo.Add(function.opcode, {1});
        },
        inputs);

    for (size_t i = 0; i < outputs[0].size(); ++i) {
      const double expected = function.reference(inputs[0][i], inputs[1][i]);
      const float got = outputs[0][i];
      const double tolerance = 4e-7 * std::max(1.0, std::abs(expected));
      EXPECT_THAT(got, FloatNear(static_cast<float>(expected), tolerance))
          << function.opcode << " of " << inputs[0][i] << ", " << inputs[1][i];
    }
  }
}

// As all of the engine does.
TEST(HloProgramTest, TakesAndGivesDenormalsAsZero) {
  const FlushDenormals flush;
  const Arrays inputs = {{1e-40f, 1e-30f, 1.0f}, {1e30f, 1e-10f, 3.0f}};

  const Arrays outputs = RunWith(
      [](HloWriter& hlo) { return hlo.Add("multiply", {1, 2}); }, inputs);

  EXPECT_THAT(outputs[0], ElementsAre(0, 0, 3));
}

TEST(HloProgramTest, OutlivesItsProto) {
  auto proto = std::make_unique<xla::HloModuleProto>(SgdProgram());
  const auto program = Parse(*proto);
  proto.reset();

  ASSERT_NE(program, nullptr);
  EXPECT_THAT(Updated(*program, 0, {{8.0f}, {3.0f}})[0], ElementsAre(2.0f));
}

TEST(HloProgramTest, RefusesWhatItCannotRead) {
  EXPECT_THAT(ParseHloProgram({}),
              IsInvalidArgument("user_defined_program must have an entry "
                                "computation, got no computation"));
}

}  // namespace
}  // namespace tpuless
