// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From a serialized tensorflow.tpu.TPUEmbeddingConfiguration to EngineConfig.
#include "cc/config/tpu_embedding_config.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cc/config/message_difference.h"
#include "cc/config/optimization_parameters.h"
#include "tensorflow/core/protobuf/tpu/tpu_embedding_configuration.pb.h"

namespace tpuless {
namespace {

using Proto = tensorflow::tpu::TPUEmbeddingConfiguration;

// Returns the bytes that Java's UTF-8 encoder was given, if it was.
std::optional<std::string> UndoUtf8(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char lead = text[i];
    if (lead < 0x80) {
      bytes += text[i];
      continue;
    }
    // Code points up to 0xFF: 110000xx 10xxxxxx.
    if (lead != 0xC2 && lead != 0xC3) return std::nullopt;
    if (++i == text.size()) return std::nullopt;
    const unsigned char trail = text[i];
    if ((trail & 0xC0) != 0x80) return std::nullopt;
    bytes += static_cast<char>((lead & 0x03) << 6 | (trail & 0x3F));
  }
  return bytes;
}

Result<Proto> Parse(const std::string& config) {
  Proto proto;
  if (proto.ParseFromString(config)) return proto;
  const std::optional<std::string> bytes = UndoUtf8(config);
  if (bytes.has_value() && proto.ParseFromString(*bytes)) return proto;
  return InvalidArgument(
      "Malformed tpu_embedding_config: it must be a serialized "
      "TPUEmbeddingConfiguration, got ",
      config.size(), " bytes that do not parse as one");
}

// TensorFlow before 2.19 has no such field.
template <class SpmdSharding>
auto UsesManualPartitioning(const SpmdSharding& spmd, int)
    -> decltype(spmd.use_manual_partitioning()) {
  return spmd.use_manual_partitioning();
}

template <class SpmdSharding>
bool UsesManualPartitioning(const SpmdSharding&, ...) {
  return false;
}

Status CheckSpmdSharding(const Proto& proto, int64_t num_cores) {
  const auto& spmd = proto.spmd_sharding();
  if (!spmd.enabled()) return Status();
  const int64_t cores_per_replica = spmd.num_cores_per_replica();
  if (cores_per_replica < 1 || num_cores % cores_per_replica != 0) {
    return InvalidArgument(
        "spmd_sharding.num_cores_per_replica must be >= 1 and divide the "
        "number of cores (",
        num_cores, "), got ", cores_per_replica);
  }
  if (UsesManualPartitioning(spmd, 0) && cores_per_replica > 1) {
    return Unimplemented(
        "spmd_sharding.use_manual_partitioning must be false with several "
        "cores a replica (",
        cores_per_replica, "), got true");
  }
  return Status();
}

// Sets the hosts, and the cores of one of them.
Status SetTopology(const Proto& proto, EngineConfig& config) {
  const int64_t num_hosts = proto.num_hosts();
  const int64_t num_tensor_cores = proto.num_tensor_cores();
  if (num_hosts < 0) {
    return InvalidArgument("num_hosts must be >= 0, got ", num_hosts);
  }
  if (num_tensor_cores < 0) {
    return InvalidArgument("num_tensor_cores must be >= 0, got ",
                           num_tensor_cores);
  }
  config.num_hosts = std::max<int64_t>(num_hosts, 1);
  // Left out, it means a core for each host.
  const int64_t cores =
      num_tensor_cores == 0 ? config.num_hosts : num_tensor_cores;
  if (cores % config.num_hosts != 0) {
    return InvalidArgument("num_tensor_cores must be a multiple of num_hosts (",
                           config.num_hosts, "), got ", num_tensor_cores);
  }
  config.num_cores = cores / config.num_hosts;
  return CheckSpmdSharding(proto, cores);
}

Status SetEnums(const Proto& proto, EngineConfig& config) {
  const int mode = proto.mode();
  if (mode < 0 || mode > 3) {
    return InvalidArgument("mode must be 1, 2 or 3, got ", mode);
  }
  config.mode = static_cast<Mode>(mode);
  const int sharding = proto.sharding_strategy();
  if (sharding < 0 || sharding > 1) {
    return InvalidArgument("sharding_strategy must be 0 or 1, got ", sharding);
  }
  config.sharding = static_cast<ShardingStrategy>(sharding);
  return Status();
}

}  // namespace

Result<EngineConfig> ParseTpuEmbeddingConfig(const std::string& config) {
  const Result<Proto> parsed = Parse(config);
  if (!parsed.ok()) return parsed.status();
  const Proto& proto = *parsed;

  EngineConfig result;
  TPULESS_RETURN_IF_ERROR(SetEnums(proto, result));
  TPULESS_RETURN_IF_ERROR(SetTopology(proto, result));
  result.batch_size = proto.batch_size_per_tensor_core();
  result.pipelined = proto.pipeline_execution_with_tensor_core();
  for (const auto& descriptor : proto.table_descriptor()) {
    TableConfig table;
    table.name = descriptor.name();
    table.vocabulary_size = descriptor.vocabulary_size();
    table.dimension = descriptor.dimension();
    table.num_features = descriptor.num_features();
    TPULESS_RETURN_IF_ERROR(
        SetOptimizationParameters(descriptor.optimization_parameters(), table));
    result.tables.push_back(std::move(table));
  }
  for (const auto& descriptor : proto.feature_descriptor()) {
    result.features.push_back(
        {descriptor.name(),
         descriptor.table_id(),
         {descriptor.input_shape().begin(), descriptor.input_shape().end()}});
  }
  result.feature_layout = !result.features.empty();
  TPULESS_RETURN_IF_ERROR(CheckAndComplete(result));
  return result;
}

Status CheckSameConfig(const std::string& configured,
                       const std::string& config) {
  if (config == configured || UndoUtf8(config) == configured) return Status();
  Result<Proto> expected = Parse(configured);
  if (!expected.ok()) return expected.status();
  Result<Proto> given = Parse(config);
  if (!given.ok()) return given.status();
  // About programs, and no property of an engine.
  expected->clear_spmd_sharding();
  given->clear_spmd_sharding();
  const std::string difference = FirstDifference(*expected, *given);
  if (difference.empty()) return Status();
  return InvalidArgument("config must equal the configured one, differs in ",
                         difference);
}

Status CheckSpeaksForOneCore(const std::string& config) {
  const Result<Proto> proto = Parse(config);
  if (!proto.ok()) return Status();  // CheckSameConfig() will say so.
  const auto& spmd = proto->spmd_sharding();
  if (!spmd.enabled() || spmd.num_cores_per_replica() <= 1) return Status();
  return Unimplemented(
      "spmd_sharding over several cores a replica (",
      spmd.num_cores_per_replica(),
      ") must be in the program of a TPUStrategy, and in no function of it");
}

}  // namespace tpuless
