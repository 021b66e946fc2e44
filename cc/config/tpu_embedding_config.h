// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// From a serialized tensorflow.tpu.TPUEmbeddingConfiguration to EngineConfig.
#ifndef TPULESS_CC_CONFIG_TPU_EMBEDDING_CONFIG_H_
#define TPULESS_CC_CONFIG_TPU_EMBEDDING_CONFIG_H_

#include <string>

#include "cc/engine/engine_config.h"
#include "cc/engine/status.h"

namespace tpuless {

// A config that went through a Java String arrives with each byte >= 0x80 as
// the two bytes of its UTF-8 form. All functions accept that form too.

// Returns the checked and completed configuration of an engine.
Result<EngineConfig> ParseTpuEmbeddingConfig(const std::string& config);

// Refuses a config that does not equal the configured one, naming the first
// field in which they differ.
Status CheckSameConfig(const std::string& configured,
                       const std::string& config);

// Refuses the config of a Recv or Send that stands for all cores of a replica.
// The program of the replica knows how to make one a core of it.
Status CheckSpeaksForOneCore(const std::string& config);

}  // namespace tpuless

#endif  // TPULESS_CC_CONFIG_TPU_EMBEDDING_CONFIG_H_
