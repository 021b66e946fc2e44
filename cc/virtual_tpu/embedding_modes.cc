// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Which batches of a graph take gradients.
#include "cc/virtual_tpu/embedding_modes.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "cc/virtual_tpu/graph_edits.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tpuless {
namespace {

using tensorflow::Edge;
using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

// Embedding layers that a graph receives from and sends to.
class Layers {
 public:
  explicit Layers(const FunctionLibraryDefinition& functions)
      : functions_(functions) {}

  void Add(const NodeDef& node) {
    if (node.op() == "RecvTPUEmbeddingActivations") {
      received_.insert(Layer(node));
    } else if (node.op() == "SendTPUEmbeddingGradients") {
      sent_.insert(Layer(node));
    }
    for (const auto& [unused, value] : node.attr()) {
      if (value.has_func()) AddFunction(value.func().name());
      for (const auto& function : value.list().func()) {
        AddFunction(function.name());
      }
    }
  }

  bool TakesGradients(const NodeDef& enqueue) const {
    const std::string layer = Layer(enqueue);
    return received_.count(layer) == 0 || sent_.count(layer) > 0;
  }

 private:
  static std::string Layer(const NodeDef& node) {
    std::string layer;
    TryGetNodeAttr(node, "_tpu_embedding_layer", &layer);
    return layer;
  }

  void AddFunction(const std::string& name) {
    if (!seen_.insert(name).second) return;
    const FunctionDef* function = functions_.Find(name);
    if (function == nullptr) return;
    for (const NodeDef& node : function->node_def()) Add(node);
  }

  const FunctionLibraryDefinition& functions_;
  std::set<std::string> seen_;
  std::set<std::string> received_;
  std::set<std::string> sent_;
};

}  // namespace

absl::Status MakeInferenceBatches(const FunctionLibraryDefinition& functions,
                                  Graph* graph) {
  Layers layers(functions);
  std::vector<Node*> enqueues;
  for (Node* node : graph->op_nodes()) {
    layers.Add(node->def());
    if (absl::StartsWith(node->type_string(), "EnqueueTPUEmbedding")) {
      enqueues.push_back(node);
    }
  }
  for (Node* node : enqueues) {
    if (layers.TakesGradients(node->def())) continue;
    // The last input is mode_override.
    const int input = node->num_inputs() - 1;
    const Edge* edge;
    TF_RETURN_IF_ERROR(node->input_edge(input, &edge));
    const auto mode = AddConstant(node->name() + "/inference",
                                  tensorflow::Tensor("inference"),
                                  node->requested_device(), edge->src(), graph);
    if (!mode.ok()) return mode.status();
    graph->RemoveEdge(edge);
    graph->AddEdge(*mode, 0, node, input);
  }
  return absl::OkStatus();
}

}  // namespace tpuless
