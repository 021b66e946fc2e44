// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that load and retrieve one table: a pair of ops for each optimizer.
#include <algorithm>
#include <string>
#include <vector>

#include "cc/engine/optimizer.h"
#include "cc/kernels/conversions.h"
#include "cc/kernels/engine_store.h"
#include "cc/kernels/ftrl_warning.h"
#include "cc/kernels/intra_op_threads.h"
#include "cc/kernels/kernel.h"
#include "cc/kernels/registration.h"

namespace tpuless {
namespace {

using tensorflow::OpKernelConstruction;
using tensorflow::OpKernelContext;
using tensorflow::Tensor;

std::string OpName(const std::string& verb, const std::string& optimizer) {
  return StrCat(verb, "TPUEmbedding", optimizer, "Parameters");
}

// What the ops have in common: which table, and which shard of it.
class ParametersKernel : public Kernel {
 public:
  // `verb` is Load or Retrieve.
  ParametersKernel(OpKernelConstruction* ctx, const char* verb)
      : Kernel(ctx), verb_(verb), config_(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("table_id", &table_id_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("table_name", &table_name_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("num_shards", &shard_.num_shards));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("shard_id", &shard_.shard_id));
    if ((table_id_ >= 0) == !table_name_.empty()) {
      ctx->SetStatus(ToAbsl(InvalidArgument(
          "exactly one of table_id and table_name must be set, got ", table_id_,
          " and '", table_name_, "'")));
    }
  }

 private:
  Status Run(OpKernelContext* ctx) final {
    const auto engine = EngineStore::Of(ctx).Find(config_);
    if (!engine.ok()) return engine.status();
    const auto id = (*engine)->FindTable(table_name_, table_id_);
    if (!id.ok()) return id.status();
    const EmbeddingTable& table = (*engine)->table(*id);
    const std::string& optimizer = table.optimizer_info().op_name;
    const std::string op = optimizer.empty()
                               ? StrCat(verb_, "AllTPUEmbeddingParameters")
                               : OpName(verb_, optimizer);
    if (type_string() != op) {
      return InvalidArgument("table '", table.config().name, "': op must be ",
                             op, ", got ", type_string());
    }
    return Copy(ctx, **engine, *id, shard_);
  }

  virtual Status Copy(OpKernelContext* ctx, Engine& engine, int64_t table,
                      const Shard& shard) = 0;

  const std::string verb_;
  ConfigAttribute config_;
  int64_t table_id_;
  std::string table_name_;
  Shard shard_;
};

class LoadKernel final : public ParametersKernel {
 public:
  explicit LoadKernel(OpKernelConstruction* ctx)
      : ParametersKernel(ctx, "Load") {}

 private:
  Status Copy(OpKernelContext* ctx, Engine& engine, int64_t table,
              const Shard& shard) override {
    std::vector<TensorView> variables;
    for (int i = 0; i < ctx->num_inputs(); ++i) {
      variables.push_back(View(ctx->input(i)));
    }
    TPULESS_RETURN_IF_ERROR(
        engine.Load(table, shard, variables, IntraOpThreads(ctx)));
    WarnOfLostWeights(engine.table(table).config(), variables);
    return Status();
  }
};

class RetrieveKernel final : public ParametersKernel {
 public:
  explicit RetrieveKernel(OpKernelConstruction* ctx)
      : ParametersKernel(ctx, "Retrieve") {}

 private:
  Status Copy(OpKernelContext* ctx, Engine& engine, int64_t table,
              const Shard& shard) override {
    const auto num_rows = engine.table(table).ShardRows(shard);
    if (!num_rows.ok()) return num_rows.status();
    std::vector<float*> variables;
    for (int i = 0; i < ctx->num_outputs(); ++i) {
      Tensor* output;
      TPULESS_RETURN_IF_ERROR(FromAbsl(ctx->allocate_output(
          i, {*num_rows, engine.table(table).config().dimension}, &output)));
      variables.push_back(output->flat<float>().data());
    }
    return engine.Retrieve(table, shard, variables, IntraOpThreads(ctx));
  }
};

// Stands in for the ops of an optimizer that the engine refuses.
class RefusedOptimizerKernel final : public Kernel {
 public:
  RefusedOptimizerKernel(OpKernelConstruction* ctx, RefusedOptimizer optimizer)
      : Kernel(ctx), optimizer_(std::move(optimizer)) {}

 private:
  Status Run(OpKernelContext*) override {
    return Unimplemented("optimizer '", optimizer_.name,
                         "' is not supported: ", optimizer_.reason);
  }

  const RefusedOptimizer optimizer_;
};

}  // namespace

void RegisterParameterKernels() {
  for (const OptimizerInfo* info : Optimizers()) {
    if (info->op_name.empty()) continue;
    RegisterKernel<LoadKernel>(OpName("Load", info->op_name));
    RegisterKernel<RetrieveKernel>(OpName("Retrieve", info->op_name));
  }
  for (const RefusedOptimizer& refused : RefusedOptimizers()) {
    const auto refuse = [refused](OpKernelConstruction* ctx) {
      return new RefusedOptimizerKernel(ctx, refused);
    };
    RegisterKernel(OpName("Load", refused.op_name), refuse);
    RegisterKernel(OpName("Retrieve", refused.op_name), refuse);
  }
}

}  // namespace tpuless
