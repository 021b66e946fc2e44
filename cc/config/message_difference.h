// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Says where two messages of one type differ.
#ifndef TPULESS_CC_CONFIG_MESSAGE_DIFFERENCE_H_
#define TPULESS_CC_CONFIG_MESSAGE_DIFFERENCE_H_

#include <string>

#include "google/protobuf/message.h"

namespace tpuless {

// Returns "table_descriptor[1].dimension: configured 4, got 8" for the first
// field in which `given` differs, or nothing if the messages are equal.
std::string FirstDifference(const google::protobuf::Message& configured,
                            const google::protobuf::Message& given);

}  // namespace tpuless

#endif  // TPULESS_CC_CONFIG_MESSAGE_DIFFERENCE_H_
