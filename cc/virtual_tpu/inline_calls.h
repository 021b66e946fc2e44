// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Calls of functions in TPU programs.
#ifndef TPULESS_CC_VIRTUAL_TPU_INLINE_CALLS_H_
#define TPULESS_CC_VIRTUAL_TPU_INLINE_CALLS_H_

#include <vector>

#include "absl/status/status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace tpuless {

// Replaces each call among `nodes` by the nodes of its function, and those
// calls too. A call that stayed would run under a step number of its own, in
// which replicas do not meet, and TensorFlow would choose other devices for its
// nodes. Calls outside of compilation stay. A condition that uses resources of
// the host is replaced by its branches, so that each node of them can be where
// its own resource is. `nodes` become all that there are.
absl::Status InlineCalls(const tensorflow::FunctionLibraryDefinition& functions,
                         tensorflow::Graph* graph,
                         std::vector<tensorflow::Node*>& nodes);

// Does so in a function.
absl::Status InlineCallsOf(
    const tensorflow::FunctionLibraryDefinition& functions,
    tensorflow::FunctionDef& function);

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_INLINE_CALLS_H_
