// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a node of a TPU program in one of its replicas.
#ifndef TPULESS_CC_VIRTUAL_TPU_REPLICA_NODES_H_
#define TPULESS_CC_VIRTUAL_TPU_REPLICA_NODES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cc/virtual_tpu/program_cores.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace tpuless {

// Rewrites nodes, and the functions that they call.
class ReplicaNodes {
 public:
  // `cores` and `functions` must outlive it. `program` tells the collectives
  // of one program from those of others.
  ReplicaNodes(int64_t program, const ProgramCores& cores,
               tensorflow::FunctionLibraryDefinition* functions)
      : program_(program), cores_(cores), functions_(functions) {}

  // Rewrites `node` of a function, or of the graph if that is "", for a
  // replica. Its name is left to the caller.
  absl::Status Rewrite(int replica, const std::string& function,
                       tensorflow::NodeDef& node);

 private:
  std::string Device(int replica, const tensorflow::NodeDef& node) const;
  absl::Status CheckKernel(const tensorflow::NodeDef& node) const;
  absl::Status RewriteFunctions(int replica, tensorflow::NodeDef& node);
  absl::StatusOr<std::string> RewriteFunction(int replica,
                                              const std::string& name);

  const int64_t program_;
  const ProgramCores& cores_;
  tensorflow::FunctionLibraryDefinition* const functions_;
  std::map<std::pair<int, std::string>, std::string> rewritten_;
};

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_REPLICA_NODES_H_
