// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// How a Python thread makes a call of the engine that may have to wait.
#ifndef TPULESS_CC_PYBIND_WAITING_CALL_H_
#define TPULESS_CC_PYBIND_WAITING_CALL_H_

#include <functional>

#include "cc/engine/engine.h"
#include "cc/engine/parallel_for.h"

namespace tpuless {

// Makes the call that `start` passes its Call to, and returns when that is
// done. The thread gives the GIL away, runs what the engine schedules, and
// otherwise sleeps. Throws the call's error as Raise() does, or what a signal
// handler raises: an interrupt cancels the call.
void RunCall(Engine& engine, const ParallelFor& parallel_for,
             const std::function<void(Call)>& start);

}  // namespace tpuless

#endif  // TPULESS_CC_PYBIND_WAITING_CALL_H_
