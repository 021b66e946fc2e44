// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// CPU devices under the names of TPU cores.
#ifndef TPULESS_CC_VIRTUAL_TPU_VIRTUAL_DEVICES_H_
#define TPULESS_CC_VIRTUAL_TPU_VIRTUAL_DEVICES_H_

#include <string>
#include <vector>

namespace tpuless {

// The environment variable with the number of cores; unset or 0 is none.
constexpr char kCoresVariable[] = "TPULESS_CORES";

// Lets TensorFlow's processes have /device:TPU:0, ... and
// /device:TPU_SYSTEM:0, unless they have real ones.
void RegisterVirtualDevices();

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_VIRTUAL_DEVICES_H_
