// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What passes do to graphs.
#include "cc/virtual_tpu/graph_edits.h"

#include <utility>

#include "tensorflow/core/framework/node_def_util.h"

namespace tpuless {

using tensorflow::Edge;
using tensorflow::Node;
using tensorflow::NodeDef;

std::vector<const Edge*> CopyEdges(const tensorflow::EdgeSet& edges) {
  return {edges.begin(), edges.end()};
}

const Edge* InputEdge(const Node* node, int input) {
  const Edge* edge = nullptr;
  TF_CHECK_OK(node->input_edge(input, &edge));
  return edge;
}

void MakeConstant(const tensorflow::Tensor& value, NodeDef& node) {
  node.set_op("Const");
  node.clear_attr();
  AddNodeAttr("dtype", value.dtype(), &node);
  AddNodeAttr("value", value, &node);
}

absl::StatusOr<Node*> AddConstant(const std::string& name,
                                  const tensorflow::Tensor& value,
                                  const std::string& device, Node* neighbor,
                                  tensorflow::Graph* graph) {
  NodeDef def;
  MakeConstant(value, def);
  def.set_name(graph->NewName(name));
  def.set_device(device);
  auto node = graph->AddNode(std::move(def));
  if (node.ok()) graph->AddControlEdge(neighbor, *node);
  return node;
}

}  // namespace tpuless
