// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Ops that TensorFlow does not have: statistics, options, reset. They are ops
// to reach the engines of other processes too.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/kernels/conversions.h"
#include "cc/kernels/engine_store.h"
#include "cc/kernels/kernel.h"
#include "cc/kernels/registration.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def_builder.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace tpuless {
namespace {

using tensorflow::OpKernelContext;
using tensorflow::Tensor;
using tensorflow::tstring;

class StatisticsKernel final : public Kernel {
 public:
  using Kernel::Kernel;

 private:
  Status Run(OpKernelContext* ctx) override {
    const std::shared_ptr<Engine> engine = EngineStore::Of(ctx).Get();
    const Statistics statistics =
        engine == nullptr ? Statistics() : engine->statistics();
    const std::vector<std::pair<const char*, int64_t>> counters = {
        {"enqueues", statistics.enqueues},
        {"receives", statistics.receives},
        {"sends", statistics.sends},
        {"steps", statistics.steps},
        {"abandoned_steps", statistics.abandoned_steps},
        {"ids", statistics.ids},
        {"unique_rows", statistics.unique_rows},
        {"queued_batches", statistics.queued_batches},
    };
    const int64_t num_counters = counters.size();
    const int64_t num_tables = statistics.tables.size();
    Tensor* outputs[4];
    const tensorflow::TensorShape shapes[] = {
        {num_counters}, {num_counters}, {num_tables}, {num_tables, 4}};
    for (int i = 0; i < 4; ++i) {
      TPULESS_RETURN_IF_ERROR(
          FromAbsl(ctx->allocate_output(i, shapes[i], &outputs[i])));
    }
    for (int64_t i = 0; i < num_counters; ++i) {
      outputs[0]->vec<tstring>()(i) = counters[i].first;
      outputs[1]->vec<int64_t>()(i) = counters[i].second;
    }
    auto values = outputs[3]->matrix<int64_t>();
    for (int64_t i = 0; i < num_tables; ++i) {
      const TableStatistics& table = statistics.tables[i];
      outputs[2]->vec<tstring>()(i) = table.name;
      values(i, 0) = table.vocabulary_size;
      values(i, 1) = table.dimension;
      values(i, 2) = table.num_bytes;
      values(i, 3) = table.loaded;
    }
    return Status();
  }
};

Status SetOption(const std::string& name, double value,
                 EngineOptions& options) {
  const auto is_flag = [value] { return value == 0 || value == 1; };
  if (name == "receive_timeout") {
    if (!(value > 0) || std::isinf(value)) {
      return InvalidArgument("receive_timeout must be > 0 seconds, got ",
                             value);
    }
    options.receive_timeout = value;
  } else if (name == "queue_limit") {
    // The upper end keeps the conversion defined.
    if (!(value >= 0) || value > 1e15 || value != std::floor(value)) {
      return InvalidArgument("queue_limit must be a whole number >= 0, got ",
                             value);
    }
    options.queue_limit = static_cast<int64_t>(value);
  } else if (name == "out_of_range_ids") {
    if (!is_flag()) {
      return InvalidArgument(
          "out_of_range_ids must be 0 (error) or 1 (skip), got ", value);
    }
    options.skip_out_of_range_ids = value == 1;
  } else if (name == "experimental_optimizers") {
    if (!is_flag()) {
      return InvalidArgument("experimental_optimizers must be 0 or 1, got ",
                             value);
    }
    options.experimental_optimizers = value == 1;
  } else {
    return InvalidArgument(
        "unknown option '", name,
        "', expected one of 'receive_timeout', 'queue_limit', "
        "'out_of_range_ids', 'experimental_optimizers'");
  }
  return Status();
}

class SetOptionsKernel final : public Kernel {
 public:
  using Kernel::Kernel;

 private:
  Status Run(OpKernelContext* ctx) override {
    const Tensor& names = ctx->input(0);
    const Tensor& values = ctx->input(1);
    if (names.dims() != 1 || values.dims() != 1 ||
        names.NumElements() != values.NumElements()) {
      return InvalidArgument(
          "names and values must be vectors of one length, got shapes ",
          ShapeString(View(names).shape), " and ",
          ShapeString(View(values).shape));
    }
    EngineStore& store = EngineStore::Of(ctx);
    EngineOptions options = store.options();
    for (int64_t i = 0; i < names.NumElements(); ++i) {
      TPULESS_RETURN_IF_ERROR(
          SetOption(names.vec<tstring>()(i), values.vec<double>()(i), options));
    }
    store.SetOptions(options);
    return Status();
  }
};

class ResetKernel final : public Kernel {
 public:
  using Kernel::Kernel;

 private:
  Status Run(OpKernelContext* ctx) override {
    return EngineStore::Of(ctx).Reset("");
  }
};

class AbandonStepKernel final : public Kernel {
 public:
  using Kernel::Kernel;

 private:
  Status Run(OpKernelContext* ctx) override {
    const std::shared_ptr<Engine> engine = EngineStore::Of(ctx).Get();
    if (engine == nullptr) return EngineStore::NotConfigured();
    return engine->AbandonStep();
  }
};

void AddOp(const tensorflow::OpDefBuilder& builder) {
  tensorflow::OpRegistry::Global()->Register(
      [builder](tensorflow::OpRegistrationData* data) {
        return builder.Finalize(data);
      });
}

absl::Status StatisticsShapes(
    tensorflow::shape_inference::InferenceContext* c) {
  const auto num_counters = c->UnknownDim();
  const auto num_tables = c->UnknownDim();
  c->set_output(0, c->Vector(num_counters));
  c->set_output(1, c->Vector(num_counters));
  c->set_output(2, c->Vector(num_tables));
  c->set_output(3, c->Matrix(num_tables, 4));
  return absl::OkStatus();
}

}  // namespace

void RegisterControlOps() {
  using tensorflow::OpDefBuilder;
  AddOp(OpDefBuilder("TpulessStatistics")
            .Output("counter_names: string")
            .Output("counters: int64")
            .Output("table_names: string")
            .Output("table_values: int64")
            .SetIsStateful()
            .SetShapeFn(StatisticsShapes));
  AddOp(OpDefBuilder("TpulessSetOptions")
            .Input("names: string")
            .Input("values: double")
            .SetIsStateful()
            .SetShapeFn(tensorflow::shape_inference::NoOutputs));
  AddOp(OpDefBuilder("TpulessReset")
            .SetIsStateful()
            .SetShapeFn(tensorflow::shape_inference::NoOutputs));
  AddOp(OpDefBuilder("TpulessAbandonStep")
            .SetIsStateful()
            .SetShapeFn(tensorflow::shape_inference::NoOutputs));
}

void RegisterControlKernels() {
  RegisterKernel<StatisticsKernel>("TpulessStatistics");
  RegisterKernel<SetOptionsKernel>("TpulessSetOptions");
  RegisterKernel<ResetKernel>("TpulessReset");
  RegisterKernel<AbandonStepKernel>("TpulessAbandonStep");
}

}  // namespace tpuless
