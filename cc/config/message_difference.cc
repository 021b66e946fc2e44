// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Says where two messages of one type differ.
#include "cc/config/message_difference.h"

#include <cstdlib>
#include <iomanip>
#include <limits>
#include <sstream>

#include "cc/engine/status.h"
#include "google/protobuf/descriptor.h"

namespace tpuless {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Returns the shortest decimal that reads back as `value`.
template <class T>
std::string NumberString(T value) {
  std::ostringstream out;
  for (int digits = 6; digits <= std::numeric_limits<T>::max_digits10;
       ++digits) {
    out.str("");
    out << std::setprecision(digits) << value;
    if (static_cast<T>(std::strtod(out.str().c_str(), nullptr)) == value) {
      break;
    }
  }
  return out.str();
}

// One value of a field: of entry `index` if the field is repeated.
struct Value {
  const Message& message;
  const FieldDescriptor* field;
  int index;

  const Reflection& reflection() const { return *message.GetReflection(); }

  template <class T>
  T Get(T (Reflection::*single)(const Message&, const FieldDescriptor*) const,
        T (Reflection::*repeated)(const Message&, const FieldDescriptor*, int)
            const) const {
    return field->is_repeated()
               ? (reflection().*repeated)(message, field, index)
               : (reflection().*single)(message, field);
  }

  const Message& AsMessage() const {
    return field->is_repeated()
               ? reflection().GetRepeatedMessage(message, field, index)
               : reflection().GetMessage(message, field);
  }

  std::string ToString() const;
};

std::string Value::ToString() const {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return StrCat(Get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
    case FieldDescriptor::CPPTYPE_INT64:
      return StrCat(Get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return StrCat(
          Get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return StrCat(
          Get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return NumberString(
          Get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return NumberString(
          Get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
    case FieldDescriptor::CPPTYPE_BOOL:
      return Get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true"
                                                                     : "false";
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number =
          Get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
      const auto* value = field->enum_type()->FindValueByNumber(number);
      return value != nullptr ? std::string(value->name()) : StrCat(number);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return StrCat("'",
                    Get(&Reflection::GetString, &Reflection::GetRepeatedString),
                    "'");
    default:
      return "a message";
  }
}

std::string Difference(const Value& configured, const Value& given,
                       const std::string& path) {
  if (configured.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const std::string inner =
        FirstDifference(configured.AsMessage(), given.AsMessage());
    return inner.empty() ? "" : StrCat(path, ".", inner);
  }
  const std::string expected = configured.ToString();
  const std::string got = given.ToString();
  if (expected == got) return "";
  return StrCat(path, ": configured ", expected, ", got ", got);
}

std::string RepeatedDifference(const Message& configured, const Message& given,
                               const FieldDescriptor* field,
                               const std::string& path) {
  const int size = configured.GetReflection()->FieldSize(configured, field);
  const int given_size = given.GetReflection()->FieldSize(given, field);
  for (int i = 0; i < size && i < given_size; ++i) {
    const std::string difference = Difference(
        {configured, field, i}, {given, field, i}, StrCat(path, "[", i, "]"));
    if (!difference.empty()) return difference;
  }
  if (size == given_size) return "";
  return StrCat(path, ": configured ", size, " entries, got ", given_size);
}

}  // namespace

std::string FirstDifference(const Message& configured, const Message& given) {
  const auto* descriptor = configured.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const std::string name(field->name());
    std::string difference;
    if (field->is_repeated()) {
      difference = RepeatedDifference(configured, given, field, name);
    } else if (field->has_presence()) {
      const bool is_set =
          configured.GetReflection()->HasField(configured, field);
      if (is_set != given.GetReflection()->HasField(given, field)) {
        return StrCat(name, ": configured ", is_set ? "set" : "not set",
                      ", got ", is_set ? "not set" : "set");
      }
      if (is_set) {
        difference =
            Difference({configured, field, 0}, {given, field, 0}, name);
      }
    } else {
      difference = Difference({configured, field, 0}, {given, field, 0}, name);
    }
    if (!difference.empty()) return difference;
  }
  return "";
}

}  // namespace tpuless
