// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Variables, tables, writers and the like that TPU programs use.
#ifndef TPULESS_CC_VIRTUAL_TPU_USED_RESOURCES_H_
#define TPULESS_CC_VIRTUAL_TPU_USED_RESOURCES_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tensorflow/core/graph/graph.h"

namespace tpuless {

// Resources from outside of a program that one of its nodes uses. The node must
// be where they are: of a packed one each core has a part, and TensorFlow knows
// where plain ones are.
struct UsedResources {
  bool packed = false;
  bool plain = false;
};

UsedResources ResourcesOf(
    const tensorflow::Node& node,
    absl::FunctionRef<bool(const tensorflow::Node*)> is_in_program);

// Gives the users of a node that passes a resource on, by its first input, that
// resource itself, and removes the node.
absl::Status BypassResource(tensorflow::Node* passing,
                            tensorflow::Graph* graph);

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_USED_RESOURCES_H_
