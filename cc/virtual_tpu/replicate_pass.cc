// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Turns programs for replicas on TPU cores into graphs that TensorFlow runs.
//
// TPUStrategy.run() marks the nodes of a program with _tpu_replicate and leads
// values into it and out of it through TPUReplicatedInput and
// TPUReplicatedOutput. On a TPU a rewrite compiles such a program. Here every
// node of it is copied, once a replica, onto the replica's core; what led
// values in and out becomes plain edges.
#include "cc/virtual_tpu/replicate_pass.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cc/virtual_tpu/embedding_modes.h"
#include "cc/virtual_tpu/embedding_parts.h"
#include "cc/virtual_tpu/graph_edits.h"
#include "cc/virtual_tpu/inline_calls.h"
#include "cc/virtual_tpu/program_cores.h"
#include "cc/virtual_tpu/replica_nodes.h"
#include "cc/virtual_tpu/used_resources.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/graph.h"

namespace tpuless {
namespace {

using tensorflow::Edge;
using tensorflow::Graph;
using tensorflow::GraphOptimizationPassOptions;
using tensorflow::Node;
using tensorflow::NodeDef;

constexpr char kProgramMark[] = "_tpu_replicate";
constexpr char kLocation[] = "loc:@";

// A node's output.
struct Source {
  Node* node;
  int output;
};

// Whether a node leads values into programs.
bool IsInput(const Node& node) {
  return node.type_string() == "TPUReplicatedInput" ||
         absl::StartsWith(node.type_string(), "TPUPartitionedInput");
}

bool RefersToFunctions(const Node& node) {
  for (const auto& [unused, value] : node.attrs()) {
    if (value.has_func() || value.list().func_size() > 0) return true;
  }
  return false;
}

bool IsMetadata(const Node& node) {
  return node.type_string() == "TPUReplicateMetadata";
}

// Copies the nodes of one program.
class Program {
 public:
  Program(std::vector<Node*> nodes, const GraphOptimizationPassOptions& options)
      : nodes_(std::move(nodes)),
        options_(options),
        graph_(options.graph->get()) {}

  absl::Status Expand();

 private:
  absl::Status FindMetadata();
  absl::Status CopyNodes(ReplicaNodes& replica_nodes);
  void Rename(int replica, NodeDef& def) const;
  absl::StatusOr<Source> Resolve(Source source, int replica);
  absl::StatusOr<Source> Concatenate(Node* partitioned, int replica);
  absl::Status ConnectOutputs();
  absl::Status KeepNames();
  void Remove();

  static std::string CopyName(const std::string& node, int replica) {
    return absl::StrCat(node, "/replica_", replica);
  }
  bool Contains(const Node* node) const { return copies_.count(node) > 0; }

  std::vector<Node*> nodes_;
  const GraphOptimizationPassOptions& options_;
  Graph* const graph_;
  std::vector<Node*> metadata_;
  std::unique_ptr<ProgramCores> cores_;
  std::set<std::string> names_;
  struct ById {
    bool operator()(const Node* a, const Node* b) const {
      return a->id() < b->id();
    }
  };
  std::map<const Node*, std::vector<Node*>, ById> copies_;  // By replica.
  std::map<std::pair<const Node*, int>, Source> concatenated_;
};

absl::Status Program::FindMetadata() {
  // Several calls of a function with a program are one program to TensorFlow,
  // and each has brought its metadata, which are the same.
  const auto metadata =
      std::stable_partition(nodes_.begin(), nodes_.end(),
                            [](Node* node) { return !IsMetadata(*node); });
  metadata_.assign(metadata, nodes_.end());
  nodes_.erase(metadata, nodes_.end());
  if (metadata_.empty()) {
    return absl::InvalidArgumentError("must have TPUReplicateMetadata");
  }
  auto cores = ProgramCores::Create(metadata_[0]->def(), *options_.device_set);
  if (!cores.ok()) return cores.status();
  cores_ = std::make_unique<ProgramCores>(*std::move(cores));
  return absl::OkStatus();
}

absl::Status Program::Expand() {
  static std::atomic<int64_t> num_programs = 0;
  TF_RETURN_IF_ERROR(FindMetadata());
  if (cores_->cores_per_replica() > 1) {
    TF_RETURN_IF_ERROR(
        SplitEmbeddings(cores_->cores_per_replica(), graph_, nodes_));
  }
  for (Node* node : nodes_) {
    names_.insert(node->name());
    copies_[node];
  }
  ReplicaNodes replica_nodes(++num_programs, *cores_, options_.flib_def);
  TF_RETURN_IF_ERROR(CopyNodes(replica_nodes));
  TF_RETURN_IF_ERROR(ConnectOutputs());
  TF_RETURN_IF_ERROR(KeepNames());
  Remove();
  return absl::OkStatus();
}

// Gives a node the name that it has in a replica, and what it refers to too.
void Program::Rename(int replica, NodeDef& def) const {
  def.set_name(CopyName(def.name(), replica));
  const auto frame = def.mutable_attr()->find("frame_name");
  if (frame != def.mutable_attr()->end()) {
    frame->second.set_s(CopyName(frame->second.s(), replica));
  }
  const auto classes = def.mutable_attr()->find("_class");
  if (classes != def.mutable_attr()->end()) {
    auto* locations = classes->second.mutable_list()->mutable_s();
    for (int i = locations->size() - 1; i >= 0; --i) {
      std::string other(absl::StripPrefix(locations->Get(i), kLocation));
      if (names_.count(other) > 0) {
        *locations->Mutable(i) = kLocation + CopyName(other, replica);
      } else {
        locations->DeleteSubrange(i, 1);
      }
    }
    if (locations->empty()) def.mutable_attr()->erase("_class");
  }
}

absl::Status Program::CopyNodes(ReplicaNodes& replica_nodes) {
  for (auto& [node, copies] : copies_) {
    for (int replica = 0; replica < cores_->num_replicas(); ++replica) {
      NodeDef def = node->def();
      TF_RETURN_IF_ERROR(replica_nodes.Rewrite(replica, "", def));
      const UsedResources resources = ResourcesOf(
          *node, [this](const Node* source) { return Contains(source); });
      if (resources.packed && IsOutsideCompilation(node->def())) {
        def.set_device(cores_->CoreDevice(replica, 0));
      } else if (resources.plain && !RefersToFunctions(*node)) {
        def.clear_device();
      }
      Rename(replica, def);
      auto copy = graph_->AddNode(std::move(def));
      if (!copy.ok()) return copy.status();
      copies.push_back(*copy);
    }
  }
  for (auto& [node, copies] : copies_) {
    for (int replica = 0; replica < cores_->num_replicas(); ++replica) {
      for (const Edge* edge : CopyEdges(node->in_edges())) {
        if (IsMetadata(*edge->src())) {
          for (const Edge* before : edge->src()->in_edges()) {
            graph_->AddControlEdge(before->src(), copies[replica]);
          }
          continue;
        }
        const auto source = Resolve({edge->src(), edge->src_output()}, replica);
        if (!source.ok()) return source.status();
        graph_->AddEdge(source->node, source->output, copies[replica],
                        edge->dst_input());
      }
    }
  }
  return absl::OkStatus();
}

// Returns what a replica gets where the program has `source`.
absl::StatusOr<Source> Program::Resolve(Source source, int replica) {
  Node* node = source.node;
  if (Contains(node)) return Source{copies_[node][replica], source.output};
  const bool is_control = source.output < 0;
  if (node->type_string() == "TPUReplicatedInput") {
    int input = replica;
    if (node->num_inputs() == 1) {
      input = 0;  // The same for all, or a handle of all cores' variables.
    } else if (node->num_inputs() != cores_->num_replicas()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "node '", node->name(), "' must have an input a replica (",
          cores_->num_replicas(), "), got ", node->num_inputs()));
    }
    const Edge* edge = InputEdge(node, input);
    return Resolve({edge->src(), is_control ? -1 : edge->src_output()},
                   replica);
  }
  if (absl::StartsWith(node->type_string(), "TPUPartitionedInput")) {
    auto whole = Concatenate(node, replica);
    if (whole.ok() && is_control) whole->output = -1;
    return whole;
  }
  return source;
}

// Returns the dimension along which the parts of a TPUPartitionedInput are
// split over cores, or -1 if each core has the whole.
absl::StatusOr<int> SplitDimension(const Node* partitioned) {
  std::vector<int> partitions;
  if (!TryGetNodeAttr(partitioned->attrs(), "partition_dims", &partitions)) {
    int dim = 0;
    TF_RETURN_IF_ERROR(
        GetNodeAttr(partitioned->attrs(), "partition_dim", &dim));
    if (dim < 0) return -1;
    partitions.assign(dim + 1, 1);
    partitions[dim] = partitioned->num_inputs();
  }
  int split_dim = -1;
  for (size_t dim = 0; dim < partitions.size(); ++dim) {
    if (partitions[dim] <= 1) continue;
    if (split_dim >= 0) {
      return absl::UnimplementedError(absl::StrCat(
          "node '", partitioned->name(),
          "': a value split along two dimensions is not supported"));
    }
    split_dim = static_cast<int>(dim);
  }
  if (split_dim >= 0 &&
      partitioned->output_type(0) == tensorflow::DT_RESOURCE) {
    return absl::UnimplementedError(
        absl::StrCat("node '", partitioned->name(),
                     "': a variable split over cores is not supported"));
  }
  return split_dim;
}

// Puts together what one replica's cores each have a part of.
absl::StatusOr<Source> Program::Concatenate(Node* partitioned, int replica) {
  const auto known = concatenated_.find({partitioned, replica});
  if (known != concatenated_.end()) return known->second;
  const auto split_dim = SplitDimension(partitioned);
  if (!split_dim.ok()) return split_dim.status();
  if (*split_dim < 0) {
    const Edge* edge = InputEdge(partitioned, 0);
    return Resolve({edge->src(), edge->src_output()}, replica);
  }
  const std::string device = cores_->CoreDevice(replica, 0);
  NodeDef concat;
  concat.set_op("ConcatV2");
  concat.set_name(graph_->NewName(partitioned->name() + "/concat"));
  concat.set_device(device);
  AddNodeAttr("T", partitioned->output_type(0), &concat);
  AddNodeAttr("Tidx", tensorflow::DT_INT32, &concat);
  AddNodeAttr("N", partitioned->num_inputs(), &concat);
  auto node = graph_->AddNode(std::move(concat));
  if (!node.ok()) return node.status();
  for (int i = 0; i < partitioned->num_inputs(); ++i) {
    const Edge* edge = InputEdge(partitioned, i);
    const auto part = Resolve({edge->src(), edge->src_output()}, replica);
    if (!part.ok()) return part.status();
    graph_->AddEdge(part->node, part->output, *node, i);
  }
  const auto axis =
      AddConstant(partitioned->name() + "/axis", tensorflow::Tensor(*split_dim),
                  device, InputEdge(*node, 0)->src(), graph_);
  if (!axis.ok()) return axis.status();
  graph_->AddEdge(*axis, 0, *node, partitioned->num_inputs());
  const Source whole = {*node, 0};
  concatenated_[{partitioned, replica}] = whole;
  return whole;
}

absl::Status Program::ConnectOutputs() {
  for (const auto& [node, copies] : copies_) {
    for (const Edge* edge : CopyEdges(node->out_edges())) {
      Node* consumer = edge->dst();
      if (Contains(consumer)) continue;
      if (edge->IsControlEdge()) {
        for (Node* copy : copies) graph_->AddControlEdge(copy, consumer);
      } else if (consumer->type_string() == "TPUReplicatedOutput") {
        for (const Edge* out : CopyEdges(consumer->out_edges())) {
          if (out->IsControlEdge()) {
            for (Node* copy : copies) graph_->AddControlEdge(copy, out->dst());
          } else {
            graph_->AddEdge(copies[out->src_output()], edge->src_output(),
                            out->dst(), out->dst_input());
            // A session that fetches the output of one replica drops the rest
            // of the others, and none would come to a collective.
            if (options_.is_function_graph) continue;
            for (Node* copy : copies) graph_->AddControlEdge(copy, out->dst());
          }
        }
        graph_->RemoveNode(consumer);
      } else {
        return absl::InvalidArgumentError(absl::StrCat(
            "node '", consumer->name(), "' (", consumer->type_string(),
            ") must not use '", node->name(), "' of a TPU program directly"));
      }
    }
  }
  return absl::OkStatus();
}

// A function knows by their names which nodes with side effects it must run:
// lets the name of each stand for all copies.
absl::Status Program::KeepNames() {
  for (const auto& [node, copies] : copies_) {
    if (!node->op_def().is_stateful() && node->num_outputs() > 0) continue;
    NodeDef def;
    def.set_op("NoOp");
    def.set_name(node->name());
    def.set_device(cores_->HostDevice());
    auto all = graph_->AddNode(std::move(def));
    if (!all.ok()) return all.status();
    for (Node* copy : copies) graph_->AddControlEdge(copy, *all);
  }
  return absl::OkStatus();
}

// Removes what has become dead.
void Program::Remove() {
  std::set<Node*, ById> inputs;
  for (Node* node : nodes_) {
    for (const Edge* edge : node->in_edges()) {
      if (IsInput(*edge->src())) inputs.insert(edge->src());
    }
  }
  for (Node* node : nodes_) graph_->RemoveNode(node);
  for (Node* node : metadata_) graph_->RemoveNode(node);
  while (!inputs.empty()) {
    Node* node = *inputs.begin();
    inputs.erase(inputs.begin());
    const auto& uses = node->out_edges();
    if (std::any_of(uses.begin(), uses.end(),
                    [](const Edge* edge) { return !edge->IsControlEdge(); })) {
      continue;
    }
    for (const Edge* edge : node->in_edges()) {
      if (IsInput(*edge->src())) inputs.insert(edge->src());
    }
    graph_->RemoveNode(node);
  }
}

class ReplicatePass final : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr ||
        options.device_set == nullptr) {
      return absl::OkStatus();
    }
    Graph* graph = options.graph->get();
    std::map<std::string, std::vector<Node*>> programs;
    for (Node* node : graph->op_nodes()) {
      std::string name;
      if (TryGetNodeAttr(node->attrs(), kProgramMark, &name)) {
        programs[name].push_back(node);
      }
    }
    if (programs.empty()) return absl::OkStatus();
    for (auto& [name, nodes] : programs) {
      TF_RETURN_IF_ERROR(
          Named(name, InlineCalls(*options.flib_def, graph, nodes)));
    }
    TF_RETURN_IF_ERROR(MakeInferenceBatches(*options.flib_def, graph));
    TF_RETURN_IF_ERROR(ReplaceCompilationResults(graph));
    for (auto& [name, nodes] : programs) {
      TF_RETURN_IF_ERROR(Named(name, Program(nodes, options).Expand()));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Named(const std::string& program,
                            const absl::Status& status) {
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat("TPU program '", program,
                                                    "': ", status.message()));
  }

  // There is no compilation: it has always succeeded. Who asks may be in a
  // loop, and so must be the answer.
  static absl::Status ReplaceCompilationResults(Graph* graph) {
    std::vector<Node*> results;
    for (Node* node : graph->op_nodes()) {
      if (node->type_string() == "TPUCompilationResult") {
        results.push_back(node);
      }
    }
    for (Node* node : results) {
      NodeDef def;
      MakeConstant(tensorflow::Tensor(""), def);
      def.set_name(node->name());
      auto success = graph->AddNode(std::move(def));
      if (!success.ok()) return success.status();
      for (const Edge* edge : node->in_edges()) {
        const Node& source = *edge->src();
        if (!IsMetadata(source)) continue;
        for (const Edge* before : source.in_edges()) {
          graph->AddControlEdge(before->src(), *success);
        }
      }
      for (const Edge* edge : CopyEdges(node->out_edges())) {
        graph->AddEdge(*success, edge->src_output(), edge->dst(),
                       edge->dst_input());
      }
      graph->RemoveNode(node);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterReplicatePass() {
  // After functions are inlined into the graph, before nodes get devices.
  constexpr int kPhase = 34;
  tensorflow::OptimizationPassRegistry::Global()->Register(
      tensorflow::OptimizationPassRegistry::PRE_PLACEMENT, kPhase,
      std::make_unique<ReplicatePass>());
}

}  // namespace tpuless
