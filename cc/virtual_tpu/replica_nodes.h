// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a node of a TPU program in one of its replicas.
#ifndef TPULESS_CC_VIRTUAL_TPU_REPLICA_NODES_H_
#define TPULESS_CC_VIRTUAL_TPU_REPLICA_NODES_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cc/virtual_tpu/program_cores.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/graph/graph.h"

namespace tpuless {

// Whether the host computes a node of a program.
bool IsOutsideCompilation(const tensorflow::NodeDef& node);
void MarkOutsideCompilation(tensorflow::Node* node);

// Rewrites nodes, and the functions that they call.
class ReplicaNodes {
 public:
  // `cores` and `functions` must outlive it. `program` tells the collectives
  // of one program from those of others.
  ReplicaNodes(int64_t program, const ProgramCores& cores,
               tensorflow::FunctionLibraryDefinition* functions)
      : program_(program), cores_(cores), functions_(functions) {}

  // Rewrites `node` for a replica. `place` tells apart the nodes of one name
  // that functions have; for the graph it is "". The name is left to the
  // caller.
  absl::Status Rewrite(int replica, const std::string& place,
                       tensorflow::NodeDef& node);

 private:
  std::string Device(int replica, const tensorflow::NodeDef& node) const;
  absl::Status CheckKernel(const tensorflow::NodeDef& node) const;
  absl::Status RewriteFunctions(int replica, const std::string& place,
                                bool outside, tensorflow::NodeDef& node);
  absl::StatusOr<std::string> CopyFunction(int replica,
                                           const std::string& place,
                                           bool outside,
                                           const std::string& name);

  const int64_t program_;
  const ProgramCores& cores_;
  tensorflow::FunctionLibraryDefinition* const functions_;
  int64_t num_copies_ = 0;
  // Functions with their calls inlined.
  std::map<std::string, tensorflow::FunctionDef> inlined_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_REPLICA_NODES_H_
