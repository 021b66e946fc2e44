// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Calls of functions in TPU programs.
#include "cc/virtual_tpu/inline_calls.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cc/virtual_tpu/graph_edits.h"
#include "cc/virtual_tpu/replica_nodes.h"
#include "cc/virtual_tpu/used_resources.h"
#include "tensorflow/core/common_runtime/function_body.h"
#include "tensorflow/core/common_runtime/function_def_utils.h"
#include "tensorflow/core/common_runtime/inline_function_utils.h"
#include "tensorflow/core/common_runtime/lower_if_op.h"
#include "tensorflow/core/framework/graph_to_functiondef.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace tpuless {
namespace {

using tensorflow::Edge;
using tensorflow::FunctionBody;
using tensorflow::FunctionDef;
using tensorflow::FunctionLibraryDefinition;
using tensorflow::Graph;
using tensorflow::InlineFunctionBodyOptions;
using tensorflow::NameAttrList;
using tensorflow::Node;
using tensorflow::NodeDef;

// Deeper ones call themselves.
constexpr int kMaxDepth = 100;

// Returns the function that a node calls, if it is a call.
std::optional<NameAttrList> Callee(const FunctionLibraryDefinition& functions,
                                   const NodeDef& node) {
  if (IsOutsideCompilation(node)) return std::nullopt;
  if (node.op() == "PartitionedCall" ||
      node.op() == "StatefulPartitionedCall") {
    return node.attr().at("f").func();
  }
  if (functions.Find(node.op()) == nullptr) return std::nullopt;
  NameAttrList callee;
  callee.set_name(node.op());
  *callee.mutable_attr() = node.attr();
  return callee;
}

absl::StatusOr<std::unique_ptr<FunctionBody>> Body(
    const FunctionLibraryDefinition& functions, const FunctionDef& function,
    const NameAttrList& callee) {
  std::unique_ptr<FunctionBody> body;
  TF_RETURN_IF_ERROR(tensorflow::FunctionDefToBodyHelper(
      function, tensorflow::AttrSlice(&callee.attr()), &functions, &body));
  return body;
}

absl::Status InlineCall(const FunctionLibraryDefinition& functions,
                        const NameAttrList& callee, Node* caller,
                        Graph* graph) {
  const FunctionDef* function = functions.Find(callee.name());
  if (function == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("node '", caller->name(), "' calls the function '",
                     callee.name(), "', which is not there"));
  }
  const auto body = Body(functions, *function, callee);
  if (!body.ok()) return body.status();
  // Constants of the body get the loop that the call is in from a control edge.
  const auto& edges = caller->in_edges();
  if (std::none_of(edges.begin(), edges.end(),
                   [](const Edge* edge) { return edge->IsControlEdge(); })) {
    const Edge* first = nullptr;
    if (caller->input_edge(0, &first).ok()) {
      graph->AddControlEdge(first->src(), caller);
    }
  }
  InlineFunctionBodyOptions options;
  options.ignore_noinline = true;
  options.inline_impl_selection_group_functions = true;
  options.output_control_src =
      InlineFunctionBodyOptions::OutputControlSource::kControlOutputs;
  // Functions know by its name what they must run.
  options.keep_caller_node =
      InlineFunctionBodyOptions::KeepCallerNode::kTargetable;
  return tensorflow::InlineFunctionBody(functions, graph, caller, body->get(),
                                        options);
}

bool PassesResource(const Node& node) {
  return node.type_string() == "Identity" &&
         node.output_type(0) == tensorflow::DT_RESOURCE;
}

bool IsCondition(const Node& node) {
  return node.type_string() == "If" || node.type_string() == "StatelessIf";
}

// Whether a condition's branches may use resources of the host and of a core.
bool IsSplit(const Node& condition, const std::set<const Node*>& program) {
  const UsedResources resources = ResourcesOf(
      condition, [&](const Node* source) { return program.count(source) > 0; });
  return resources.plain ||
         (resources.packed && IsOutsideCompilation(condition.def()));
}

// Replaces a condition by calls of its branches, of which a control edge lets
// one run.
absl::Status LowerCondition(Node* condition, Graph* graph) {
  const int num_ids = graph->num_node_ids();
  TF_RETURN_IF_ERROR(tensorflow::RewriteIfNode(condition, graph,
                                               /*keep_node_fetchable=*/false));
  for (int id = num_ids; id < graph->num_node_ids(); ++id) {
    Node* node = graph->FindNodeId(id);
    if (node != nullptr && node->IsSwitch() &&
        node->output_type(0) == tensorflow::DT_RESOURCE) {
      TF_RETURN_IF_ERROR(BypassResource(node, graph));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InlineCalls(const FunctionLibraryDefinition& functions,
                         Graph* graph, std::vector<Node*>& nodes) {
  struct Call {
    Node* node;
    bool on_host;
  };
  std::vector<Call> calls;
  std::set<const Node*> program(nodes.begin(), nodes.end());
  const auto sort = [&](Node* node, bool on_host) {
    if (Callee(functions, node->def())) {
      calls.push_back({node, on_host});
      return;
    }
    if (on_host) MarkOutsideCompilation(node);
    if (IsCondition(*node) && IsSplit(*node, program)) {
      calls.push_back({node, IsOutsideCompilation(node->def())});
    } else {
      nodes.push_back(node);
    }
  };
  for (Node* node : std::exchange(nodes, {})) sort(node, false);
  for (int depth = 0; !calls.empty(); ++depth) {
    if (depth == kMaxDepth) {
      return absl::UnimplementedError(
          absl::StrCat("node '", calls.front().node->name(),
                       "' must not call a function that calls itself"));
    }
    for (const auto& [call, on_host] : std::exchange(calls, {})) {
      const int num_ids = graph->num_node_ids();
      const NodeDef def = call->def();
      const auto callee = Callee(functions, def);
      TF_RETURN_IF_ERROR(callee ? InlineCall(functions, *callee, call, graph)
                                : LowerCondition(call, graph));
      for (int id = num_ids; id < graph->num_node_ids(); ++id) {
        Node* node = graph->FindNodeId(id);
        if (node == nullptr) continue;
        if (PassesResource(*node)) {
          TF_RETURN_IF_ERROR(BypassResource(node, graph));
        } else {
          program.insert(node);
        }
      }
      for (int id = num_ids; id < graph->num_node_ids(); ++id) {
        Node* node = graph->FindNodeId(id);
        if (node != nullptr) sort(node, on_host);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status InlineCallsOf(const FunctionLibraryDefinition& functions,
                           FunctionDef& function) {
  const auto& nodes = function.node_def();
  if (std::none_of(nodes.begin(), nodes.end(), [&](const NodeDef& node) {
        return Callee(functions, node).has_value();
      })) {
    return absl::OkStatus();
  }
  const auto body = Body(functions, function, NameAttrList());
  if (!body.ok()) return body.status();
  Graph* graph = (*body)->graph;
  std::vector<Node*> all(graph->op_nodes().begin(), graph->op_nodes().end());
  TF_RETURN_IF_ERROR(InlineCalls(functions, graph, all));
  std::set<std::string> kept;
  for (const auto& [unused, node] : function.control_ret()) kept.insert(node);
  FunctionDef inlined;
  TF_RETURN_IF_ERROR(tensorflow::GraphToFunctionDef(
      *graph, function.signature().name(),
      [&](const Node* node) {
        return kept.count(node->name()) > 0 ? std::make_optional(node->name())
                                            : std::nullopt;
      },
      &inlined));
  *inlined.mutable_attr() = function.attr();
  function = std::move(inlined);
  return absl::OkStatus();
}

}  // namespace tpuless
