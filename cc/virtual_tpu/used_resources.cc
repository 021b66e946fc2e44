// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Variables, tables, writers and the like that TPU programs use.
#include "cc/virtual_tpu/used_resources.h"

#include "cc/virtual_tpu/graph_edits.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tpuless {

using tensorflow::Edge;
using tensorflow::Node;

namespace {

bool IsPacked(const Node& source) {
  if (source.type_string() != "TPUReplicatedInput") return false;
  // A partitioned one is behind a TPUPartitionedInput.
  bool is_packed = false, is_packed_part = false;
  TryGetNodeAttr(source.attrs(), "is_packed", &is_packed);
  TryGetNodeAttr(InputEdge(&source, 0)->src()->attrs(), "is_packed",
                 &is_packed_part);
  return is_packed || is_packed_part;
}

}  // namespace

UsedResources ResourcesOf(const Node& node,
                          absl::FunctionRef<bool(const Node*)> is_in_program) {
  UsedResources used;
  for (const Edge* edge : node.in_edges()) {
    if (edge->IsControlEdge() || is_in_program(edge->src()) ||
        edge->src()->output_type(edge->src_output()) !=
            tensorflow::DT_RESOURCE) {
      continue;
    }
    (IsPacked(*edge->src()) ? used.packed : used.plain) = true;
  }
  return used;
}

absl::Status BypassResource(Node* passing, tensorflow::Graph* graph) {
  const Edge* input = InputEdge(passing, 0);
  Node* source = input->src();
  const int output = input->src_output();
  for (const Edge* edge : CopyEdges(passing->out_edges())) {
    Node* user = edge->dst();
    if (edge->IsControlEdge()) {
      graph->AddControlEdge(source, user);
    } else {
      TF_RETURN_IF_ERROR(
          graph->UpdateEdge(source, output, user, edge->dst_input()));
    }
    for (const Edge* before : CopyEdges(passing->in_edges())) {
      if (before->IsControlEdge()) graph->AddControlEdge(before->src(), user);
    }
  }
  graph->RemoveNode(passing);
  return absl::OkStatus();
}

}  // namespace tpuless
