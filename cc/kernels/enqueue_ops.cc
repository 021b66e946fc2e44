// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that enqueue a batch of ids.
#include <string>
#include <utility>
#include <vector>

#include "cc/engine/enqueue.h"
#include "cc/kernels/conversions.h"
#include "cc/kernels/engine_store.h"
#include "cc/kernels/kernel.h"
#include "cc/kernels/registration.h"

namespace tpuless {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;

// How an Enqueue op's signature differs from that of the others.
struct Signature {
  const char* op;
  EnqueueForm form;
  const char* ids;      // Argument that holds the ids.
  const char* samples;  // Argument that says whose they are, or null.
  bool weights;         // Has aggregation_weights.
  bool dynamic;         // device_ordinal is an input, not an attribute.
};

constexpr Signature kSignatures[] = {
    {"EnqueueTPUEmbeddingIntegerBatch", EnqueueForm::kIntegerBatch, "batch",
     nullptr, false, false},
    {"EnqueueTPUEmbeddingSparseBatch", EnqueueForm::kSparseBatch,
     "embedding_indices", "sample_indices", true, false},
    {"EnqueueTPUEmbeddingSparseTensorBatch", EnqueueForm::kSparseTensorBatch,
     "embedding_indices", "sample_indices", true, false},
    {"EnqueueTPUEmbeddingRaggedTensorBatch", EnqueueForm::kRaggedTensorBatch,
     "embedding_indices", "sample_splits", true, false},
    {"DynamicEnqueueTPUEmbeddingRaggedTensorBatch",
     EnqueueForm::kRaggedTensorBatch, "embedding_indices", "sample_splits",
     true, true},
    {"EnqueueTPUEmbeddingArbitraryTensorBatch",
     EnqueueForm::kArbitraryTensorBatch, "embedding_indices",
     "sample_indices_or_row_splits", true, false},
    {"DynamicEnqueueTPUEmbeddingArbitraryTensorBatch",
     EnqueueForm::kArbitraryTensorBatch, "embedding_indices",
     "sample_indices_or_row_splits", true, true},
};

class EnqueueKernel final : public WaitingKernel {
 public:
  EnqueueKernel(OpKernelConstruction* ctx, const Signature& signature)
      : WaitingKernel(ctx), signature_(signature) {
    attributes_.form = signature.form;
    ReadAttribute(ctx, "combiners", &attributes_.combiners);
    ReadAttribute(ctx, "table_ids", &attributes_.table_ids);
    ReadAttribute(ctx, "max_sequence_lengths",
                  &attributes_.max_sequence_lengths);
    ReadAttribute(ctx, "num_features", &attributes_.num_features);
    ReadAttribute(ctx, "device_ordinal", &attributes_.device_ordinal);
    const Status status = CheckCombiners(attributes_.combiners);
    if (!status.ok()) ctx->SetStatus(ToAbsl(status));
  }

 private:
  // Leaves `value` alone where the op has no such attribute.
  template <class T>
  static void ReadAttribute(OpKernelConstruction* ctx, const char* name,
                            T* value) {
    if (ctx->HasAttr(name)) OP_REQUIRES_OK(ctx, ctx->GetAttr(name, value));
  }

  Result<Work> Prepare(OpKernelContext* ctx) override {
    const std::shared_ptr<Engine> engine = EngineStore::Of(ctx).Get();
    if (engine == nullptr) return EngineStore::NotConfigured();
    EnqueueRequest request = attributes_;
    TPULESS_RETURN_IF_ERROR(ReadScalars(ctx, request));
    TPULESS_RETURN_IF_ERROR(ReadInputs(ctx, request));
    return Work{engine, [engine, request = std::move(request)](Call call) {
                  engine->Enqueue(request, std::move(call));
                }};
  }

  Status ReadScalars(OpKernelContext* ctx, EnqueueRequest& request) const {
    const auto mode_override = Scalar(ctx, "mode_override");
    if (!mode_override.ok()) return mode_override.status();
    request.mode_override =
        std::string((*mode_override)->scalar<tensorflow::tstring>()());
    if (signature_.dynamic) {
      const auto device_ordinal = Scalar(ctx, "device_ordinal");
      if (!device_ordinal.ok()) return device_ordinal.status();
      request.device_ordinal = (*device_ordinal)->scalar<int32_t>()();
    }
    return Status();
  }

  Status ReadInputs(OpKernelContext* ctx, EnqueueRequest& request) const {
    const auto ids = ViewList(ctx, signature_.ids);
    if (!ids.ok()) return ids.status();
    request.inputs.resize(ids->size());
    for (size_t i = 0; i < ids->size(); ++i) {
      request.inputs[i].embedding_indices = (*ids)[i];
    }
    if (signature_.samples != nullptr) {
      const auto samples = ViewList(ctx, signature_.samples);
      if (!samples.ok()) return samples.status();
      for (size_t i = 0; i < ids->size(); ++i) {
        request.inputs[i].sample_indices = (*samples)[i];
      }
    }
    if (signature_.weights) {
      const auto weights = ViewList(ctx, "aggregation_weights");
      if (!weights.ok()) return weights.status();
      for (size_t i = 0; i < ids->size(); ++i) {
        request.inputs[i].aggregation_weights = (*weights)[i];
      }
    }
    return Status();
  }

  const Signature& signature_;
  EnqueueRequest attributes_;
};

// The format of this op's strings is private to TPU systems.
class EnqueueBatchKernel final : public Kernel {
 public:
  using Kernel::Kernel;

 private:
  Status Run(OpKernelContext*) override {
    return Unimplemented(
        "EnqueueTPUEmbeddingBatch takes batches in a private format; use "
        "EnqueueTPUEmbeddingArbitraryTensorBatch");
  }
};

}  // namespace

void RegisterEnqueueKernels() {
  for (const Signature& signature : kSignatures) {
    RegisterKernel(signature.op, [&signature](OpKernelConstruction* ctx) {
      return new EnqueueKernel(ctx, signature);
    });
  }
  RegisterKernel<EnqueueBatchKernel>("EnqueueTPUEmbeddingBatch");
}

}  // namespace tpuless
