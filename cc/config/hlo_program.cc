// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From a user_defined_program's HLO to an update rule that the engine runs.
//
// An interpreter whose words are blocks of floats: each step is one loop over a
// block that stays in cache. Predicates are floats too, 0 or 1.
#include "cc/config/hlo_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cc/config/hlo_steps.h"

namespace tpuless {
namespace {

constexpr int kBlock = 256;  // Elements.
constexpr int kChunk = 16;   // A block is computed in whole ones.

// The operands are of kBlock floats, as is the result.
using Operands = std::array<const float*, 3>;
using Function = void (*)(int size, const Operands& operands, float* result);

// The fixed inner loop is one that compilers turn into vectors.
template <class F>
void Map1(int size, const Operands& operands, float* __restrict result) {
  const float* __restrict a = operands[0];
  for (int i = 0; i < size; i += kChunk) {
    for (int j = i; j < i + kChunk; ++j) result[j] = F()(a[j]);
  }
}

template <class F>
void Map2(int size, const Operands& operands, float* __restrict result) {
  const float* __restrict a = operands[0];
  const float* __restrict b = operands[1];
  for (int i = 0; i < size; i += kChunk) {
    for (int j = i; j < i + kChunk; ++j) result[j] = F()(a[j], b[j]);
  }
}

template <class F>
void Map3(int size, const Operands& operands, float* __restrict result) {
  const float* __restrict a = operands[0];
  const float* __restrict b = operands[1];
  const float* __restrict c = operands[2];
  for (int i = 0; i < size; i += kChunk) {
    for (int j = i; j < i + kChunk; ++j) result[j] = F()(a[j], b[j], c[j]);
  }
}

// A lambda without captures as a type that can be made from nothing, which it
// cannot in C++17.
#define TPULESS_HLO_FUNCTION(Name, parameters, value)   \
  struct Name {                                         \
    float operator() parameters const { return value; } \
  }

TPULESS_HLO_FUNCTION(Abs, (float a), std::abs(a));
TPULESS_HLO_FUNCTION(Cbrt, (float a), std::cbrt(a));
TPULESS_HLO_FUNCTION(Ceil, (float a), std::ceil(a));
TPULESS_HLO_FUNCTION(Cosine, (float a), std::cos(a));
TPULESS_HLO_FUNCTION(Erf, (float a), std::erf(a));
TPULESS_HLO_FUNCTION(Exp, (float a), std::exp(a));
TPULESS_HLO_FUNCTION(Expm1, (float a), std::expm1(a));
TPULESS_HLO_FUNCTION(Floor, (float a), std::floor(a));
TPULESS_HLO_FUNCTION(IsFinite, (float a), std::isfinite(a));
TPULESS_HLO_FUNCTION(Log, (float a), std::log(a));
TPULESS_HLO_FUNCTION(Log1p, (float a), std::log1p(a));
TPULESS_HLO_FUNCTION(Logistic, (float a), 1.0f / (1.0f + std::exp(-a)));
TPULESS_HLO_FUNCTION(Negate, (float a), -a);
TPULESS_HLO_FUNCTION(Not, (float a), 1.0f - a);
TPULESS_HLO_FUNCTION(RoundAway, (float a), std::round(a));
TPULESS_HLO_FUNCTION(RoundEven, (float a), std::nearbyint(a));
TPULESS_HLO_FUNCTION(Rsqrt, (float a), 1.0f / std::sqrt(a));
// 0, -0 and NaN are their own.
TPULESS_HLO_FUNCTION(Sign, (float a), a > 0 ? 1.0f : (a < 0 ? -1.0f : a));
TPULESS_HLO_FUNCTION(Sine, (float a), std::sin(a));
TPULESS_HLO_FUNCTION(Sqrt, (float a), std::sqrt(a));
TPULESS_HLO_FUNCTION(Tan, (float a), std::tan(a));
TPULESS_HLO_FUNCTION(Tanh, (float a), std::tanh(a));
TPULESS_HLO_FUNCTION(ToPredicate, (float a), a != 0 ? 1.0f : 0.0f);
TPULESS_HLO_FUNCTION(ToFloat, (float a), a);

TPULESS_HLO_FUNCTION(Add, (float a, float b), a + b);
TPULESS_HLO_FUNCTION(And, (float a, float b), a* b);
TPULESS_HLO_FUNCTION(Atan2, (float a, float b), std::atan2(a, b));
TPULESS_HLO_FUNCTION(Divide, (float a, float b), a / b);
// If one of them is NaN, that is the result.
TPULESS_HLO_FUNCTION(Maximum, (float a, float b), a >= b || a != a ? a : b);
TPULESS_HLO_FUNCTION(Minimum, (float a, float b), a <= b || a != a ? a : b);
TPULESS_HLO_FUNCTION(Multiply, (float a, float b), a* b);
TPULESS_HLO_FUNCTION(Or, (float a, float b), a > b ? a : b);
TPULESS_HLO_FUNCTION(Power, (float a, float b), std::pow(a, b));
TPULESS_HLO_FUNCTION(Remainder, (float a, float b), std::fmod(a, b));
TPULESS_HLO_FUNCTION(Subtract, (float a, float b), a - b);
TPULESS_HLO_FUNCTION(Equal, (float a, float b), a == b ? 1.0f : 0.0f);
TPULESS_HLO_FUNCTION(NotEqual, (float a, float b), a != b ? 1.0f : 0.0f);
TPULESS_HLO_FUNCTION(Greater, (float a, float b), a > b ? 1.0f : 0.0f);
TPULESS_HLO_FUNCTION(GreaterEqual, (float a, float b), a >= b ? 1.0f : 0.0f);
TPULESS_HLO_FUNCTION(Less, (float a, float b), a < b ? 1.0f : 0.0f);
TPULESS_HLO_FUNCTION(LessEqual, (float a, float b), a <= b ? 1.0f : 0.0f);

TPULESS_HLO_FUNCTION(Clamp, (float low, float a, float high),
                     Minimum()(Maximum()(a, low), high));
TPULESS_HLO_FUNCTION(Select, (float p, float a, float b), p != 0 ? a : b);

#undef TPULESS_HLO_FUNCTION

struct Opcode {
  const char* name;  // For a comparison, its direction.
  Function function;
};

constexpr Opcode kOpcodes[] = {
    {"abs", Map1<Abs>},
    {"add", Map2<Add>},
    {"and", Map2<And>},
    {"atan2", Map2<Atan2>},
    {"cbrt", Map1<Cbrt>},
    {"ceil", Map1<Ceil>},
    {"clamp", Map3<Clamp>},
    {"cosine", Map1<Cosine>},
    {"divide", Map2<Divide>},
    {"erf", Map1<Erf>},
    {"exponential", Map1<Exp>},
    {"exponential-minus-one", Map1<Expm1>},
    {"floor", Map1<Floor>},
    {"is-finite", Map1<IsFinite>},
    {"log", Map1<Log>},
    {"log-plus-one", Map1<Log1p>},
    {"logistic", Map1<Logistic>},
    {"maximum", Map2<Maximum>},
    {"minimum", Map2<Minimum>},
    {"multiply", Map2<Multiply>},
    {"negate", Map1<Negate>},
    {"not", Map1<Not>},
    {"or", Map2<Or>},
    {"power", Map2<Power>},
    {"remainder", Map2<Remainder>},
    {"round-nearest-afz", Map1<RoundAway>},
    {"round-nearest-even", Map1<RoundEven>},
    {"rsqrt", Map1<Rsqrt>},
    {"select", Map3<Select>},
    {"sign", Map1<Sign>},
    {"sine", Map1<Sine>},
    {"sqrt", Map1<Sqrt>},
    {"subtract", Map2<Subtract>},
    {"tan", Map1<Tan>},
    {"tanh", Map1<Tanh>},
    {"xor", Map2<NotEqual>},
    {"EQ", Map2<Equal>},
    {"GE", Map2<GreaterEqual>},
    {"GT", Map2<Greater>},
    {"LE", Map2<LessEqual>},
    {"LT", Map2<Less>},
    {"NE", Map2<NotEqual>},
};

// Returns null for what kOpcodes lacks.
Function FindFunction(const HloStep& step) {
  if (step.opcode == "convert") {
    return step.is_predicate ? Map1<ToPredicate> : Map1<ToFloat>;
  }
  const std::string& name =
      step.opcode == "compare" ? step.comparison_direction : step.opcode;
  for (const Opcode& opcode : kOpcodes) {
    if (name == opcode.name) return opcode.function;
  }
  return nullptr;
}

class HloProgram final : public RowProgram {
 public:
  // Each step must have its function; a constant has none.
  HloProgram(HloSteps steps, std::vector<Function> functions)
      : steps_(std::move(steps)), functions_(std::move(functions)) {}

  int num_slots() const override { return steps_.num_slots; }

  void Run(int64_t size, float learning_rate, const float* const* inputs,
           float* const* outputs) const override {
    const int num_arrays = 2 + steps_.num_slots;
    // One block a value. Those of a step are written before they are read.
    const int block = static_cast<int>(
        std::min<int64_t>(kBlock, (size + kChunk - 1) / kChunk * kChunk));
    const auto num_values =
        static_cast<size_t>(steps_.num_inputs()) + steps_.steps.size();
    std::vector<float> values(num_values * block);
    const auto value = [&](int i) {
      return values.data() + static_cast<size_t>(i) * block;
    };
    // What does not change from block to block.
    if (steps_.takes_learning_rate) {
      std::fill_n(value(num_arrays), block, learning_rate);
    }
    for (size_t i = 0; i < functions_.size(); ++i) {
      if (functions_[i] != nullptr) continue;
      std::fill_n(value(steps_.num_inputs() + static_cast<int>(i)), block,
                  steps_.steps[i].constant);
    }
    for (int64_t begin = 0; begin < size; begin += block) {
      const auto count =
          static_cast<int>(std::min<int64_t>(block, size - begin));
      for (int i = 0; i < num_arrays; ++i) {
        std::memcpy(value(i), inputs[i] + begin, count * sizeof(float));
      }
      for (size_t i = 0; i < functions_.size(); ++i) {
        if (functions_[i] == nullptr) continue;
        Operands operands = {};
        for (size_t j = 0; j < steps_.steps[i].operands.size(); ++j) {
          operands[j] = value(steps_.steps[i].operands[j]);
        }
        functions_[i](count, operands,
                      value(steps_.num_inputs() + static_cast<int>(i)));
      }
      for (int i = 0; i < 1 + steps_.num_slots; ++i) {
        std::memcpy(outputs[i] + begin, value(steps_.outputs[i]),
                    count * sizeof(float));
      }
    }
  }

 private:
  const HloSteps steps_;
  const std::vector<Function> functions_;  // Null for a constant.
};

}  // namespace

Result<std::shared_ptr<const RowProgram>> ParseHloProgram(
    const xla::HloModuleProto& program) {
  Result<HloSteps> steps = ReadHloSteps(program);
  if (!steps.ok()) return steps.status();
  std::vector<Function> functions;
  for (const HloStep& step : steps->steps) {
    functions.push_back(FindFunction(step));
    if (functions.back() == nullptr && step.opcode != "constant") {
      return Unimplemented("user_defined_program: no function for ",
                           step.opcode);
    }
  }
  return std::shared_ptr<const RowProgram>(
      std::make_shared<HloProgram>(std::move(*steps), std::move(functions)));
}

}  // namespace tpuless
