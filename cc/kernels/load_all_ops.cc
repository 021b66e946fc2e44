// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Kernels that load and retrieve all tables at once.
//
// For each table the ops have its parameters and seven auxiliary tensors: the
// slots in order, then `gradient_accumulators` where gradients are
// accumulated, then empty ones. A TPU fills the accumulators with a value
// that marks rows without gradients; here they hold nothing.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

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

// Tensors of a table: its parameters and what follows.
constexpr int64_t kNumTensors = 8;

std::string ArgumentName(int64_t tensor) {
  return tensor == 0 ? "parameters" : StrCat("auxiliary", tensor);
}

bool HasGradientAccumulators(const EmbeddingTable& table) {
  return table.config().accumulate_gradients;
}

class AllParametersKernel : public Kernel {
 public:
  explicit AllParametersKernel(OpKernelConstruction* ctx)
      : Kernel(ctx), config_(ctx) {
    OP_REQUIRES_OK(ctx, ctx->GetAttr("NumTables", &num_tables_));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("num_shards", &shard_.num_shards));
    OP_REQUIRES_OK(ctx, ctx->GetAttr("shard_id", &shard_.shard_id));
  }

 private:
  Status Run(OpKernelContext* ctx) final {
    const auto engine = EngineStore::Of(ctx).Find(config_);
    if (!engine.ok()) return engine.status();
    const int64_t num_tables = (*engine)->config().tables.size();
    if (num_tables_ != num_tables) {
      return InvalidArgument("NumTables must be ", num_tables, ", got ",
                             num_tables_);
    }
    return Copy(ctx, **engine);
  }

  virtual Status Copy(OpKernelContext* ctx, Engine& engine) = 0;

 protected:
  // Returns the number of the input or output.
  int64_t Argument(int64_t table, int64_t tensor) const {
    return tensor * num_tables_ + table;
  }

  // Returns the shape of a table's variables in the shard.
  Result<std::vector<int64_t>> Shape(const EmbeddingTable& table) const {
    const auto num_rows = table.ShardRows(shard_);
    if (!num_rows.ok()) return num_rows.status();
    return std::vector<int64_t>{*num_rows, table.config().dimension};
  }

  ConfigAttribute config_;
  int64_t num_tables_;
  Shard shard_;
};

class LoadAllKernel final : public AllParametersKernel {
 public:
  using AllParametersKernel::AllParametersKernel;

 private:
  // Loads all tables or none.
  Status Copy(OpKernelContext* ctx, Engine& engine) override {
    for (int64_t id = 0; id < num_tables_; ++id) {
      TPULESS_RETURN_IF_ERROR(Check(ctx, id, engine.table(id)));
    }
    for (int64_t id = 0; id < num_tables_; ++id) {
      std::vector<TensorView> variables;
      for (int64_t i = 0; i < engine.table(id).num_variables(); ++i) {
        variables.push_back(View(ctx->input(Argument(id, i))));
      }
      TPULESS_RETURN_IF_ERROR(
          engine.Load(id, shard_, variables, IntraOpThreads(ctx)));
      WarnOfLostWeights(engine.table(id).config(), variables);
    }
    return Status();
  }

  Status Check(OpKernelContext* ctx, int64_t id,
               const EmbeddingTable& table) const {
    const auto expected = Shape(table);
    if (!expected.ok()) return expected.status();
    const int64_t num_filled =
        table.num_variables() + HasGradientAccumulators(table);
    for (int64_t i = 0; i < kNumTensors; ++i) {
      const TensorView view = View(ctx->input(Argument(id, i)));
      if (i < num_filled && view.shape != *expected) {
        return InvalidArgument("table '", table.config().name,
                               "': ", ArgumentName(i), " must have shape ",
                               ShapeString(*expected), ", got ",
                               ShapeString(view.shape));
      }
      if (i >= num_filled && view.size() != 0) {
        return InvalidArgument(
            "table '", table.config().name, "': ", ArgumentName(i),
            " must be empty, got shape ", ShapeString(view.shape));
      }
    }
    return Status();
  }
};

class RetrieveAllKernel final : public AllParametersKernel {
 public:
  using AllParametersKernel::AllParametersKernel;

 private:
  Status Copy(OpKernelContext* ctx, Engine& engine) override {
    for (int64_t id = 0; id < num_tables_; ++id) {
      TPULESS_RETURN_IF_ERROR(CopyTable(ctx, engine, id));
    }
    return Status();
  }

  Status CopyTable(OpKernelContext* ctx, Engine& engine, int64_t id) const {
    const EmbeddingTable& table = engine.table(id);
    const auto shape = Shape(table);
    if (!shape.ok()) return shape.status();
    std::vector<float*> variables;
    for (int64_t i = 0; i < kNumTensors; ++i) {
      const bool is_variable = i < table.num_variables();
      const bool is_accumulators =
          i == table.num_variables() && HasGradientAccumulators(table);
      Tensor* output;
      TPULESS_RETURN_IF_ERROR(FromAbsl(ctx->allocate_output(
          Argument(id, i),
          is_variable || is_accumulators ? ToTensorShape(*shape)
                                         : tensorflow::TensorShape({0, 0}),
          &output)));
      auto values = output->flat<float>();
      if (is_variable) variables.push_back(values.data());
      if (is_accumulators) {
        // The TPU's mark.
        std::fill_n(values.data(), values.size(),
                    std::numeric_limits<float>::denorm_min());
      }
    }
    return engine.Retrieve(id, shard_, variables, IntraOpThreads(ctx));
  }
};

}  // namespace

void RegisterLoadAllKernels() {
  RegisterKernel<LoadAllKernel>("LoadAllTPUEmbeddingParameters");
  RegisterKernel<RetrieveAllKernel>("RetrieveAllTPUEmbeddingParameters");
}

}  // namespace tpuless
