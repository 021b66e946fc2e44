// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From the engine's errors to Python's exceptions.
#ifndef TPULESS_CC_PYBIND_RAISE_H_
#define TPULESS_CC_PYBIND_RAISE_H_

#include <utility>

#include "cc/engine/status.h"

namespace tpuless {

// Throws what pybind11 turns into the exception of the status's code, with
// its message; does nothing if the status is OK. Needs the GIL.
void Raise(const Status& status);

// Returns the value of a result, or throws its error.
template <class T>
T ValueOrRaise(Result<T> result) {
  Raise(result.status());
  return std::move(*result);
}

}  // namespace tpuless

#endif  // TPULESS_CC_PYBIND_RAISE_H_
