// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Reads the HLO of update rules, and says what is wrong with it.
#include "cc/config/hlo_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/cc/hlo_protos.h"
#include "tests/cc/status_matchers.h"

namespace tpuless {
namespace {

using testing::ElementsAre;

std::vector<std::string> Opcodes(const HloSteps& steps) {
  std::vector<std::string> opcodes;
  for (const HloStep& step : steps.steps) opcodes.push_back(step.opcode);
  return opcodes;
}

// Gradient, weights and what `add` makes of them.
template <class AddStep>
Result<HloSteps> ReadWith(const AddStep& add) {
  HloWriter hlo;
  hlo.Parameter(0);
  hlo.Parameter(1);
  hlo.Tuple({add(hlo)});
  return ReadHloSteps(hlo.proto);
}

TEST(HloStepsTest, ReadsAProgramWithoutLearningRate) {
  const auto steps = ReadHloSteps(SgdProgram());

  ASSERT_THAT(steps, IsOk());
  EXPECT_EQ(steps->num_slots, 0);
  EXPECT_FALSE(steps->takes_learning_rate);
  EXPECT_THAT(Opcodes(*steps), ElementsAre("constant", "multiply", "subtract"));
  EXPECT_EQ(steps->steps[0].constant, 0.125f);
  EXPECT_THAT(steps->steps[1].operands, ElementsAre(0, 2));
  EXPECT_THAT(steps->steps[2].operands, ElementsAre(1, 3));
  EXPECT_THAT(steps->outputs, ElementsAre(4));
}

TEST(HloStepsTest, ReadsAScalarAtTheEndAsTheLearningRate) {
  const auto steps = ReadHloSteps(AdagradProgram());

  ASSERT_THAT(steps, IsOk());
  EXPECT_EQ(steps->num_slots, 1);
  EXPECT_TRUE(steps->takes_learning_rate);
  EXPECT_THAT(Opcodes(*steps), ElementsAre("multiply", "add", "multiply",
                                           "sqrt", "divide", "subtract"));
  EXPECT_THAT(steps->outputs, ElementsAre(9, 5));
}

TEST(HloStepsTest, ReadsUnusedParametersAndUnneededInstructions) {
  HloWriter hlo;
  hlo.Parameter(1);
  const int64_t w = hlo.newest->id();
  hlo.Parameter(0);
  hlo.Add("iota", {}, xla::S32, {7});
  hlo.Tuple({w});

  const auto steps = ReadHloSteps(hlo.proto);

  ASSERT_THAT(steps, IsOk());
  EXPECT_TRUE(steps->steps.empty());
  EXPECT_THAT(steps->outputs, ElementsAre(1));
}

TEST(HloStepsTest, ExpandsCallsAndTuples) {
  HloWriter hlo;
  hlo.AddComputation(2);
  const int64_t x = hlo.Parameter(0);
  const int64_t y = hlo.Parameter(1);
  hlo.Tuple({y, hlo.Add("add", {x, y})});
  hlo.computation = hlo.proto.mutable_computations(0);
  const int64_t g = hlo.Parameter(0);
  const int64_t w = hlo.Parameter(1);
  const int64_t pair = hlo.Call("call", 2, {g, w});
  const int64_t sum = hlo.Add("get-tuple-element", {pair});
  hlo.newest->set_tuple_index(1);
  const int64_t pair_of_sum = hlo.Call("fusion", 2, {sum, sum});
  hlo.Add("get-tuple-element", {pair_of_sum});
  hlo.newest->set_tuple_index(1);
  hlo.Tuple({hlo.newest->id()});

  const auto steps = ReadHloSteps(hlo.proto);

  ASSERT_THAT(steps, IsOk());
  EXPECT_THAT(Opcodes(*steps), ElementsAre("add", "add"));
  EXPECT_THAT(steps->steps[0].operands, ElementsAre(0, 1));
  EXPECT_THAT(steps->steps[1].operands, ElementsAre(2, 2));
}

TEST(HloStepsTest, RefusesAnEmptyProgram) {
  EXPECT_THAT(ReadHloSteps({}),
              IsInvalidArgument("user_defined_program must have an entry "
                                "computation, got no computation"));
}

TEST(HloStepsTest, RefusesAMissingEntry) {
  xla::HloModuleProto proto = SgdProgram();
  proto.set_entry_computation_id(7);

  EXPECT_THAT(ReadHloSteps(proto),
              IsInvalidArgument("user_defined_program must have its entry "
                                "computation, got none with id 7"));
}

TEST(HloStepsTest, RefusesAMissingRoot) {
  xla::HloModuleProto proto = SgdProgram();
  proto.mutable_computations(0)->set_root_id(70);

  EXPECT_THAT(ReadHloSteps(proto),
              IsInvalidArgument("user_defined_program: computation "
                                "'computation.1' must have its root, got none "
                                "with id 70"));
}

TEST(HloStepsTest, RefusesAnIdTwice) {
  xla::HloModuleProto instructions = SgdProgram();
  instructions.mutable_computations(0)->mutable_instructions(1)->set_id(1);
  xla::HloModuleProto computations = SgdProgram();
  *computations.add_computations() = computations.computations(0);

  EXPECT_THAT(ReadHloSteps(instructions),
              IsInvalidArgument("user_defined_program must have different "
                                "instruction ids in a computation, got 1 "
                                "twice"));
  EXPECT_THAT(ReadHloSteps(computations),
              IsInvalidArgument("user_defined_program must have different "
                                "computation ids, got 1 twice"));
}

TEST(HloStepsTest, RefusesOtherParameters) {
  HloWriter one;
  one.Tuple({one.Parameter(0)});
  HloWriter gap;
  gap.Parameter(0);
  gap.Tuple({gap.Parameter(2)});
  HloWriter wide;
  wide.Parameter(0);
  wide.Tuple({wide.Parameter(1, {1, 2})});
  HloWriter scalar;
  scalar.Parameter(0, {});
  scalar.Tuple({scalar.Parameter(1)});
  HloWriter integer;
  integer.Parameter(0);
  integer.newest->mutable_shape()->set_element_type(xla::S32);
  integer.Tuple({integer.Parameter(1)});

  EXPECT_THAT(ReadHloSteps(one.proto),
              IsInvalidArgument("user_defined_program must take gradient, "
                                "weights and slots, got 1 array"));
  EXPECT_THAT(ReadHloSteps(gap.proto),
              IsInvalidArgument("user_defined_program: instruction "
                                "'parameter.2' must be parameter 1, got 2"));
  EXPECT_THAT(ReadHloSteps(wide.proto),
              IsInvalidArgument("user_defined_program: instruction "
                                "'parameter.2' must have shape f32[1,1], got "
                                "f32[1,2]"));
  EXPECT_THAT(ReadHloSteps(scalar.proto),
              IsInvalidArgument("user_defined_program: instruction "
                                "'parameter.1' must have shape f32[1,1], got "
                                "f32[]"));
  EXPECT_THAT(ReadHloSteps(integer.proto),
              IsInvalidArgument("user_defined_program: instruction "
                                "'parameter.1' must have shape f32[1,1], got "
                                "s32[1,1]"));
}

TEST(HloStepsTest, RefusesMoreThanSevenSlots) {
  const auto program = [](int num_slots) {
    HloWriter hlo;
    hlo.Parameter(0);
    std::vector<int64_t> state;
    for (int i = 0; i <= num_slots; ++i) state.push_back(hlo.Parameter(i + 1));
    hlo.Parameter(num_slots + 2, {});
    hlo.Tuple(state);
    return hlo.proto;
  };

  EXPECT_THAT(ReadHloSteps(program(7)), IsOk());
  EXPECT_THAT(ReadHloSteps(program(8)),
              IsInvalidArgument("user_defined_program must take <= 7 slots, "
                                "got 8"));
}

TEST(HloStepsTest, RefusesOtherResults) {
  HloWriter bare;
  bare.Parameter(0);
  bare.Parameter(1);
  HloWriter many;
  const int64_t g = many.Parameter(0);
  many.Tuple({many.Parameter(1), g});

  EXPECT_THAT(ReadHloSteps(bare.proto),
              IsInvalidArgument("user_defined_program must return a tuple of "
                                "weights and slots, got one array"));
  EXPECT_THAT(ReadHloSteps(many.proto),
              IsInvalidArgument("user_defined_program must return weights and "
                                "0 slots as it takes, got 2 arrays"));
  EXPECT_THAT(ReadWith([](HloWriter& hlo) { return hlo.Compare(1, "LT", 2); }),
              IsInvalidArgument("user_defined_program must return f32[1,1], "
                                "got pred in output 0"));
}

TEST(HloStepsTest, RefusesWhatIsNotElementwise) {
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Add("dot", {1, 2}); }),
      IsInvalidArgument("user_defined_program: instruction 'dot.3' must be "
                        "elementwise, got dot"));
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) {
        return hlo.Add("add", {1, 2}, xla::F32, {1, 8});
      }),
      IsInvalidArgument("user_defined_program: instruction 'add.3' must have "
                        "one element of f32 or pred, got f32[1,8]"));
  EXPECT_THAT(
      ReadWith(
          [](HloWriter& hlo) { return hlo.Add("convert", {1}, xla::BF16); }),
      IsInvalidArgument("user_defined_program: instruction 'convert.3' must "
                        "have one element of f32 or pred, got bf16[1,1]"));
}

TEST(HloStepsTest, RefusesOtherTypes) {
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Add("add", {1}); }),
      IsInvalidArgument("user_defined_program: instruction 'add.3' must have "
                        "types (f32, f32) -> f32, got (f32) -> f32"));
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Add("select", {1, 1, 2}); }),
      IsInvalidArgument(
          "user_defined_program: instruction 'select.3' must have types (pred, "
          "f32, f32) -> f32 or (pred, pred, pred) -> pred, got (f32, f32, f32) "
          "-> f32"));
  EXPECT_THAT(
      ReadWith(
          [](HloWriter& hlo) { return hlo.Add("negate", {hlo.Tuple({1})}); }),
      IsInvalidArgument("user_defined_program: instruction 'negate.4' must "
                        "have types (f32) -> f32, got (tuple) -> f32"));
}

TEST(HloStepsTest, RefusesOtherComparisons) {
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Compare(1, "XX", 2); }),
      IsInvalidArgument("user_defined_program: instruction 'compare.3' must "
                        "compare EQ, NE, GE, GT, LE or LT, got 'XX'"));
  EXPECT_THAT(ReadWith([](HloWriter& hlo) {
                hlo.Compare(1, "LT", 2);
                hlo.newest->set_comparison_type("TOTALORDER");
                return hlo.newest->id();
              }),
              IsInvalidArgument("user_defined_program: instruction "
                                "'compare.3' must compare by FLOAT, got "
                                "TOTALORDER"));
}

TEST(HloStepsTest, RefusesWrongReferences) {
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Add("negate", {9}); }),
      IsInvalidArgument("user_defined_program: instruction 'negate.3' must "
                        "come after its operands, got id 9 before"));
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Call("call", 9, {1}); }),
      IsInvalidArgument("user_defined_program: instruction 'call.3' must call "
                        "a computation of the program, got id 9"));
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Add("call", {1}); }),
      IsInvalidArgument("user_defined_program: instruction 'call.3' must call "
                        "one computation, got 0"));
  EXPECT_THAT(
      ReadWith(
          [](HloWriter& hlo) { return hlo.Add("get-tuple-element", {1}); }),
      IsInvalidArgument("user_defined_program: instruction "
                        "'get-tuple-element.3' must take a tuple, got 1 "
                        "array"));
  EXPECT_THAT(ReadWith([](HloWriter& hlo) {
                hlo.Add("get-tuple-element", {hlo.Tuple({1})});
                hlo.newest->set_tuple_index(-1);
                return hlo.newest->id();
              }),
              IsInvalidArgument("user_defined_program: instruction "
                                "'get-tuple-element.4' must take an element "
                                "of 1, got index -1"));
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Tuple({1}); }),
      IsInvalidArgument("user_defined_program: instruction 'tuple.4' must "
                        "hold arrays, got a tuple"));
}

TEST(HloStepsTest, RefusesAConstantWithoutValue) {
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Add("constant", {}); }),
      IsInvalidArgument("user_defined_program: instruction 'constant.3' must "
                        "have a literal of one f32, got 0"));
  EXPECT_THAT(
      ReadWith(
          [](HloWriter& hlo) { return hlo.Add("constant", {}, xla::F64, {}); }),
      IsInvalidArgument("user_defined_program: instruction 'constant.3' must "
                        "have one element of f32 or pred, got f64[]"));
}

TEST(HloStepsTest, RefusesACalledParameterThatIsNotPassed) {
  HloWriter hlo;
  hlo.AddComputation(2);
  hlo.Parameter(1);
  hlo.computation = hlo.proto.mutable_computations(0);
  hlo.Parameter(0);
  hlo.Parameter(1);
  hlo.Tuple({hlo.Call("map", 2, {2})});

  // Ids count through both computations.
  EXPECT_THAT(ReadHloSteps(hlo.proto),
              IsInvalidArgument("user_defined_program: instruction "
                                "'parameter.1' must be one of 1 parameters, "
                                "got number 1"));
}

TEST(HloStepsTest, RefusesACallOfItself) {
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) { return hlo.Call("call", 1, {1, 2}); }),
      IsInvalidArgument("user_defined_program must have <= 1000 instructions "
                        "with its calls expanded, got more"));
}

TEST(HloStepsTest, RefusesTooManyInstructions) {
  EXPECT_THAT(ReadWith([](HloWriter& hlo) {
                for (int i = 0; i < 1000; ++i) hlo.Add("negate", {1});
                return hlo.newest->id();
              }),
              IsInvalidArgument("user_defined_program must have <= 1000 "
                                "instructions, got 1003"));
}

TEST(HloStepsTest, ReadsOrRefusesAnyBytes) {
  std::mt19937 random(7);
  const std::string sound = AdagradProgram().SerializeAsString();
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = sound;
    for (int change = 0; change < 1 + i % 4; ++change) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 128);
    }
    xla::HloModuleProto proto;
    if (!proto.ParseFromString(bytes)) continue;

    const auto steps = ReadHloSteps(proto);

    if (steps.ok()) continue;
    EXPECT_EQ(steps.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(HloStepsTest, RefusesMoreOperandsThanAnyRuleNeeds) {
  EXPECT_THAT(
      ReadWith([](HloWriter& hlo) {
        const int64_t tuple = hlo.Tuple(std::vector<int64_t>(65, 2));
        const int64_t element = hlo.Add("get-tuple-element", {tuple});
        return element;
      }),
      IsInvalidArgument("user_defined_program: instruction 'tuple.3' must have "
                        "<= 64 operands, got 65"));
}

TEST(HloStepsTest, ShortensNamesInMessages) {
  EXPECT_THAT(ReadWith([](HloWriter& hlo) {
                const int64_t dot = hlo.Add("dot", {1, 2});
                hlo.newest->set_name(std::string(100, 'x') + "\n");
                return dot;
              }),
              IsInvalidArgument("user_defined_program: instruction '" +
                                std::string(64, 'x') +
                                "...' must be elementwise, got dot"));
  EXPECT_THAT(ReadWith([](HloWriter& hlo) {
                const int64_t dot = hlo.Add("dot", {1, 2});
                hlo.newest->set_name("a\nb\x1b");
                return dot;
              }),
              IsInvalidArgument("user_defined_program: instruction 'a?b?' must "
                                "be elementwise, got dot"));
}

TEST(HloStepsTest, ReadsDenormalConstantsAsZero) {
  const auto steps = ReadWith(
      [](HloWriter& hlo) { return hlo.Add("add", {1, hlo.Constant(1e-40f)}); });

  ASSERT_THAT(steps, IsOk());
  EXPECT_EQ(steps->steps[0].constant, 0);
}

TEST(HloStepsTest, RefusesAProgramShapeOfAnotherProgram) {
  xla::HloModuleProto program = AdagradProgram();
  program.mutable_host_program_shape()->clear_result();

  EXPECT_THAT(ReadHloSteps(program),
              IsInvalidArgument("user_defined_program must have a "
                                "host_program_shape of 4 parameters and a "
                                "tuple of 2, got 4 and no tuple"));
}

}  // namespace
}  // namespace tpuless
