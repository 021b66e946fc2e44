// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Grouping of lookups that stand in one list, as tests have them.
#ifndef TPULESS_TESTS_CC_ROW_GROUPS_H_
#define TPULESS_TESTS_CC_ROW_GROUPS_H_

#include <cstdint>
#include <vector>

#include "cc/engine/minibatch.h"

namespace tpuless {

// Returns the lookups of `table` by row.
inline RowGroups GroupsOf(const std::vector<InputLookups>& inputs,
                          int64_t table, int64_t vocabulary_size) {
  std::vector<const InputLookups*> of_table;
  for (const InputLookups& input : inputs) {
    if (input.table == table) of_table.push_back(&input);
  }
  Workspace workspace;
  RowGroups groups;
  GroupByRow(of_table, vocabulary_size, workspace, groups);
  return groups;
}

}  // namespace tpuless

#endif  // TPULESS_TESTS_CC_ROW_GROUPS_H_
