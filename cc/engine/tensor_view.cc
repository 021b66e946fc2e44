// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Text of shapes.
#include "cc/engine/tensor_view.h"

#include <sstream>

namespace tpuless {

std::string ShapeString(const std::vector<int64_t>& shape) {
  std::ostringstream out;
  out << "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    out << (i > 0 ? ", " : "") << shape[i];
  }
  out << "]";
  return out.str();
}

}  // namespace tpuless
