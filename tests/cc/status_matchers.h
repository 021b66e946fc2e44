// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Matchers of a Status: its code and its whole message.
#ifndef TPULESS_TESTS_CC_STATUS_MATCHERS_H_
#define TPULESS_TESTS_CC_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "cc/engine/status.h"

namespace tpuless {

inline void PrintTo(const Status& status, std::ostream* out) {
  *out << "code " << static_cast<int>(status.code()) << ": "
       << status.message();
}

template <class T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  PrintTo(result.status(), out);
}

inline const Status& StatusOf(const Status& status) { return status; }
template <class T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") { return StatusOf(arg).ok(); }

MATCHER_P2(StatusIs, code, message,
           "has code " + testing::PrintToString(static_cast<int>(code)) +
               " and says " + testing::PrintToString(message)) {
  const Status& status = StatusOf(arg);
  return status.code() == code && status.message() == std::string(message);
}

inline auto IsInvalidArgument(const std::string& message) {
  return StatusIs(StatusCode::kInvalidArgument, message);
}
inline auto IsFailedPrecondition(const std::string& message) {
  return StatusIs(StatusCode::kFailedPrecondition, message);
}
inline auto IsNotFound(const std::string& message) {
  return StatusIs(StatusCode::kNotFound, message);
}
inline auto IsAborted(const std::string& message) {
  return StatusIs(StatusCode::kAborted, message);
}
inline auto IsDeadlineExceeded(const std::string& message) {
  return StatusIs(StatusCode::kDeadlineExceeded, message);
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_STATUS_MATCHERS_H_
