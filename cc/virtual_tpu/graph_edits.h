// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What passes do to graphs.
#ifndef TPULESS_CC_VIRTUAL_TPU_GRAPH_EDITS_H_
#define TPULESS_CC_VIRTUAL_TPU_GRAPH_EDITS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/graph/graph.h"

namespace tpuless {

// Returns edges that a loop may change the graph over.
std::vector<const tensorflow::Edge*> CopyEdges(
    const tensorflow::EdgeSet& edges);

// Returns the edge of a node's input, which it must have.
const tensorflow::Edge* InputEdge(const tensorflow::Node* node, int input);

// Makes a constant of a node; name, inputs and device stay.
void MakeConstant(const tensorflow::Tensor& value, tensorflow::NodeDef& node);

// Adds a constant next to `neighbor`, which gives it the loop that it is in.
absl::StatusOr<tensorflow::Node*> AddConstant(const std::string& name,
                                              const tensorflow::Tensor& value,
                                              const std::string& device,
                                              tensorflow::Node* neighbor,
                                              tensorflow::Graph* graph);

}  // namespace tpuless

#endif  // TPULESS_CC_VIRTUAL_TPU_GRAPH_EDITS_H_
