// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Embeddings of replicas that have several cores.
#include "cc/virtual_tpu/embedding_parts.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/virtual_tpu/graph_edits.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/protobuf/tpu/tpu_embedding_configuration.pb.h"

namespace tpuless {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::Node;
using tensorflow::NodeDef;

// Splits the nodes of one program.
class Splitter {
 public:
  Splitter(int cores, Graph* graph, std::vector<Node*>& nodes)
      : cores_(cores), graph_(graph), nodes_(nodes) {}

  absl::Status Run() {
    const std::vector<Node*> before = std::exchange(nodes_, {});
    for (Node* node : before) {
      if (node->type_string() == "RecvTPUEmbeddingActivations") {
        TF_RETURN_IF_ERROR(Split(node, &Splitter::ConnectActivations));
      } else if (node->type_string() == "SendTPUEmbeddingGradients") {
        TF_RETURN_IF_ERROR(Split(node, &Splitter::ConnectGradients));
      } else {
        nodes_.push_back(node);
      }
    }
    return absl::OkStatus();
  }

 private:
  using Connect = absl::Status (Splitter::*)(Node* whole,
                                             const std::vector<Node*>& parts);

  absl::Status Split(Node* whole, Connect connect) {
    std::vector<Node*> parts;
    for (int core = 0; core < cores_; ++core) {
      NodeDef def = whole->def();
      TF_RETURN_IF_ERROR(MakePart(core, def));
      auto part = Add(std::move(def));
      if (!part.ok()) return part.status();
      parts.push_back(*part);
    }
    TF_RETURN_IF_ERROR((this->*connect)(whole, parts));
    // Who runs after the whole runs after all parts.
    NodeDef def;
    def.set_op("NoOp");
    def.set_name(whole->name());
    auto all = Add(std::move(def));
    if (!all.ok()) return all.status();
    for (Node* part : parts) graph_->AddControlEdge(part, *all);
    for (const Edge* edge : CopyEdges(whole->in_edges())) {
      if (!edge->IsControlEdge()) continue;
      for (Node* part : parts) graph_->AddControlEdge(edge->src(), part);
    }
    for (const Edge* edge : CopyEdges(whole->out_edges())) {
      if (edge->IsControlEdge()) graph_->AddControlEdge(*all, edge->dst());
    }
    graph_->RemoveNode(whole);
    return absl::OkStatus();
  }

  // Makes of an op's definition that of a core.
  static absl::Status MakePart(int core, NodeDef& def) {
    def.set_name(absl::StrCat(def.name(), "/core_", core));
    def.set_device(absl::StrCat("/device:TPU_REPLICATED_CORE:", core));
    std::string* bytes = (*def.mutable_attr())["config"].mutable_s();
    tensorflow::tpu::TPUEmbeddingConfiguration config;
    if (!config.ParseFromString(*bytes)) {
      return absl::InvalidArgumentError(
          absl::StrCat("node '", def.name(),
                       "': config must be a TPUEmbeddingConfiguration"));
    }
    // By it TensorFlow would infer the shapes of the whole.
    config.clear_spmd_sharding();
    *bytes = config.SerializeAsString();
    return absl::OkStatus();
  }

  absl::Status ConnectActivations(Node* whole,
                                  const std::vector<Node*>& parts) {
    auto axis = AddAxis(whole, parts[0]);
    if (!axis.ok()) return axis.status();
    for (int output = 0; output < whole->num_outputs(); ++output) {
      NodeDef def;
      def.set_op("ConcatV2");
      def.set_name(absl::StrCat(whole->name(), "/activations_", output));
      AddNodeAttr("T", whole->output_type(output), &def);
      AddNodeAttr("Tidx", tensorflow::DT_INT32, &def);
      AddNodeAttr("N", cores_, &def);
      auto concat = Add(std::move(def));
      if (!concat.ok()) return concat.status();
      for (int core = 0; core < cores_; ++core) {
        graph_->AddEdge(parts[core], output, *concat, core);
      }
      graph_->AddEdge(*axis, 0, *concat, cores_);
      for (const Edge* edge : CopyEdges(whole->out_edges())) {
        if (edge->src_output() != output) continue;
        graph_->AddEdge(*concat, 0, edge->dst(), edge->dst_input());
      }
    }
    return absl::OkStatus();
  }

  absl::Status ConnectGradients(Node* whole, const std::vector<Node*>& parts) {
    int num_gradients;
    TF_RETURN_IF_ERROR(GetNodeAttr(whole->attrs(), "N", &num_gradients));
    std::vector<const Edge*> inputs;
    TF_RETURN_IF_ERROR(whole->input_edges(&inputs));
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      Node* source = inputs[i]->src();
      const int output = inputs[i]->src_output();
      if (i >= num_gradients) {  // A learning rate.
        for (Node* part : parts) graph_->AddEdge(source, output, part, i);
        continue;
      }
      auto axis = AddAxis(whole, source);
      if (!axis.ok()) return axis.status();
      NodeDef def;
      def.set_op("Split");
      def.set_name(absl::StrCat(whole->name(), "/gradients_", i));
      AddNodeAttr("T", whole->input_type(i), &def);
      AddNodeAttr("num_split", cores_, &def);
      auto split = Add(std::move(def));
      if (!split.ok()) return split.status();
      graph_->AddEdge(*axis, 0, *split, 0);
      graph_->AddEdge(source, output, *split, 1);
      for (int core = 0; core < cores_; ++core) {
        graph_->AddEdge(*split, core, parts[core], i);
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Node*> AddAxis(Node* whole, Node* neighbor) {
    auto axis = AddConstant(whole->name() + "/axis", tensorflow::Tensor(0),
                            whole->requested_device(), neighbor, graph_);
    if (axis.ok()) nodes_.push_back(*axis);
    return axis;
  }

  absl::StatusOr<Node*> Add(NodeDef def) {
    auto node = graph_->AddNode(std::move(def));
    if (node.ok()) nodes_.push_back(*node);
    return node;
  }

  const int cores_;
  Graph* const graph_;
  std::vector<Node*>& nodes_;
};

}  // namespace

absl::Status SplitEmbeddings(int cores_per_replica, Graph* graph,
                             std::vector<Node*>& nodes) {
  return Splitter(cores_per_replica, graph, nodes).Run();
}

}  // namespace tpuless
