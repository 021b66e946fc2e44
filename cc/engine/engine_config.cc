// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// The rules that a configuration must keep, and what it implies.
#include "cc/engine/engine_config.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "cc/engine/tensor_view.h"

namespace tpuless {
namespace {

// Largest number of elements that a shape may have: its bytes fit int64.
constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 8;

// Returns the product, or -1 where it is more than kMaxElements.
int64_t CheckedProduct(const std::vector<int64_t>& factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) ||
        product > kMaxElements) {
      return -1;
    }
  }
  return product;
}

std::string TableName(const TableConfig& table) {
  return StrCat("table '", table.name, "'");
}

std::string FeatureName(const EngineConfig& config, size_t i) {
  const FeatureConfig& feature = config.features[i];
  return feature.name.empty() ? StrCat("feature ", i)
                              : StrCat("feature '", feature.name, "'");
}

Status CheckLimits(const TableConfig& table, const char* field,
                   const std::optional<Limits>& limits) {
  if (limits && !(limits->lower <= limits->upper)) {
    return InvalidArgument(TableName(table), ": ", field,
                           ".lower must be <= upper, got ", limits->lower,
                           " and ", limits->upper);
  }
  return Status();
}

Status CheckQuantization(const TableConfig& table) {
  if (!table.quantization) return Status();
  const SimulatedQuantization& quantization = *table.quantization;
  const Limits& limits = quantization.limits;
  if (quantization.num_buckets < 2) {
    return InvalidArgument(TableName(table),
                           ": simulated_quantization.num_buckets must be >= 2,"
                           " got ",
                           quantization.num_buckets);
  }
  if (!(limits.lower < limits.upper) || std::isinf(limits.lower) ||
      std::isinf(limits.upper)) {
    return InvalidArgument(
        TableName(table),
        ": simulated_quantization.clipping_limits must be finite with "
        "lower < upper, got ",
        limits.lower, " and ", limits.upper);
  }
  return Status();
}

Status CheckOptimizer(const TableConfig& table) {
  const OptimizerInfo* info = table.optimizer_info();
  if (info == nullptr) {
    for (const RefusedOptimizer& refused : RefusedOptimizers()) {
      if (refused.name != table.optimizer) continue;
      return Unimplemented(TableName(table), ": optimizer '", table.optimizer,
                           "' is not supported: ", refused.reason);
    }
    std::string known;
    for (const OptimizerInfo* other : Optimizers()) {
      known += StrCat(known.empty() ? "'" : ", '", other->name, "'");
    }
    return Unimplemented(TableName(table), ": optimizer '", table.optimizer,
                         "' is not supported, expected one of ", known);
  }
  if (info->check != nullptr) {
    Status status = info->check(table.hyperparameters, table.dimension);
    if (!status.ok()) {
      return Status(status.code(),
                    StrCat(TableName(table), ": ", status.message()));
    }
  }
  if (!info->dynamic_input.empty() && !table.dynamic_input_tag) {
    return InvalidArgument(TableName(table), ": ", table.optimizer, ".",
                           info->dynamic_input, " must be set");
  }
  // On a TPU the sums of gradients are one slot more, of 7.
  const size_t max_num_slots = table.accumulate_gradients ? 6 : 7;
  if (info->slots.size() > max_num_slots) {
    return InvalidArgument(
        TableName(table), ": ", table.optimizer,
        " must have <= ", max_num_slots,
        " slots unless gradient_accumulation_status is DISABLED, got ",
        info->slots.size());
  }
  if (!table.accumulate_gradients) {
    if (table.clip_gradients) {
      return InvalidArgument(TableName(table),
                             ": gradient_clipping_limits must not be set where "
                             "gradient_accumulation_status is DISABLED");
    }
    if (!info->non_lazy.empty() && table.hyperparameters[info->non_lazy] != 0) {
      return InvalidArgument(TableName(table), ": ", info->non_lazy,
                             " must not be set where "
                             "gradient_accumulation_status is DISABLED");
    }
  }
  return Status();
}

Status CheckTable(const TableConfig& table) {
  if (table.vocabulary_size <= 0) {
    return InvalidArgument(TableName(table),
                           ": vocabulary_size must be > 0, got ",
                           table.vocabulary_size);
  }
  if (table.dimension <= 0) {
    return InvalidArgument(TableName(table), ": dimension must be > 0, got ",
                           table.dimension);
  }
  TPULESS_RETURN_IF_ERROR(CheckOptimizer(table));
  TPULESS_RETURN_IF_ERROR(
      CheckLimits(table, "clipping_limits", table.clip_weights));
  TPULESS_RETURN_IF_ERROR(
      CheckLimits(table, "gradient_clipping_limits", table.clip_gradients));
  return CheckQuantization(table);
}

Status CheckTableNames(const EngineConfig& config) {
  if (config.tables.empty()) {
    return InvalidArgument("table_descriptor must have at least one entry");
  }
  std::set<std::string> names;
  for (size_t i = 0; i < config.tables.size(); ++i) {
    const std::string& name = config.tables[i].name;
    if (name.empty()) {
      return InvalidArgument("table ", i, ": name must not be empty");
    }
    if (!names.insert(name).second) {
      return InvalidArgument("table ", i, ": name '", name,
                             "' must not be that of another table");
    }
  }
  return Status();
}

// The distinct tags must be 0, 1, ... without a hole.
Status CheckTags(const EngineConfig& config) {
  std::set<int32_t> tags;
  for (const TableConfig& table : config.tables) {
    for (const auto& [what, tag] :
         {std::make_pair("learning rate", table.learning_rate_tag),
          std::make_pair("dynamic input", table.dynamic_input_tag)}) {
      if (!tag) continue;
      if (*tag < 0) {
        return InvalidArgument(TableName(table), ": ", what,
                               " tag must be >= 0, got ", *tag);
      }
      tags.insert(*tag);
    }
  }
  int32_t expected = 0;
  for (int32_t tag : tags) {
    if (tag != expected) {
      return InvalidArgument(
          "learning rate tags of all tables must be 0 to n - 1 without a "
          "hole, got ",
          tag, " but no ", expected);
    }
    ++expected;
  }
  return Status();
}

Status CompleteTableLayout(EngineConfig& config) {
  if (config.batch_size <= 0) {
    return InvalidArgument(
        "batch_size_per_tensor_core must be > 0 where there is no "
        "feature_descriptor, got ",
        config.batch_size);
  }
  for (size_t i = 0; i < config.tables.size(); ++i) {
    const TableConfig& table = config.tables[i];
    if (table.num_features <= 0) {
      return InvalidArgument(TableName(table),
                             ": num_features must be > 0 where there is no "
                             "feature_descriptor, got ",
                             table.num_features);
    }
    FeatureConfig feature;
    feature.table = static_cast<int64_t>(i);
    feature.shape = {config.batch_size * table.num_features};
    config.features.push_back(std::move(feature));
  }
  return Status();
}

Status CheckFeature(const EngineConfig& config, size_t i) {
  const FeatureConfig& feature = config.features[i];
  const int64_t num_tables = static_cast<int64_t>(config.tables.size());
  if (feature.table < 0 || feature.table >= num_tables) {
    return InvalidArgument(FeatureName(config, i),
                           ": table_id must be >= 0 and < ", num_tables,
                           ", got ", feature.table);
  }
  if (feature.shape.empty() ||
      std::any_of(feature.shape.begin(), feature.shape.end(),
                  [](int64_t dim) { return dim <= 0; })) {
    return InvalidArgument(FeatureName(config, i),
                           ": input_shape must have one or more dimensions, "
                           "all > 0, got ",
                           ShapeString(feature.shape));
  }
  return Status();
}

Status CheckOutputSizes(const EngineConfig& config) {
  for (size_t i = 0; i < config.features.size(); ++i) {
    const std::vector<int64_t> shape =
        config.output_shape(static_cast<int64_t>(i));
    if (CheckedProduct(shape) < 0) {
      return InvalidArgument(config.output_name(static_cast<int64_t>(i)),
                             ": activations must have at most ", kMaxElements,
                             " elements, got shape ", ShapeString(shape));
    }
  }
  return Status();
}

Status CheckFeatureLayout(const EngineConfig& config) {
  if (config.batch_size != 0) {
    return InvalidArgument(
        "batch_size_per_tensor_core must be 0 where there are "
        "feature_descriptors, got ",
        config.batch_size);
  }
  for (const TableConfig& table : config.tables) {
    if (table.num_features != 0) {
      return InvalidArgument(TableName(table),
                             ": num_features must be 0 where there are "
                             "feature_descriptors, got ",
                             table.num_features);
    }
  }
  std::vector<bool> used(config.tables.size(), false);
  for (size_t i = 0; i < config.features.size(); ++i) {
    TPULESS_RETURN_IF_ERROR(CheckFeature(config, i));
    used[config.features[i].table] = true;
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) {
      return InvalidArgument(TableName(config.tables[i]),
                             ": must have one or more feature_descriptors, "
                             "got 0");
    }
  }
  return Status();
}

// The batch size is the largest that divides all features' rows.
void CompleteFeatureLayout(EngineConfig& config) {
  for (const FeatureConfig& feature : config.features) {
    config.batch_size = std::gcd(config.batch_size, feature.num_rows());
  }
  for (const FeatureConfig& feature : config.features) {
    config.tables[feature.table].num_features +=
        feature.num_rows() / config.batch_size;
  }
}

}  // namespace

const OptimizerInfo* TableConfig::optimizer_info() const {
  return user_optimizer != nullptr ? user_optimizer.get()
                                   : FindOptimizer(optimizer);
}

int64_t EngineConfig::num_learning_rates() const {
  int64_t count = 0;
  for (const TableConfig& table : tables) {
    for (const auto& tag : {table.learning_rate_tag, table.dynamic_input_tag}) {
      if (tag) count = std::max<int64_t>(count, *tag + 1);
    }
  }
  return count;
}

std::vector<int64_t> EngineConfig::output_shape(int64_t i) const {
  std::vector<int64_t> shape = features[i].shape;
  shape.push_back(tables[features[i].table].dimension);
  return shape;
}

std::string EngineConfig::output_name(int64_t i) const {
  return feature_layout ? FeatureName(*this, i) : TableName(tables[i]);
}

Status CheckAndComplete(EngineConfig& config) {
  TPULESS_RETURN_IF_ERROR(CheckTableNames(config));
  if (config.mode == Mode::kUnspecified) {
    return InvalidArgument(
        "mode must be INFERENCE, TRAINING or BACKWARD_PASS_ONLY, got "
        "UNSPECIFIED");
  }
  config.feature_layout = !config.features.empty();
  TPULESS_RETURN_IF_ERROR(config.feature_layout ? CheckFeatureLayout(config)
                                                : CompleteTableLayout(config));
  for (const TableConfig& table : config.tables) {
    TPULESS_RETURN_IF_ERROR(CheckTable(table));
  }
  TPULESS_RETURN_IF_ERROR(CheckTags(config));
  TPULESS_RETURN_IF_ERROR(CheckOutputSizes(config));
  if (config.feature_layout) CompleteFeatureLayout(config);
  return Status();
}

Status CheckNoExperimentalOptimizers(const EngineConfig& config) {
  for (const TableConfig& table : config.tables) {
    const auto is_experimental = table.optimizer_info()->is_experimental;
    if (is_experimental != nullptr && is_experimental(table.hyperparameters)) {
      return Unimplemented(
          TableName(table), ": optimizer '", table.optimizer,
          "' is experimental, no public text fixes its formula; set option "
          "experimental_optimizers to run our reading of it");
    }
  }
  return Status();
}

}  // namespace tpuless
