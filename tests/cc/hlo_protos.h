// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Writes user_defined_programs as TensorFlow would.
#ifndef TPULESS_TESTS_CC_HLO_PROTOS_H_
#define TPULESS_TESTS_CC_HLO_PROTOS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "xla/service/hlo.pb.h"

namespace tpuless {

// A module with one computation so far; ids count from 1. What a method adds
// is found again by the id it returns.
class HloWriter {
 public:
  explicit HloWriter(int64_t computation_id = 1) {
    proto.set_name("program");
    proto.set_entry_computation_id(computation_id);
    AddComputation(computation_id);
  }

  // The instructions that follow belong to it.
  void AddComputation(int64_t id) {
    computation = proto.add_computations();
    computation->set_name("computation." + std::to_string(id));
    computation->set_id(id);
  }

  // The newest one is the root.
  int64_t Add(const std::string& opcode, const std::vector<int64_t>& operands,
              xla::PrimitiveType type = xla::F32,
              const std::vector<int64_t>& dimensions = {1, 1}) {
    newest = computation->add_instructions();
    newest->set_name(opcode + "." + std::to_string(++num_instructions_));
    newest->set_id(num_instructions_);
    newest->set_opcode(opcode);
    newest->mutable_shape()->set_element_type(type);
    for (int64_t size : dimensions) {
      newest->mutable_shape()->add_dimensions(size);
    }
    for (int64_t id : operands) newest->add_operand_ids(id);
    computation->set_root_id(num_instructions_);
    return num_instructions_;
  }

  int64_t Parameter(int number,
                    const std::vector<int64_t>& dimensions = {1, 1}) {
    const int64_t id = Add("parameter", {}, xla::F32, dimensions);
    newest->set_parameter_number(number);
    if (IsEntry()) {
      *proto.mutable_host_program_shape()->add_parameters() = newest->shape();
    }
    return id;
  }

  int64_t Constant(float value) {
    const int64_t id = Add("constant", {}, xla::F32, {});
    *newest->mutable_literal()->mutable_shape() = newest->shape();
    newest->mutable_literal()->add_f32s(value);
    return Add("broadcast", {id});
  }

  int64_t Compare(int64_t a, const std::string& direction, int64_t b) {
    const int64_t id = Add("compare", {a, b}, xla::PRED);
    newest->set_comparison_direction(direction);
    return id;
  }

  int64_t Call(const std::string& opcode, int64_t computation_id,
               const std::vector<int64_t>& operands) {
    const int64_t id = Add(opcode, operands);
    newest->add_called_computation_ids(computation_id);
    return id;
  }

  int64_t Tuple(const std::vector<int64_t>& elements) {
    const int64_t id = Add("tuple", elements, xla::TUPLE, {});
    if (IsEntry()) {
      auto& result = *proto.mutable_host_program_shape()->mutable_result();
      result.Clear();
      result.set_element_type(xla::TUPLE);
      for (size_t i = 0; i < elements.size(); ++i) {
        result.add_tuple_shapes()->set_element_type(xla::F32);
      }
    }
    return id;
  }

  xla::HloModuleProto proto;
  xla::HloComputationProto* computation = nullptr;
  xla::HloInstructionProto* newest = nullptr;

 private:
  bool IsEntry() const {
    return computation->id() == proto.entry_computation_id();
  }

  int64_t num_instructions_ = 0;
};

// w -= g / 8
inline xla::HloModuleProto SgdProgram() {
  HloWriter hlo;
  const int64_t g = hlo.Parameter(0);
  const int64_t w = hlo.Parameter(1);
  const int64_t step = hlo.Add("multiply", {g, hlo.Constant(0.125f)});
  hlo.Tuple({hlo.Add("subtract", {w, step})});
  return hlo.proto;
}

// a += g^2, w -= lr * g / sqrt(a)
inline xla::HloModuleProto AdagradProgram() {
  HloWriter hlo;
  const int64_t g = hlo.Parameter(0);
  const int64_t w = hlo.Parameter(1);
  const int64_t a = hlo.Parameter(2);
  const int64_t lr = hlo.Add("broadcast", {hlo.Parameter(3, {})});
  const int64_t a1 = hlo.Add("add", {a, hlo.Add("multiply", {g, g})});
  const int64_t step =
      hlo.Add("divide", {hlo.Add("multiply", {lr, g}), hlo.Add("sqrt", {a1})});
  hlo.Tuple({hlo.Add("subtract", {w, step}), a1});
  return hlo.proto;
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_HLO_PROTOS_H_
