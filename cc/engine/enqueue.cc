// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Checks an Enqueue request and turns its tensors into lookups.
#include "cc/engine/enqueue.h"

#include <algorithm>
#include <utility>

#include "cc/engine/lookup_builder.h"

namespace tpuless {
namespace {

// Enough ids for a task to be worth handing to another thread.
constexpr int64_t kIdsPerTask = 4096;

// What a request says of one of its inputs, apart from the ids.
struct InputPlan {
  std::string name;  // "feature 'watched'".
  int64_t table = 0;
  int64_t output = 0;
  // Rows of the input's own numbering, see InputLookups.
  int64_t num_rows = 0;
  int64_t width = 1;
  int64_t stride = 1;
  int64_t offset = 0;
  int64_t num_samples = 0;  // Before a sequence feature's positions.
  int64_t sequence_length = 0;
  Combiner combiner = Combiner::kSum;
};

Result<Combiner> ParseCombiner(const std::string& name) {
  if (name == "sum") return Combiner::kSum;
  if (name == "mean") return Combiner::kMean;
  if (name == "sqrtn") return Combiner::kSqrtn;
  return InvalidArgument("unknown combiner '", name,
                         "', expected one of 'sum', 'mean', 'sqrtn'");
}

Result<Mode> ParseMode(const std::string& mode_override, Mode configured) {
  if (mode_override == "unspecified") return configured;
  if (mode_override == "inference") return Mode::kInference;
  if (mode_override == "train" || mode_override == "training") {
    return Mode::kTraining;
  }
  if (mode_override == "backward_pass_only") return Mode::kBackwardPassOnly;
  return InvalidArgument(
      "unknown mode_override '", mode_override,
      "', expected one of 'unspecified', 'inference', 'train', 'training', "
      "'backward_pass_only'");
}

// Returns list[i], or `missing` of an empty list.
int64_t At(const std::vector<int64_t>& list, size_t i, int64_t missing) {
  return list.empty() ? missing : list[i];
}

Status CheckListLength(const char* name, size_t length, size_t num_inputs) {
  if (length == 0 || length == num_inputs) return Status();
  return InvalidArgument(name, " must be empty or have ", num_inputs,
                         " entries, one an input, got ", length);
}

Status CheckNumInputs(size_t got, size_t expected, const char* of_what) {
  if (got == expected) return Status();
  return InvalidArgument("must have ", expected, " inputs, one a ", of_what,
                         ", got ", got);
}

Status CheckAttributes(const EngineConfig& config,
                       const EnqueueRequest& request) {
  const size_t num_inputs = request.inputs.size();
  const bool by_input = request.form == EnqueueForm::kSparseTensorBatch ||
                        request.form == EnqueueForm::kRaggedTensorBatch;
  if (config.feature_layout &&
      request.form != EnqueueForm::kArbitraryTensorBatch) {
    return InvalidArgument(
        "the configuration must have no feature_descriptor for this op; with "
        "them, use EnqueueTPUEmbeddingArbitraryTensorBatch");
  }
  if (request.form == EnqueueForm::kArbitraryTensorBatch) {
    TPULESS_RETURN_IF_ERROR(
        CheckNumInputs(num_inputs, config.features.size(),
                       config.feature_layout ? "feature_descriptor" : "table"));
  } else if (by_input) {
    TPULESS_RETURN_IF_ERROR(
        CheckNumInputs(num_inputs, request.table_ids.size(), "table_id"));
  } else {
    TPULESS_RETURN_IF_ERROR(
        CheckNumInputs(num_inputs, config.tables.size(), "table"));
  }
  const size_t num_combiners = request.combiners.size();
  if (num_combiners != 0 && num_combiners != num_inputs &&
      num_combiners != config.tables.size()) {
    return InvalidArgument("combiners must be empty, one a table (",
                           config.tables.size(), ") or one an input (",
                           num_inputs, "), got ", num_combiners);
  }
  TPULESS_RETURN_IF_ERROR(CheckCombiners(request.combiners));
  TPULESS_RETURN_IF_ERROR(CheckListLength(
      "max_sequence_lengths", request.max_sequence_lengths.size(), num_inputs));
  return CheckListLength("num_features", request.num_features.size(),
                         num_inputs);
}

Status CheckTableId(const EngineConfig& config, size_t input, int64_t table) {
  const int64_t num_tables = static_cast<int64_t>(config.tables.size());
  if (table >= 0 && table < num_tables) return Status();
  return InvalidArgument("input ", input, ": table_ids[", input,
                         "] must be >= 0 and < ", num_tables, ", got ", table);
}

Status SlotsError(const TableConfig& table, const std::string& got) {
  return InvalidArgument(
      "table '", table.name,
      "': num_features and max_sequence_lengths of its inputs must add up to "
      "its num_features (",
      table.num_features, "), got ", got);
}

// Lays out the inputs of SparseTensorBatch and RaggedTensorBatch: a table's
// inputs take its feature slots in their order, a sequence as many as it is
// long.
Result<std::vector<InputPlan>> PlanInputsOfTables(
    const EngineConfig& config, const EnqueueRequest& request) {
  std::vector<InputPlan> plans(request.inputs.size());
  std::vector<int64_t> slots(config.tables.size(), 0);
  for (size_t i = 0; i < plans.size(); ++i) {
    InputPlan& plan = plans[i];
    plan.table = request.table_ids[i];
    TPULESS_RETURN_IF_ERROR(CheckTableId(config, i, plan.table));
    const TableConfig& table = config.tables[plan.table];
    plan.name = StrCat("input ", i, " (table '", table.name, "')");
    plan.output = plan.table;
    const int64_t num_features = At(request.num_features, i, 1);
    plan.sequence_length = At(request.max_sequence_lengths, i, 0);
    if (num_features < 1) {
      return InvalidArgument(plan.name, ": num_features must be >= 1, got ",
                             num_features);
    }
    if (plan.sequence_length < 0) {
      return InvalidArgument(plan.name,
                             ": max_sequence_lengths must be >= 0, got ",
                             plan.sequence_length);
    }
    if (plan.sequence_length > 0 && num_features > 1) {
      return InvalidArgument(plan.name,
                             ": num_features must be 1 for a sequence "
                             "feature, got ",
                             num_features);
    }
    plan.width = std::max(num_features, plan.sequence_length);
    plan.stride = table.num_features;
    plan.offset = slots[plan.table];
    if (plan.width > table.num_features - plan.offset) {
      return SlotsError(table, StrCat(plan.offset, " + ", plan.width));
    }
    slots[plan.table] += plan.width;
    plan.num_samples = config.batch_size * num_features;
    plan.num_rows = config.batch_size * plan.width;
  }
  for (size_t t = 0; t < slots.size(); ++t) {
    if (slots[t] != config.tables[t].num_features) {
      return SlotsError(config.tables[t], StrCat(slots[t]));
    }
  }
  return plans;
}

// Lays out the inputs of the other forms: each is one output.
std::vector<InputPlan> PlanInputsOfOutputs(const EngineConfig& config) {
  std::vector<InputPlan> plans(config.features.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    InputPlan& plan = plans[i];
    plan.output = static_cast<int64_t>(i);
    plan.name = config.output_name(plan.output);
    plan.table = config.features[i].table;
    plan.num_rows = config.features[i].num_rows();
    plan.width = plan.stride = plan.num_samples = plan.num_rows;
  }
  return plans;
}

Combiner CombinerOf(const EngineConfig& config, const EnqueueRequest& request,
                    size_t input, int64_t table) {
  if (request.combiners.empty()) return Combiner::kSum;
  const bool by_table = request.combiners.size() == config.tables.size();
  return *ParseCombiner(
      request.combiners[by_table ? static_cast<size_t>(table) : input]);
}

// Reads the positions of the forms of which an empty tensor means one id a
// sample, or no ids at all.
Status ReadPositionsOfTables(EnqueueForm form, const InputPlan& plan,
                             const TensorView& indices,
                             LookupBuilder& builder) {
  if (indices.size() == 0) {
    if (builder.num_ids() == 0) return Status();
    return builder.AddDense(plan.num_samples,
                            std::max<int64_t>(1, plan.sequence_length));
  }
  return form == EnqueueForm::kRaggedTensorBatch
             ? builder.AddRowSplits(indices, plan.num_samples,
                                    plan.sequence_length)
             : builder.AddSampleIndices(indices, plan.num_samples,
                                        plan.sequence_length);
}

Status ReadPositions(const EngineConfig& config, EnqueueForm form,
                     const InputPlan& plan, const TensorView& indices,
                     LookupBuilder& builder) {
  switch (form) {
    case EnqueueForm::kIntegerBatch:
      return builder.AddDense(plan.num_rows, 1);
    case EnqueueForm::kSparseBatch:
      if (indices.rank() != 1) {
        return InvalidArgument(plan.name,
                               ": sample_indices must have rank 1, got shape ",
                               ShapeString(indices.shape));
      }
      [[fallthrough]];
    case EnqueueForm::kSparseTensorBatch:
    case EnqueueForm::kRaggedTensorBatch:
      return ReadPositionsOfTables(form, plan, indices, builder);
    case EnqueueForm::kArbitraryTensorBatch:
      return builder.AddArbitrary(indices, config.features[plan.output].shape);
  }
  return Status();
}

Status PrepareInput(const EngineConfig& config, const EnqueueRequest& request,
                    size_t i, const InputPlan& plan, bool skip_out_of_range_ids,
                    Workspace& workspace, InputLookups& lookups) {
  lookups.table = plan.table;
  lookups.output = plan.output;
  lookups.width = plan.width;
  lookups.stride = plan.stride;
  lookups.offset = plan.offset;
  LookupBuilder builder(plan.name, plan.num_rows,
                        config.tables[plan.table].vocabulary_size,
                        skip_out_of_range_ids, workspace, lookups);
  TPULESS_RETURN_IF_ERROR(
      builder.SetIds(request.inputs[i].embedding_indices,
                     request.form == EnqueueForm::kIntegerBatch
                         ? TensorView{DType::kFloat32, {0}, nullptr}
                         : request.inputs[i].aggregation_weights));
  TPULESS_RETURN_IF_ERROR(ReadPositions(
      config, request.form, plan, request.inputs[i].sample_indices, builder));
  return builder.Build(CombinerOf(config, request, i, plan.table));
}

}  // namespace

Status CheckCombiners(const std::vector<std::string>& combiners) {
  for (const std::string& combiner : combiners) {
    const Result<Combiner> parsed = ParseCombiner(combiner);
    if (!parsed.ok()) return parsed.status();
  }
  return Status();
}

Result<std::shared_ptr<Minibatch>> PrepareMinibatch(
    const EngineConfig& config, const EnqueueRequest& request,
    bool skip_out_of_range_ids, EnqueueMemory& memory,
    const ParallelFor& parallel_for) {
  const Result<Mode> mode = ParseMode(request.mode_override, config.mode);
  if (!mode.ok()) return mode.status();
  if (request.device_ordinal < -1 ||
      request.device_ordinal >= config.num_cores) {
    return InvalidArgument("device_ordinal must be >= -1 and < ",
                           config.num_cores, ", the cores of this host, got ",
                           request.device_ordinal);
  }
  TPULESS_RETURN_IF_ERROR(CheckAttributes(config, request));
  const bool of_tables = request.form == EnqueueForm::kSparseTensorBatch ||
                         request.form == EnqueueForm::kRaggedTensorBatch;
  Result<std::vector<InputPlan>> plans =
      of_tables ? PlanInputsOfTables(config, request)
                : PlanInputsOfOutputs(config);
  if (!plans.ok()) return plans.status();

  std::shared_ptr<Minibatch> minibatch = memory.minibatches.Take();
  minibatch->mode = *mode;
  minibatch->core = std::max<int64_t>(0, request.device_ordinal);
  minibatch->inputs.resize(plans->size());
  std::vector<Status> statuses(plans->size());
  ForEachByCost(
      static_cast<int64_t>(plans->size()),
      [&](int64_t i) { return request.inputs[i].embedding_indices.size(); },
      kIdsPerTask, parallel_for,
      [&](int64_t i) {
        const auto workspace = memory.workspaces.Take();
        statuses[i] =
            PrepareInput(config, request, i, (*plans)[i], skip_out_of_range_ids,
                         *workspace, minibatch->inputs[i]);
      });
  for (const Status& status : statuses) TPULESS_RETURN_IF_ERROR(status);

  minibatch->num_ids = 0;
  for (const InputLookups& lookups : minibatch->inputs) {
    minibatch->num_ids += static_cast<int64_t>(lookups.ids.size());
  }
  if (minibatch->needs_gradient()) {
    const size_t num_tables = config.tables.size();
    std::vector<std::vector<const InputLookups*>> inputs(num_tables);
    std::vector<int64_t> num_ids(num_tables);
    for (const InputLookups& input : minibatch->inputs) {
      inputs[input.table].push_back(&input);
      num_ids[input.table] += static_cast<int64_t>(input.ids.size());
    }
    minibatch->groups.resize(num_tables);
    ForEachByCost(
        static_cast<int64_t>(num_tables),
        [&](int64_t table) { return num_ids[table]; }, kIdsPerTask,
        parallel_for,
        [&](int64_t table) {
          const auto workspace = memory.workspaces.Take();
          GroupByRow(inputs[table], config.tables[table].vocabulary_size,
                     *workspace, minibatch->groups[table]);
        });
  } else {
    minibatch->groups.clear();
  }
  return minibatch;
}

}  // namespace tpuless
