// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Lookups as a test wants to compare them: by row, each an id and its gain.
#ifndef TPULESS_TESTS_CC_LOOKUP_ROWS_H_
#define TPULESS_TESTS_CC_LOOKUP_ROWS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "cc/engine/minibatch.h"

namespace tpuless {

using LookupRow = std::vector<std::pair<int64_t, float>>;
using LookupRows = std::vector<LookupRow>;

// Adds an input's lookups to the rows of its output.
inline void AddLookups(const InputLookups& input, LookupRows& rows) {
  for (int64_t row = 0; row < input.num_rows(); ++row) {
    const size_t at = static_cast<size_t>(input.output_row(row));
    if (rows.size() <= at) rows.resize(at + 1);
    for (int64_t k = input.row_splits[row]; k < input.row_splits[row + 1];
         ++k) {
      rows[at].emplace_back(input.ids[k],
                            input.gains.empty() ? 1.0f : input.gains[k]);
    }
  }
}

// Returns an input's lookups by the input's own rows.
inline LookupRows OwnRows(InputLookups input) {
  input.width = input.stride = input.num_rows();
  input.offset = 0;
  LookupRows rows;
  AddLookups(input, rows);
  return rows;
}

// Returns all lookups of an output.
inline LookupRows OutputRows(const Minibatch& minibatch, int64_t output) {
  LookupRows rows;
  for (const InputLookups& input : minibatch.inputs) {
    if (input.output == output) AddLookups(input, rows);
  }
  return rows;
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_LOOKUP_ROWS_H_
