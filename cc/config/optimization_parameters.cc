// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From tensorflow.tpu.OptimizationParameters to a table's optimizer.
#include "cc/config/optimization_parameters.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cc/config/hlo_program.h"
#include "cc/engine/optimizers/user_defined_program.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"

namespace tpuless {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;
using tensorflow::tpu::OptimizationParameters;

template <class ClippingLimits>
Limits ToLimits(const ClippingLimits& limits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {limits.has_lower() ? limits.lower().value() : -kInfinity,
          limits.has_upper() ? limits.upper().value() : kInfinity};
}

Hyperparameters ToHyperparameters(const Message& message) {
  Hyperparameters hyperparameters;
  const Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const std::string name(field->name());
    if (field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
      hyperparameters.Set(name, reflection.GetFloat(message, field));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      hyperparameters.Set(name, reflection.GetBool(message, field));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
      hyperparameters.Set(name, reflection.GetInt32(message, field));
    }
  }
  return hyperparameters;
}

// Returns the number of an optimizer that was added to the proto after this
// TensorFlow, or 0.
int UnknownOptimizer(const OptimizationParameters& proto) {
  int last_known = 0;
  for (int i = 0; i < proto.GetDescriptor()->field_count(); ++i) {
    last_known =
        std::max(last_known, proto.GetDescriptor()->field(i)->number());
  }
  const UnknownFieldSet& unknown =
      proto.GetReflection()->GetUnknownFields(proto);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField& field = unknown.field(i);
    if (field.type() == UnknownField::TYPE_LENGTH_DELIMITED &&
        field.number() > last_known) {
      return field.number();
    }
  }
  return 0;
}

// Returns the tag of the optimizer's own dynamic input, which is its one
// field with a tag.
std::optional<int32_t> DynamicInputTag(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> set_fields;
  reflection.ListFields(message, &set_fields);
  for (const FieldDescriptor* field : set_fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const FieldDescriptor* tag = field->message_type()->FindFieldByName("tag");
    if (tag == nullptr) continue;
    const Message& input = reflection.GetMessage(message, field);
    return input.GetReflection()->GetInt32(input, tag);
  }
  return std::nullopt;
}

Status SetProgram(const xla::HloModuleProto& proto, TableConfig& table) {
  Result<std::shared_ptr<const RowProgram>> program = ParseHloProgram(proto);
  if (!program.ok()) {
    return Status(
        program.status().code(),
        StrCat("table '", table.name, "': ", program.status().message()));
  }
  table.user_optimizer = UserDefinedProgramInfo(std::move(*program));
  return Status();
}

Status SetOptimizer(const OptimizationParameters& proto, TableConfig& table) {
  const auto* oneof = proto.GetDescriptor()->FindOneofByName("parameters");
  const Reflection& reflection = *proto.GetReflection();
  const FieldDescriptor* field =
      reflection.GetOneofFieldDescriptor(proto, oneof);
  if (field != nullptr) {
    table.optimizer = std::string(field->name());
    const Message& message = reflection.GetMessage(proto, field);
    table.hyperparameters = ToHyperparameters(message);
    table.dynamic_input_tag = DynamicInputTag(message);
    return proto.has_user_defined_program()
               ? SetProgram(proto.user_defined_program().program(), table)
               : Status();
  }
  const int unknown = UnknownOptimizer(proto);
  if (unknown != 0) {
    return Unimplemented("table '", table.name,
                         "': optimizer must be known to this TensorFlow, got "
                         "field number ",
                         unknown, " of OptimizationParameters");
  }
  return InvalidArgument("table '", table.name,
                         "': no optimization algorithm specified");
}

}  // namespace

Status SetOptimizationParameters(const OptimizationParameters& proto,
                                 TableConfig& table) {
  TPULESS_RETURN_IF_ERROR(SetOptimizer(proto, table));
  if (proto.learning_rate().has_dynamic()) {
    table.learning_rate_tag = proto.learning_rate().dynamic().tag();
  } else {
    table.learning_rate = proto.learning_rate().constant();
  }
  if (proto.has_clipping_limits()) {
    table.clip_weights = ToLimits(proto.clipping_limits());
  }
  if (proto.has_gradient_clipping_limits()) {
    table.clip_gradients = ToLimits(proto.gradient_clipping_limits());
  }
  table.weight_decay_factor = proto.weight_decay_factor();
  table.multiply_weight_decay_by_learning_rate =
      proto.multiply_weight_decay_factor_by_learning_rate();
  const int accumulation = proto.gradient_accumulation_status();
  if (accumulation < 0 || accumulation > 2) {
    return InvalidArgument("table '", table.name,
                           "': gradient_accumulation_status must be 0, 1 or "
                           "2, got ",
                           accumulation);
  }
  // Of the three, only DISABLED turns it off.
  table.accumulate_gradients = accumulation != 2;
  const auto& quantization = proto.simulated_quantization();
  if (quantization.enabled()) {
    table.quantization = SimulatedQuantization{
        ToLimits(quantization.clipping_limits()), quantization.num_buckets()};
  }
  return Status();
}

}  // namespace tpuless
