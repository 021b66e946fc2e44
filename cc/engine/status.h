// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Errors as values: Status, and Result<T> for a value or the error instead.
#ifndef TPULESS_CC_ENGINE_STATUS_H_
#define TPULESS_CC_ENGINE_STATUS_H_

#include <cassert>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace tpuless {

// The values are those of absl::StatusCode, so that glue can cast.
enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// Returns the arguments written one after the other.
template <class... Args>
std::string StrCat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <class... Args>
Status InvalidArgument(const Args&... args) {
  return Status(StatusCode::kInvalidArgument, StrCat(args...));
}
template <class... Args>
Status NotFound(const Args&... args) {
  return Status(StatusCode::kNotFound, StrCat(args...));
}
template <class... Args>
Status FailedPrecondition(const Args&... args) {
  return Status(StatusCode::kFailedPrecondition, StrCat(args...));
}
template <class... Args>
Status ResourceExhausted(const Args&... args) {
  return Status(StatusCode::kResourceExhausted, StrCat(args...));
}
template <class... Args>
Status Unimplemented(const Args&... args) {
  return Status(StatusCode::kUnimplemented, StrCat(args...));
}

// A value, or the error that stands in its place.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit
    assert(!status_.ok());
  }
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  T& operator*() {
    assert(ok());
    return *value_;
  }
  const T& operator*() const {
    assert(ok());
    return *value_;
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

 private:
  Status status_;
  std::optional<T> value_;
};

#define TPULESS_RETURN_IF_ERROR(expression)          \
  do {                                               \
    ::tpuless::Status tpuless_status = (expression); \
    if (!tpuless_status.ok()) return tpuless_status; \
  } while (false)

}  // namespace tpuless

#endif  // TPULESS_CC_ENGINE_STATUS_H_
