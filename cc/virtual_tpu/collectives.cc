// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Ops in which the replicas of a TPU program exchange values.
//
// The copies of an op meet: each brings its input and waits, without a thread,
// until all are there; the last one computes every output. Copies inside of a
// loop meet once an iteration.
#include "cc/virtual_tpu/collectives.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/register_types.h"

namespace tpuless {
namespace {

using tensorflow::AsyncOpKernel;
using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::TensorShape;

constexpr char kReplica[] = "_tpuless_replica";
constexpr char kNumReplicas[] = "_tpuless_num_replicas";
constexpr char kMeeting[] = "_tpuless_meeting";

// One replica's call.
struct Arrival {
  int64_t id = 0;
  OpKernelContext* ctx = nullptr;
  AsyncOpKernel::DoneCallback done;
  tensorflow::CancellationToken token = 0;
};

// The calls that wait for those of other replicas. Thread safe.
class MeetingPoint {
 public:
  static MeetingPoint& Get() {
    static auto* point = new MeetingPoint;
    return *point;
  }

  // Adds a call; returns those of all replicas, in their order, if it was the
  // last that was missing.
  std::vector<Arrival> Arrive(const std::string& key, int replica,
                              int num_replicas, Arrival arrival) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& waiting = waiting_[key];
    waiting.resize(num_replicas);
    waiting[replica].push_back(std::move(arrival));
    std::vector<Arrival> met;
    for (const auto& queue : waiting) {
      if (queue.empty()) return met;
    }
    bool rest = false;
    for (auto& queue : waiting) {
      met.push_back(std::move(queue.front()));
      queue.pop_front();
      rest = rest || !queue.empty();
    }
    if (!rest) waiting_.erase(key);
    return met;
  }

  // Takes a call back; false if it has met the others.
  bool Leave(const std::string& key, int replica, int64_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = waiting_.find(key);
    if (found == waiting_.end()) return false;
    auto& queue = found->second[replica];
    for (auto call = queue.begin(); call != queue.end(); ++call) {
      if (call->id != id) continue;
      queue.erase(call);
      for (const auto& other : found->second) {
        if (!other.empty()) return true;
      }
      waiting_.erase(found);
      return true;
    }
    return false;
  }

 private:
  std::mutex mutex_;
  // By key, by replica, in the order of arrival.
  std::map<std::string, std::vector<std::deque<Arrival>>> waiting_;
};

// Checks that replicas bring tensors of one shape.
absl::Status CheckSameShape(const Tensor& a, const Tensor& b) {
  if (a.shape() == b.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("inputs of all replicas must have one shape, got ",
                   a.shape().DebugString(), " and ", b.shape().DebugString()));
}

class CollectiveKernel : public AsyncOpKernel {
 public:
  explicit CollectiveKernel(OpKernelConstruction* ctx) : AsyncOpKernel(ctx) {
    int64_t replica, num_replicas;
    if (!TryGetNodeAttr(def(), kReplica, &replica) ||
        !TryGetNodeAttr(def(), kNumReplicas, &num_replicas) ||
        !TryGetNodeAttr(def(), kMeeting, &meeting_)) {
      ctx->SetStatus(absl::FailedPreconditionError(absl::StrCat(
          type_string(), " must be in a program of TPUStrategy.run()")));
      return;
    }
    replica_ = static_cast<int>(replica);
    num_replicas_ = static_cast<int>(num_replicas);
  }

  void ComputeAsync(OpKernelContext* ctx, DoneCallback done) final {
    const std::string key = absl::StrCat(meeting_, " ", ctx->step_id(), " ",
                                         ctx->frame_iter().iter_id);
    static std::atomic<int64_t> last_id = 0;
    const int64_t id = ++last_id;
    const auto cancel = [ctx, done] {
      ctx->SetStatus(absl::CancelledError("another replica failed"));
      done();
    };
    const auto cancelled = std::make_shared<std::atomic<bool>>(false);
    const auto leave = [key, id, cancelled, cancel, replica = replica_] {
      *cancelled = true;
      if (MeetingPoint::Get().Leave(key, replica, id)) cancel();
    };
    auto* cancellation = ctx->cancellation_manager();
    const auto token = cancellation->get_cancellation_token();
    if (!cancellation->RegisterCallback(token, leave)) {
      cancel();
      return;
    }
    const std::vector<Arrival> met = MeetingPoint::Get().Arrive(
        key, replica_, num_replicas_, {id, ctx, done, token});
    // The others may have come by now, and `ctx` and `this` be gone.
    if (met.empty()) {
      if (*cancelled) leave();
      return;
    }
    ExchangeAll(met);
  }

 private:
  // Computes the output of a replica.
  virtual absl::Status Exchange(const std::vector<const Tensor*>& inputs,
                                const Tensor& groups, int replica,
                                OpKernelContext* ctx) = 0;

  void ExchangeAll(const std::vector<Arrival>& met) {
    std::vector<const Tensor*> inputs;
    for (const Arrival& arrival : met) inputs.push_back(&arrival.ctx->input(0));
    for (size_t i = 0; i < met.size(); ++i) {
      OpKernelContext* ctx = met[i].ctx;
      const absl::Status status =
          Exchange(inputs, ctx->input(1), static_cast<int>(i), ctx);
      if (!status.ok()) {
        ctx->SetStatus(absl::Status(
            status.code(), absl::StrCat(name(), ": ", status.message())));
      }
    }
    // Inputs live until the last of them is used.
    for (const Arrival& arrival : met) {
      arrival.ctx->cancellation_manager()->TryDeregisterCallback(arrival.token);
      arrival.done();
    }
  }

  std::string meeting_;
  int replica_ = 0;
  int num_replicas_ = 0;
};

// Returns the replicas of the group that a replica is in.
absl::Status FindGroup(const Tensor& groups, int replica, int num_replicas,
                       std::vector<int>* group) {
  if (groups.dims() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_assignment must have rank 2, got shape ",
                     groups.shape().DebugString()));
  }
  const auto matrix = groups.matrix<int32_t>();
  for (int64_t i = 0; i < matrix.dimension(0); ++i) {
    group->clear();
    bool found = false;
    for (int64_t j = 0; j < matrix.dimension(1); ++j) {
      const int member = matrix(i, j);
      if (member < 0 || member >= num_replicas) {
        return absl::InvalidArgumentError(
            absl::StrCat("group_assignment must be >= 0 and < ", num_replicas,
                         ", got ", member));
      }
      group->push_back(member);
      found = found || member == replica;
    }
    if (found) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "group_assignment must have every replica, got none with ", replica));
}

// Sums in the order of the group, so that all its replicas get the same bits;
// half precision in float32.
template <class T>
void AddUp(const std::vector<const Tensor*>& inputs, Tensor* output) {
  using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
  T* to = output->flat<T>().data();
  for (int64_t i = 0; i < output->NumElements(); ++i) {
    Sum sum = static_cast<Sum>(inputs[0]->flat<T>().data()[i]);
    for (size_t k = 1; k < inputs.size(); ++k) {
      sum += static_cast<Sum>(inputs[k]->flat<T>().data()[i]);
    }
    to[i] = static_cast<T>(sum);
  }
}

class CrossReplicaSumKernel final : public CollectiveKernel {
 public:
  using CollectiveKernel::CollectiveKernel;

 private:
  absl::Status Exchange(const std::vector<const Tensor*>& inputs,
                        const Tensor& groups, int replica,
                        OpKernelContext* ctx) override {
    std::vector<int> group;
    TF_RETURN_IF_ERROR(
        FindGroup(groups, replica, static_cast<int>(inputs.size()), &group));
    std::vector<const Tensor*> members;
    for (int member : group) {
      TF_RETURN_IF_ERROR(CheckSameShape(*inputs[group[0]], *inputs[member]));
      members.push_back(inputs[member]);
    }
    Tensor* output;
    TF_RETURN_IF_ERROR(ctx->allocate_output(0, members[0]->shape(), &output));
    switch (output->dtype()) {
#define TPULESS_ADD_UP(T)                    \
  case tensorflow::DataTypeToEnum<T>::value: \
    AddUp<T>(members, output);               \
    return absl::OkStatus();
      TPULESS_ADD_UP(float)
      TPULESS_ADD_UP(double)
      TPULESS_ADD_UP(Eigen::half)
      TPULESS_ADD_UP(tensorflow::bfloat16)
      TPULESS_ADD_UP(int32_t)
      TPULESS_ADD_UP(uint32_t)
#undef TPULESS_ADD_UP
      default:
        return absl::UnimplementedError(
            absl::StrCat("no sum of ", DataTypeString(output->dtype())));
    }
  }
};

class AllToAllKernel final : public CollectiveKernel {
 public:
  explicit AllToAllKernel(OpKernelConstruction* ctx) : CollectiveKernel(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("concat_dimension", &concat_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("split_dimension", &split_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("split_count", &count_));
  }

 private:
  absl::Status Exchange(const std::vector<const Tensor*>& inputs,
                        const Tensor& groups, int replica,
                        OpKernelContext* ctx) override {
    std::vector<int> group;
    TF_RETURN_IF_ERROR(
        FindGroup(groups, replica, static_cast<int>(inputs.size()), &group));
    const TensorShape& shape = inputs[replica]->shape();
    if (count_ != static_cast<int64_t>(group.size()) || split_ < 0 ||
        split_ >= shape.dims() || concat_ < 0 || concat_ >= shape.dims() ||
        shape.dim_size(split_) % count_ != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "must split a dimension into as many equal parts as its group has "
          "replicas (",
          group.size(), "), got split_count ", count_, ", dimensions ", split_,
          " and ", concat_, " of shape ", shape.DebugString()));
    }
    int position = 0;
    for (size_t j = 0; j < group.size(); ++j) {
      TF_RETURN_IF_ERROR(CheckSameShape(*inputs[replica], *inputs[group[j]]));
      if (group[j] == replica) position = static_cast<int>(j);
    }
    TensorShape part = shape;
    part.set_dim(split_, shape.dim_size(split_) / count_);
    TensorShape result = part;
    result.set_dim(concat_, part.dim_size(concat_) * count_);
    Tensor* output;
    TF_RETURN_IF_ERROR(ctx->allocate_output(0, result, &output));
    for (int j = 0; j < count_; ++j) {
      CopyPart(*inputs[group[j]], position * part.dim_size(split_), part,
               j * part.dim_size(concat_), output);
    }
    return absl::OkStatus();
  }

  // Copies what of `from` starts at `from_start` in the split dimension to
  // where `to_start` in the concat dimension of `to` is.
  void CopyPart(const Tensor& from, int64_t from_start, const TensorShape& part,
                int64_t to_start, Tensor* to) const {
    const size_t size = tensorflow::DataTypeSize(from.dtype());
    const char* source = from.tensor_data().data();
    char* target = const_cast<char*>(to->tensor_data().data());
    std::vector<int64_t> index(part.dims(), 0);
    for (int64_t i = 0; i < part.num_elements(); ++i) {
      int64_t at = 0, into = 0;
      for (int d = 0; d < part.dims(); ++d) {
        at = at * from.dim_size(d) + index[d] + (d == split_ ? from_start : 0);
        into =
            into * to->dim_size(d) + index[d] + (d == concat_ ? to_start : 0);
      }
      std::memcpy(target + into * size, source + at * size, size);
      for (int d = part.dims() - 1; d >= 0; --d) {
        if (++index[d] < part.dim_size(d)) break;
        index[d] = 0;
      }
    }
  }

  int64_t concat_ = 0;
  int64_t split_ = 0;
  int64_t count_ = 0;
};

class CollectivePermuteKernel final : public CollectiveKernel {
 public:
  using CollectiveKernel::CollectiveKernel;

 private:
  absl::Status Exchange(const std::vector<const Tensor*>& inputs,
                        const Tensor& pairs, int replica,
                        OpKernelContext* ctx) override {
    if (pairs.dims() != 2 || pairs.dim_size(1) != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("source_target_pairs must have shape [n, 2], got ",
                       pairs.shape().DebugString()));
    }
    const auto matrix = pairs.matrix<int32_t>();
    for (int64_t i = 0; i < matrix.dimension(0); ++i) {
      const int source = matrix(i, 0);
      if (source < 0 || source >= static_cast<int>(inputs.size())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "source must be >= 0 and < ", inputs.size(), ", got ", source));
      }
      if (matrix(i, 1) != replica) continue;
      ctx->set_output(0, *inputs[source]);
      return absl::OkStatus();
    }
    // Who is nobody's target gets zeros.
    Tensor* output;
    TF_RETURN_IF_ERROR(
        ctx->allocate_output(0, inputs[replica]->shape(), &output));
    std::memset(const_cast<char*>(output->tensor_data().data()), 0,
                output->tensor_data().size());
    return absl::OkStatus();
  }
};

}  // namespace

bool IsCollective(const std::string& op) {
  return op == "CrossReplicaSum" || op == "AllToAll" ||
         op == "CollectivePermute";
}

void SetReplica(const std::string& place, int replica, int num_replicas,
                tensorflow::NodeDef& node) {
  AddNodeAttr(kReplica, replica, &node);
  AddNodeAttr(kNumReplicas, num_replicas, &node);
  AddNodeAttr(kMeeting, absl::StrCat(place, " ", node.name()), &node);
}

void RegisterCollectiveKernels() {
  RegisterCpuKernel<CrossReplicaSumKernel>("CrossReplicaSum");
  RegisterCpuKernel<AllToAllKernel>("AllToAll");
  RegisterCpuKernel<CollectivePermuteKernel>("CollectivePermute");
}

}  // namespace tpuless
