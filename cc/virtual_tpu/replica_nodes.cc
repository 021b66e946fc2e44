// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// What becomes of a node of a TPU program in one of its replicas.
#include "cc/virtual_tpu/replica_nodes.h"

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cc/virtual_tpu/collectives.h"
#include "cc/virtual_tpu/graph_edits.h"
#include "cc/virtual_tpu/inline_calls.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/device_name_utils.h"

namespace tpuless {
namespace {

using tensorflow::DeviceNameUtils;
using tensorflow::FunctionDef;
using tensorflow::NodeDef;

constexpr char kOutsideCompilation[] = "_xla_outside_compilation";

// Marks that mean something to a TPU's compiler only.
constexpr const char* kMarks[] = {
    "_tpu_replicate",           "_tpu_input_identity", "_tpu_output_identity",
    "_xla_outside_compilation", "_XlaMustCompile",     "_XlaSharding",
    "_XlaShardingV2",
};

// Whether a stateful op draws random numbers that a seed determines.
bool IsSeeded(const NodeDef& node) {
  const auto& attr = node.attr();
  const auto seed = attr.find("seed"), seed2 = attr.find("seed2");
  return seed != attr.end() && seed2 != attr.end() &&
         (seed->second.i() != 0 || seed2->second.i() != 0);
}

}  // namespace

bool IsOutsideCompilation(const NodeDef& node) {
  return node.attr().count(kOutsideCompilation) > 0;
}

void MarkOutsideCompilation(tensorflow::Node* node) {
  node->AddAttr(kOutsideCompilation, "");
}

std::string ReplicaNodes::Device(int replica, const NodeDef& node) const {
  DeviceNameUtils::ParsedName name;
  const bool has_device = !node.device().empty() &&
                          DeviceNameUtils::ParseFullName(node.device(), &name);
  if (IsOutsideCompilation(node)) {
    const bool is_cpu = has_device && name.has_type && name.type == "CPU";
    return is_cpu ? node.device() : cores_.HostDevice();
  }
  const bool is_logical =
      has_device && name.has_type && name.type == "TPU_REPLICATED_CORE";
  const int logical_core = is_logical && name.has_id ? name.id : 0;
  return cores_.CoreDevice(
      replica, logical_core < cores_.cores_per_replica() ? logical_core : 0);
}

absl::Status ReplicaNodes::Rewrite(int replica, const std::string& place,
                                   NodeDef& node) {
  const bool outside = IsOutsideCompilation(node);
  node.set_device(Device(replica, node));
  for (const char* mark : kMarks) node.mutable_attr()->erase(mark);
  if (IsCollective(node.op())) {
    SetReplica(absl::StrCat(program_, " ", place), replica,
               cores_.num_replicas(), node);
  } else if (node.op() == "XlaSharding") {
    // A hint for the partitioner.
    node.set_op("Identity");
    const tensorflow::AttrValue type = node.attr().at("T");
    node.clear_attr();
    (*node.mutable_attr())["T"] = type;
  } else if (IsSeeded(node)) {
    // A TPU draws other numbers in each replica.
    constexpr int64_t kFarApart = 1'000'003;
    auto& seed = (*node.mutable_attr())["seed2"];
    seed.set_i(seed.i() + kFarApart * replica);
  } else if (node.op() == "XlaReplicaId") {
    MakeConstant(tensorflow::Tensor(replica), node);
  } else if (absl::StartsWith(node.op(), "Enqueue") &&
             node.attr().count("device_ordinal") > 0 &&
             node.attr().at("device_ordinal").i() < 0) {
    if (cores_.cores_per_replica() > 1) {
      return absl::UnimplementedError(
          absl::StrCat("node '", node.name(), "' (", node.op(),
                       ") must be outside of a "
                       "program whose replicas have several cores (",
                       cores_.cores_per_replica(), ")"));
    }
    (*node.mutable_attr())["device_ordinal"].set_i(cores_.Core(replica, 0));
  }
  TF_RETURN_IF_ERROR(CheckKernel(node));
  return RewriteFunctions(replica, place, outside, node);
}

absl::Status ReplicaNodes::CheckKernel(const NodeDef& node) const {
  if (functions_->Find(node.op()) != nullptr ||
      tensorflow::KernelDefAvailable(tensorflow::DEVICE_CPU, node)) {
    return absl::OkStatus();
  }
  NodeDef anywhere = node;
  anywhere.clear_device();
  return absl::UnimplementedError(
      absl::StrCat("node '", node.name(), "' (", node.op(),
                   ") must have a kernel for CPUs, got none with attributes [",
                   tensorflow::SummarizeAttrs(anywhere), "]"));
}

absl::Status ReplicaNodes::RewriteFunctions(int replica,
                                            const std::string& place,
                                            bool outside, NodeDef& node) {
  int num_functions = 0;
  const auto copy = [&](tensorflow::NameAttrList* function) {
    const std::string inside =
        absl::StrCat(place, "/", node.name(), ":", num_functions++);
    const auto name = CopyFunction(replica, inside, outside, function->name());
    if (!name.ok()) return name.status();
    function->set_name(*name);
    return absl::OkStatus();
  };
  // In one order for all replicas.
  std::map<std::string, tensorflow::AttrValue*> attrs;
  for (auto& [name, value] : *node.mutable_attr()) attrs[name] = &value;
  for (const auto& [unused, value] : attrs) {
    if (value->has_func()) {
      TF_RETURN_IF_ERROR(copy(value->mutable_func()));
    } else if (value->has_list()) {
      for (auto& function : *value->mutable_list()->mutable_func()) {
        TF_RETURN_IF_ERROR(copy(&function));
      }
    }
  }
  return absl::OkStatus();
}

// Copies a function for the one node that refers to it: copies of one function
// in several places must not meet in each other's collectives.
absl::StatusOr<std::string> ReplicaNodes::CopyFunction(
    int replica, const std::string& place, bool outside,
    const std::string& name) {
  const FunctionDef* function = functions_->Find(name);
  if (function == nullptr) return name;
  if (!outside) {
    const auto [inlined, is_new] = inlined_.emplace(name, *function);
    if (is_new) TF_RETURN_IF_ERROR(InlineCallsOf(*functions_, inlined->second));
    function = &inlined->second;
  }
  FunctionDef copy = *function;
  for (NodeDef& node : *copy.mutable_node_def()) {
    if (outside) (*node.mutable_attr())[kOutsideCompilation].set_s("");
    TF_RETURN_IF_ERROR(Rewrite(replica, place, node));
  }
  copy.mutable_attr()->erase("_XlaMustCompile");
  const std::string copy_name = absl::StrCat(
      name, "_program_", program_, "_replica_", replica, "_", ++num_copies_);
  copy.mutable_signature()->set_name(copy_name);
  TF_RETURN_IF_ERROR(functions_->AddFunctionDef(copy));
  return copy_name;
}

}  // namespace tpuless
