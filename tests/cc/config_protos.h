// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// A sound configuration proto, and what comes of changes to it.
#ifndef TPULESS_TESTS_CC_CONFIG_PROTOS_H_
#define TPULESS_TESTS_CC_CONFIG_PROTOS_H_

#include <functional>
#include <string>

#include "cc/config/tpu_embedding_config.h"
#include "tensorflow/core/protobuf/tpu/tpu_embedding_configuration.pb.h"

namespace tpuless {

using Proto = tensorflow::tpu::TPUEmbeddingConfiguration;
using tensorflow::tpu::OptimizationParameters;

// Training of table 'user' with SGD, in the table layout.
inline Proto SoundProto() {
  Proto proto;
  proto.set_mode(Proto::TRAINING);
  proto.set_batch_size_per_tensor_core(4);
  proto.set_num_hosts(1);
  proto.set_num_tensor_cores(1);
  auto* table = proto.add_table_descriptor();
  table->set_name("user");
  table->set_vocabulary_size(8);
  table->set_dimension(2);
  table->set_num_features(1);
  auto* parameters = table->mutable_optimization_parameters();
  parameters->mutable_stochastic_gradient_descent();
  parameters->mutable_learning_rate()->set_constant(0.1f);
  return proto;
}

inline std::string Bytes(const std::function<void(Proto&)>& change) {
  Proto proto = SoundProto();
  change(proto);
  return proto.SerializeAsString();
}

inline std::string Bytes() {
  return Bytes([](Proto&) {});
}

inline Result<EngineConfig> Parsed(const std::function<void(Proto&)>& change) {
  return ParseTpuEmbeddingConfig(Bytes(change));
}

// Changes what belongs to the optimizer of table 'user'.
inline Result<EngineConfig> ParsedWith(
    const std::function<void(OptimizationParameters&)>& change) {
  return Parsed([&](Proto& proto) {
    change(
        *proto.mutable_table_descriptor(0)->mutable_optimization_parameters());
  });
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_CONFIG_PROTOS_H_
