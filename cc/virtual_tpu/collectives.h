// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Ops in which the replicas of a TPU program exchange values.
#ifndef TPULESS_CC_VIRTUAL_TPU_COLLECTIVES_H_
#define TPULESS_CC_VIRTUAL_TPU_COLLECTIVES_H_

#include <cstdint>
#include <string>

#include "tensorflow/core/framework/node_def.pb.h"

namespace tpuless {

// Returns whether an op is one of them.
bool IsCollective(const std::string& op);

// Tells a collective which replica it is in, and with the name of its node
// where it meets its copies in the others.
void SetReplica(const std::string& place, int replica, int num_replicas,
                tensorflow::NodeDef& node);

// Gives CrossReplicaSum, AllToAll and CollectivePermute their CPU kernels.
void RegisterCollectiveKernels();

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_COLLECTIVES_H_
