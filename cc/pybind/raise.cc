// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
#include "cc/pybind/raise.h"

#include <pybind11/pybind11.h>

namespace tpuless {
namespace {

PyObject* ExceptionType(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return PyExc_ValueError;
    case StatusCode::kNotFound:
      return PyExc_LookupError;
    case StatusCode::kResourceExhausted:
      return PyExc_MemoryError;
    case StatusCode::kDeadlineExceeded:
      return PyExc_TimeoutError;
    case StatusCode::kUnimplemented:
      return PyExc_NotImplementedError;
    case StatusCode::kOk:
    case StatusCode::kCancelled:
    case StatusCode::kAlreadyExists:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kAborted:
    case StatusCode::kInternal:
      break;
  }
  return PyExc_RuntimeError;
}

}  // namespace

void Raise(const Status& status) {
  if (status.ok()) return;
  PyErr_SetString(ExceptionType(status.code()), status.message().c_str());
  throw pybind11::error_already_set();
}

}  // namespace tpuless
