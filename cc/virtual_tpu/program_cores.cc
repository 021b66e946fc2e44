// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which core of the machine a program's replica runs on.
#include "cc/virtual_tpu/program_cores.h"

#include <iterator>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/device.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/protobuf/tpu/topology.pb.h"

namespace tpuless {
namespace {

// Returns "/job:localhost/replica:0/task:0".
std::string TaskName(const tensorflow::DeviceNameUtils::ParsedName& name) {
  return absl::StrCat("/job:", name.job, "/replica:", name.replica,
                      "/task:", name.task);
}

// Returns the index of the core at each coordinate of a topology of one task.
absl::StatusOr<std::map<std::vector<int>, int>> CoresByCoordinates(
    const std::string& serialized) {
  tensorflow::tpu::TopologyProto topology;
  if (!topology.ParseFromString(serialized)) {
    return absl::InvalidArgumentError("topology must parse");
  }
  const int rank = topology.mesh_shape_size();
  std::map<std::vector<int>, int> cores;
  const auto& coordinates = topology.device_coordinates();
  for (int i = 0; rank > 0 && i + rank <= coordinates.size(); i += rank) {
    cores.emplace(std::vector<int>(coordinates.begin() + i,
                                   coordinates.begin() + i + rank),
                  i / rank);
  }
  return cores;
}

}  // namespace

absl::StatusOr<ProgramCores> ProgramCores::Create(
    const tensorflow::NodeDef& metadata, const tensorflow::DeviceSet& devices) {
  ProgramCores program;
  std::string topology;
  std::vector<int> assignment;
  TF_RETURN_IF_ERROR(
      GetNodeAttr(metadata, "num_replicas", &program.num_replicas_));
  TF_RETURN_IF_ERROR(GetNodeAttr(metadata, "num_cores_per_replica",
                                 &program.cores_per_replica_));
  TF_RETURN_IF_ERROR(GetNodeAttr(metadata, "topology", &topology));
  TF_RETURN_IF_ERROR(GetNodeAttr(metadata, "device_assignment", &assignment));

  std::set<int> known_cores;
  std::set<std::string> tasks;
  for (const tensorflow::Device* device : devices.devices()) {
    const auto& name = device->parsed_name();
    if (name.type != "TPU") continue;
    known_cores.insert(name.id);
    tasks.insert(TaskName(name));
  }
  if (tasks.size() > 1) {
    return absl::UnimplementedError(
        absl::StrCat("must run on the cores of one host, got ", *tasks.begin(),
                     " and ", *std::next(tasks.begin())));
  }
  if (!tasks.empty()) program.task_ = *tasks.begin();
  const int num_cores = program.num_replicas_ * program.cores_per_replica_;
  if (num_cores <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("must have one core or more, got ", num_cores));
  }
  if (assignment.empty()) {
    for (int i = 0; i < num_cores; ++i) program.cores_.push_back(i);
  } else {
    const auto by_coordinates = CoresByCoordinates(topology);
    if (!by_coordinates.ok()) return by_coordinates.status();
    const int rank = static_cast<int>(assignment.size()) / num_cores;
    for (int i = 0; i < num_cores; ++i) {
      const std::vector<int> coordinates(assignment.begin() + i * rank,
                                         assignment.begin() + (i + 1) * rank);
      const auto core = by_coordinates->find(coordinates);
      if (core == by_coordinates->end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "device_assignment must be of cores of the topology, got another "
            "for replica ",
            i / program.cores_per_replica_));
      }
      program.cores_.push_back(core->second);
    }
  }
  for (int core : program.cores_) {
    if (known_cores.count(core) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("needs core ", core, ", but there are ",
                       known_cores.size(), " virtual cores"));
    }
  }
  return program;
}

std::string ProgramCores::CoreDevice(int replica, int logical_core) const {
  return absl::StrCat(task_, "/device:TPU:", Core(replica, logical_core));
}

}  // namespace tpuless
