// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which core of the machine a program's replica runs on.
#ifndef TPULESS_CC_VIRTUAL_TPU_PROGRAM_CORES_H_
#define TPULESS_CC_VIRTUAL_TPU_PROGRAM_CORES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tpuless {

// The devices of a program.
class ProgramCores {
 public:
  // Reads a TPUReplicateMetadata node.
  static absl::StatusOr<ProgramCores> Create(
      const tensorflow::NodeDef& metadata,
      const tensorflow::DeviceSet& devices);

  int num_replicas() const { return num_replicas_; }
  int cores_per_replica() const { return cores_per_replica_; }

  // Index of the core among those of its host.
  int Core(int replica, int logical_core) const {
    return cores_[replica * cores_per_replica_ + logical_core];
  }

  // Returns the device of a core, of the CPU of its host.
  std::string CoreDevice(int replica, int logical_core) const;
  std::string HostDevice() const { return task_ + "/device:CPU:0"; }

 private:
  int num_replicas_ = 0;
  int cores_per_replica_ = 0;
  std::string task_;  // "/job:localhost/replica:0/task:0".
  std::vector<int> cores_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_PROGRAM_CORES_H_
