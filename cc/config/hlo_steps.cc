// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From an xla.HloModuleProto to the elementwise steps that it takes.
#include "cc/config/hlo_steps.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tpuless {
namespace {

using xla::HloComputationProto;
using xla::HloInstructionProto;
using xla::HloModuleProto;
using xla::ShapeProto;

constexpr int kMaxSlots = 7;
// Calls expanded. Bounds what a program costs, and ends a call of itself.
constexpr int kMaxInstructions = 1000;
// Of an instruction; a tuple of weights and slots has 8.
constexpr int kMaxOperands = 64;
// Characters of a name in a message.
constexpr size_t kMaxNameLength = 64;

struct Signature {
  const char* opcode;
  const char* types;
  bool only_moves = false;
};

constexpr char kUnary[] = "(f32) -> f32";
constexpr char kBinary[] = "(f32, f32) -> f32";
constexpr char kUnaryPredicate[] = "(pred) -> pred";
constexpr char kBinaryPredicate[] = "(pred, pred) -> pred";

constexpr Signature kSignatures[] = {
    {"abs", kUnary},
    {"cbrt", kUnary},
    {"ceil", kUnary},
    {"cosine", kUnary},
    {"erf", kUnary},
    {"exponential", kUnary},
    {"exponential-minus-one", kUnary},
    {"floor", kUnary},
    {"log", kUnary},
    {"log-plus-one", kUnary},
    {"logistic", kUnary},
    {"negate", kUnary},
    {"round-nearest-afz", kUnary},
    {"round-nearest-even", kUnary},
    {"rsqrt", kUnary},
    {"sign", kUnary},
    {"sine", kUnary},
    {"sqrt", kUnary},
    {"tan", kUnary},
    {"tanh", kUnary},
    {"add", kBinary},
    {"atan2", kBinary},
    {"divide", kBinary},
    {"maximum", kBinary},
    {"minimum", kBinary},
    {"multiply", kBinary},
    {"power", kBinary},
    {"remainder", kBinary},
    {"subtract", kBinary},
    {"clamp", "(f32, f32, f32) -> f32"},
    {"compare", "(f32, f32) -> pred"},
    {"is-finite", "(f32) -> pred"},
    {"and", kBinaryPredicate},
    {"not", kUnaryPredicate},
    {"or", kBinaryPredicate},
    {"xor", kBinaryPredicate},
    {"select", "(pred, f32, f32) -> f32"},
    {"select", "(pred, pred, pred) -> pred"},
    {"convert", "(pred) -> f32"},
    {"convert", "(f32) -> pred"},
    {"convert", kUnary, /*only_moves=*/true},
    {"convert", kUnaryPredicate, /*only_moves=*/true},
    {"bitcast", kUnary, /*only_moves=*/true},
    {"bitcast", kUnaryPredicate, /*only_moves=*/true},
    {"broadcast", kUnary, /*only_moves=*/true},
    {"broadcast", kUnaryPredicate, /*only_moves=*/true},
    {"copy", kUnary, /*only_moves=*/true},
    {"copy", kUnaryPredicate, /*only_moves=*/true},
    {"reshape", kUnary, /*only_moves=*/true},
    {"reshape", kUnaryPredicate, /*only_moves=*/true},
    {"transpose", kUnary, /*only_moves=*/true},
    {"transpose", kUnaryPredicate, /*only_moves=*/true},
};

template <class... Args>
Status Refused(const Args&... args) {
  return InvalidArgument("user_defined_program", args...);
}

// Returns what a message may hold of a name of the user's.
std::string Shorten(std::string name) {
  if (name.size() > kMaxNameLength) {
    name.resize(kMaxNameLength);
    name += "...";
  }
  for (char& c : name) {
    if (!std::isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return name;
}

template <class... Args>
Status RefusedAt(const HloInstructionProto& instruction, const Args&... args) {
  return Refused(": instruction '", Shorten(instruction.name()), "' must ",
                 args...);
}

std::string TypeName(const ShapeProto& shape) {
  std::string name = xla::PrimitiveType_Name(shape.element_type());
  if (name.empty()) return StrCat("type ", int{shape.element_type()});
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return name;
}

// Returns "f32[1,1]", or "a tuple".
std::string ShapeName(const ShapeProto& shape) {
  if (shape.element_type() == xla::TUPLE) return "a tuple";
  std::string name = TypeName(shape) + "[";
  for (int i = 0; i < shape.dimensions_size(); ++i) {
    const bool is_dynamic =
        i < shape.is_dynamic_dimension_size() && shape.is_dynamic_dimension(i);
    name +=
        StrCat(i == 0 ? "" : ",", is_dynamic ? "<=" : "", shape.dimensions(i));
  }
  return name + "]";
}

bool IsOneElement(const ShapeProto& shape) {
  const auto is_one = [](int64_t size) { return size == 1; };
  const auto is_set = [](bool is_dynamic) { return is_dynamic; };
  return (shape.element_type() == xla::F32 ||
          shape.element_type() == xla::PRED) &&
         std::all_of(shape.dimensions().begin(), shape.dimensions().end(),
                     is_one) &&
         std::none_of(shape.is_dynamic_dimension().begin(),
                      shape.is_dynamic_dimension().end(), is_set);
}

// What an instruction gives.
struct Given {
  bool is_tuple = false;
  std::vector<int> values;  // One, unless it is a tuple.
};

class Reader {
 public:
  explicit Reader(const HloModuleProto& module) : module_(module) {}

  Result<HloSteps> Read();

 private:
  using ById = std::unordered_map<int64_t, Given>;

  Status FindComputations();
  Status SetInputs(const HloComputationProto& entry);
  Status CheckProgramShape() const;
  Result<Given> Expand(const HloComputationProto& computation,
                       const std::vector<Given>& arguments);
  Result<Given> Give(const HloInstructionProto& instruction,
                     const std::vector<Given>& arguments, const ById& given);
  Result<Given> Call(const HloInstructionProto& instruction,
                     const std::vector<Given>& operands);
  Result<Given> AddConstant(const HloInstructionProto& instruction);
  Result<Given> AddStep(const HloInstructionProto& instruction,
                        const std::vector<Given>& operands);
  Given Add(HloStep step);
  bool IsPredicate(int value) const;

  const HloModuleProto& module_;
  std::unordered_map<int64_t, const HloComputationProto*> computations_;
  int num_instructions_ = 0;
  HloSteps steps_;
};

Status Reader::FindComputations() {
  int num_instructions = 0;
  for (const HloComputationProto& computation : module_.computations()) {
    if (!computations_.emplace(computation.id(), &computation).second) {
      return Refused(" must have different computation ids, got ",
                     computation.id(), " twice");
    }
    std::unordered_set<int64_t> ids;
    for (const HloInstructionProto& instruction : computation.instructions()) {
      if (!ids.insert(instruction.id()).second) {
        return Refused(
            " must have different instruction ids in a "
            "computation, got ",
            instruction.id(), " twice");
      }
    }
    num_instructions += computation.instructions_size();
  }
  if (num_instructions > kMaxInstructions) {
    return Refused(" must have <= ", kMaxInstructions, " instructions, got ",
                   num_instructions);
  }
  if (computations_.empty()) {
    return Refused(" must have an entry computation, got no computation");
  }
  if (computations_.count(module_.entry_computation_id()) == 0) {
    return Refused(" must have its entry computation, got none with id ",
                   module_.entry_computation_id());
  }
  return Status();
}

// Checks the parameters, used or not.
Status Reader::SetInputs(const HloComputationProto& entry) {
  std::vector<const HloInstructionProto*> parameters;
  for (const HloInstructionProto& instruction : entry.instructions()) {
    if (instruction.opcode() == "parameter") parameters.push_back(&instruction);
  }
  std::sort(parameters.begin(), parameters.end(), [](auto* a, auto* b) {
    return a->parameter_number() < b->parameter_number();
  });
  const int size = static_cast<int>(parameters.size());
  for (int i = 0; i < size; ++i) {
    if (parameters[i]->parameter_number() != i) {
      return RefusedAt(*parameters[i], "be parameter ", i, ", got ",
                       parameters[i]->parameter_number());
    }
    const std::string shape = ShapeName(parameters[i]->shape());
    // The first two are the gradient and the weights.
    if (i > 1 && i == size - 1 && shape == "f32[]") {
      steps_.takes_learning_rate = true;
    } else if (shape != "f32[1,1]") {
      return RefusedAt(*parameters[i], "have shape f32[1,1], got ", shape);
    }
  }
  const int arrays = size - steps_.takes_learning_rate;
  if (arrays < 2) {
    return Refused(" must take gradient, weights and slots, got ", arrays,
                   arrays == 1 ? " array" : " arrays");
  }
  steps_.num_slots = arrays - 2;
  if (steps_.num_slots > kMaxSlots) {
    return Refused(" must take <= ", kMaxSlots, " slots, got ",
                   steps_.num_slots);
  }
  return Status();
}

Result<HloSteps> Reader::Read() {
  TPULESS_RETURN_IF_ERROR(FindComputations());
  const auto& entry = *computations_.at(module_.entry_computation_id());
  TPULESS_RETURN_IF_ERROR(SetInputs(entry));
  std::vector<Given> inputs;
  for (int i = 0; i < steps_.num_inputs(); ++i) inputs.push_back({false, {i}});

  const Result<Given> result = Expand(entry, inputs);
  if (!result.ok()) return result.status();

  const int num_outputs = 1 + steps_.num_slots;
  if (!result->is_tuple) {
    return Refused(" must return a tuple of weights and slots, got one array");
  }
  const int size = static_cast<int>(result->values.size());
  if (size != num_outputs) {
    return Refused(" must return weights and ", steps_.num_slots,
                   " slots as it takes, got ", size,
                   size == 1 ? " array" : " arrays");
  }
  steps_.outputs = result->values;
  for (int i = 0; i < size; ++i) {
    if (IsPredicate(steps_.outputs[i])) {
      return Refused(" must return f32[1,1], got pred in output ", i);
    }
  }
  TPULESS_RETURN_IF_ERROR(CheckProgramShape());
  return std::move(steps_);
}

// TensorFlow's ops that load all tables count the slots by it.
Status Reader::CheckProgramShape() const {
  const auto& shape = module_.host_program_shape();
  const int num_outputs = 1 + steps_.num_slots;
  if (shape.parameters_size() == steps_.num_inputs() &&
      shape.result().element_type() == xla::TUPLE &&
      shape.result().tuple_shapes_size() == num_outputs) {
    return Status();
  }
  return Refused(" must have a host_program_shape of ", steps_.num_inputs(),
                 " parameters and a tuple of ", num_outputs, ", got ",
                 shape.parameters_size(), " and ",
                 shape.result().element_type() == xla::TUPLE
                     ? StrCat("a tuple of ", shape.result().tuple_shapes_size())
                     : std::string("no tuple"));
}

// Instructions that the root does not need may be anything: so are those that
// TensorFlow leaves behind of shapes it computed.
Result<Given> Reader::Expand(const HloComputationProto& computation,
                             const std::vector<Given>& arguments) {
  const auto& instructions = computation.instructions();
  std::unordered_set<int64_t> needed = {computation.root_id()};
  for (int i = instructions.size() - 1; i >= 0; --i) {
    if (needed.count(instructions[i].id()) == 0) continue;
    if (instructions[i].operand_ids_size() > kMaxOperands) {
      return RefusedAt(instructions[i], "have <= ", kMaxOperands,
                       " operands, got ", instructions[i].operand_ids_size());
    }
    needed.insert(instructions[i].operand_ids().begin(),
                  instructions[i].operand_ids().end());
  }
  ById given;
  for (const HloInstructionProto& instruction : instructions) {
    if (needed.count(instruction.id()) == 0) continue;
    if (++num_instructions_ > kMaxInstructions) {
      return Refused(" must have <= ", kMaxInstructions,
                     " instructions with its calls expanded, got more");
    }
    Result<Given> one = Give(instruction, arguments, given);
    if (!one.ok()) return one.status();
    given.emplace(instruction.id(), std::move(*one));
  }
  const auto root = given.find(computation.root_id());
  if (root == given.end()) {
    return Refused(": computation '", Shorten(computation.name()),
                   "' must have its root, got none with id ",
                   computation.root_id());
  }
  return root->second;
}

Result<Given> Reader::Give(const HloInstructionProto& instruction,
                           const std::vector<Given>& arguments,
                           const ById& given) {
  std::vector<Given> operands;
  for (int64_t id : instruction.operand_ids()) {
    const auto operand = given.find(id);
    if (operand == given.end()) {
      return RefusedAt(instruction, "come after its operands, got id ", id,
                       " before");
    }
    operands.push_back(operand->second);
  }
  const std::string& opcode = instruction.opcode();
  if (opcode == "parameter") {
    const int64_t number = instruction.parameter_number();
    if (number < 0 || number >= static_cast<int64_t>(arguments.size())) {
      return RefusedAt(instruction, "be one of ", arguments.size(),
                       " parameters, got number ", number);
    }
    const Given& argument = arguments[number];
    if (!argument.is_tuple && !IsOneElement(instruction.shape())) {
      return RefusedAt(instruction, "have one element of f32 or pred, got ",
                       ShapeName(instruction.shape()));
    }
    return argument;
  }
  if (opcode == "constant") return AddConstant(instruction);
  if (opcode == "call" || opcode == "fusion" || opcode == "map") {
    return Call(instruction, operands);
  }
  if (opcode == "tuple") {
    Given tuple = {/*is_tuple=*/true, {}};
    for (const Given& operand : operands) {
      if (operand.is_tuple) {
        return RefusedAt(instruction, "hold arrays, got a tuple");
      }
      tuple.values.push_back(operand.values[0]);
    }
    return tuple;
  }
  if (opcode == "get-tuple-element") {
    if (operands.size() != 1 || !operands[0].is_tuple) {
      return RefusedAt(instruction, "take a tuple, got ", operands.size(),
                       operands.size() == 1 ? " array" : " operands");
    }
    const int64_t index = instruction.tuple_index();
    const auto size = static_cast<int64_t>(operands[0].values.size());
    if (index < 0 || index >= size) {
      return RefusedAt(instruction, "take an element of ", size, ", got index ",
                       index);
    }
    return Given{/*is_tuple=*/false, {operands[0].values[index]}};
  }
  return AddStep(instruction, operands);
}

Result<Given> Reader::Call(const HloInstructionProto& instruction,
                           const std::vector<Given>& operands) {
  if (instruction.called_computation_ids_size() != 1) {
    return RefusedAt(instruction, "call one computation, got ",
                     instruction.called_computation_ids_size());
  }
  const int64_t id = instruction.called_computation_ids(0);
  const auto computation = computations_.find(id);
  if (computation == computations_.end()) {
    return RefusedAt(instruction, "call a computation of the program, got id ",
                     id);
  }
  return Expand(*computation->second, operands);
}

Result<Given> Reader::AddConstant(const HloInstructionProto& instruction) {
  const ShapeProto& shape = instruction.shape();
  if (!IsOneElement(shape)) {
    return RefusedAt(instruction, "have one element of f32 or pred, got ",
                     ShapeName(shape));
  }
  HloStep step;
  step.opcode = instruction.opcode();
  step.is_predicate = shape.element_type() == xla::PRED;
  const xla::LiteralProto& literal = instruction.literal();
  const int size =
      step.is_predicate ? literal.preds_size() : literal.f32s_size();
  if (size != 1) {
    return RefusedAt(instruction, "have a literal of one ", TypeName(shape),
                     ", got ", size);
  }
  step.constant = step.is_predicate ? literal.preds(0) : literal.f32s(0);
  // Denormals count as 0 here as everywhere.
  if (std::fpclassify(step.constant) == FP_SUBNORMAL) step.constant = 0;
  return Add(std::move(step));
}

Result<Given> Reader::AddStep(const HloInstructionProto& instruction,
                              const std::vector<Given>& operands) {
  HloStep step;
  step.opcode = instruction.opcode();
  const auto is_of_opcode = [&](const Signature& signature) {
    return step.opcode == signature.opcode;
  };
  if (std::none_of(std::begin(kSignatures), std::end(kSignatures),
                   is_of_opcode)) {
    return RefusedAt(instruction, "be elementwise, got ", Shorten(step.opcode));
  }
  if (!IsOneElement(instruction.shape())) {
    return RefusedAt(instruction, "have one element of f32 or pred, got ",
                     ShapeName(instruction.shape()));
  }
  std::string types = "(";
  for (const Given& operand : operands) {
    if (types.size() > 1) types += ", ";
    if (operand.is_tuple) {
      types += "tuple";
      continue;
    }
    types += IsPredicate(operand.values[0]) ? "pred" : "f32";
    step.operands.push_back(operand.values[0]);
  }
  types += ") -> " + TypeName(instruction.shape());

  std::string expected;
  for (const Signature& signature : kSignatures) {
    if (!is_of_opcode(signature)) continue;
    if (types != signature.types) {
      expected += (expected.empty() ? "" : " or ");
      expected += signature.types;
      continue;
    }
    if (signature.only_moves) return operands[0];
    step.is_predicate = instruction.shape().element_type() == xla::PRED;
    if (step.opcode == "compare") {
      step.comparison_direction = instruction.comparison_direction();
      static constexpr const char* kDirections[] = {"EQ", "NE", "GE",
                                                    "GT", "LE", "LT"};
      if (std::count(std::begin(kDirections), std::end(kDirections),
                     step.comparison_direction) == 0) {
        return RefusedAt(instruction, "compare EQ, NE, GE, GT, LE or LT, got '",
                         Shorten(step.comparison_direction), "'");
      }
      if (instruction.comparison_type() == "TOTALORDER") {
        return RefusedAt(instruction, "compare by FLOAT, got TOTALORDER");
      }
    }
    return Add(std::move(step));
  }
  return RefusedAt(instruction, "have types ", expected, ", got ", types);
}

Given Reader::Add(HloStep step) {
  const int value = steps_.num_inputs() + static_cast<int>(steps_.steps.size());
  steps_.steps.push_back(std::move(step));
  return {/*is_tuple=*/false, {value}};
}

bool Reader::IsPredicate(int value) const {
  return value >= steps_.num_inputs() &&
         steps_.steps[value - steps_.num_inputs()].is_predicate;
}

}  // namespace

Result<HloSteps> ReadHloSteps(const HloModuleProto& program) {
  return Reader(program).Read();
}

}  // namespace tpuless
