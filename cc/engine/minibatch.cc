// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Grouping of lookups by table row: a stable radix sort of their ids, or for
// small tables a counter a row.
#include "cc/engine/minibatch.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace tpuless {
namespace {

// Digits of a radix sort: counters of more would not stay in the first cache.
constexpr int kMostDigitBits = 12;
// Tables of so many rows have a counter a row, unless most would stay 0: what
// that saves is more than the first cache gives.
constexpr int64_t kMostCountedRows = 16384;
constexpr int64_t kMostCountersAnId = 4;
// So few keys are sorted sooner than that many counters are cleared.
constexpr size_t kFewKeys = 256;

SortRoom<uint32_t>& RoomOf(Workspace& workspace, uint32_t) {
  return workspace.narrow;
}
SortRoom<uint64_t>& RoomOf(Workspace& workspace, uint64_t) {
  return workspace.wide;
}

// Sorts by id, which has `num_bits`, and among equal ids by payload. Their
// payloads must rise, as a radix sort keeps the order of equal keys.
template <class Word>
void Sort(int num_bits, SortRoom<Word>& room) {
  std::vector<SortKey<Word>>& keys = room.keys;
  if (keys.size() <= kFewKeys) {
    std::sort(keys.begin(), keys.end(),
              [](const SortKey<Word>& a, const SortKey<Word>& b) {
                return std::tie(a.id, a.payload) < std::tie(b.id, b.payload);
              });
    return;
  }
  room.sorted.resize(keys.size());
  const int num_passes = (num_bits + kMostDigitBits - 1) / kMostDigitBits;
  const int digit_bits = (num_bits + num_passes - 1) / num_passes;
  const Word mask = (Word{1} << digit_bits) - 1;
  for (int pass = 0; pass < num_passes; ++pass) {
    const int shift = pass * digit_bits;
    room.starts.assign(size_t{1} << digit_bits, 0);
    for (const SortKey<Word>& key : keys) {
      ++room.starts[(key.id >> shift) & mask];
    }
    Word start = 0;
    for (Word& count : room.starts) start += std::exchange(count, start);
    for (const SortKey<Word>& key : keys) {
      room.sorted[room.starts[(key.id >> shift) & mask]++] = key;
    }
    keys.swap(room.sorted);
  }
}

// Calls visit(input, row) for all rows, by output and then by output row.
template <class Visit>
void ForEachOutputRow(const std::vector<const InputLookups*>& inputs,
                      const Visit& visit) {
  for (size_t begin = 0, end; begin < inputs.size(); begin = end) {
    end = begin;
    while (end < inputs.size() &&
           inputs[end]->output == inputs[begin]->output) {
      ++end;
    }
    const int64_t num_samples =
        inputs[begin]->num_rows() / inputs[begin]->width;
    for (int64_t sample = 0; sample < num_samples; ++sample) {
      for (size_t i = begin; i < end; ++i) {
        const int64_t width = inputs[i]->width;
        for (int64_t slot = 0; slot < width; ++slot) {
          visit(*inputs[i], sample * width + slot);
        }
      }
    }
  }
}

// Calls visit(id, contribution) for all ids, in the order of their output rows.
template <class Visit>
void ForEachContribution(const std::vector<const InputLookups*>& inputs,
                         const Visit& visit) {
  ForEachOutputRow(inputs, [&](const InputLookups& input, int64_t row) {
    Contribution contribution = {input.output_row(row),
                                 static_cast<int32_t>(input.output), 1.0f};
    for (int64_t k = input.row_splits[row]; k < input.row_splits[row + 1];
         ++k) {
      if (!input.gains.empty()) contribution.gain = input.gains[k];
      visit(input.ids[k], contribution);
    }
  });
}

// Writes the groups of sorted keys, whose payloads contribution() knows.
template <class Word, class ContributionOf>
void CutIntoGroups(const std::vector<SortKey<Word>>& keys,
                   const ContributionOf& contribution, RowGroups& groups) {
  const size_t num_ids = keys.size();
  size_t num_rows = num_ids > 0;
  for (size_t i = 1; i < num_ids; ++i) {
    num_rows += keys[i].id != keys[i - 1].id;
  }
  groups.contributions.resize(num_ids);
  groups.row_ids.resize(num_rows);
  groups.row_starts.resize(num_rows + 1);
  size_t row = 0;
  for (size_t i = 0; i < num_ids; ++i) {
    groups.contributions[i] = contribution(keys[i].payload);
    // Written for every id; the row's last one stays.
    groups.row_ids[row] = static_cast<int64_t>(keys[i].id);
    groups.row_starts[row + 1] = static_cast<int64_t>(i + 1);
    row += i + 1 < num_ids && keys[i + 1].id != keys[i].id;
  }
  groups.row_starts[0] = 0;
}

// Of a single input with gains of 1, a key carries all that there is to know.
template <class Word>
void GroupUnweighted(const InputLookups& input, int num_bits,
                     SortRoom<Word>& room, RowGroups& groups) {
  room.keys.resize(input.ids.size());
  for (int64_t row = 0; row < input.num_rows(); ++row) {
    const Word output_row = static_cast<Word>(input.output_row(row));
    for (int64_t k = input.row_splits[row]; k < input.row_splits[row + 1];
         ++k) {
      room.keys[k] = {static_cast<Word>(input.ids[k]), output_row};
    }
  }
  Sort(num_bits, room);
  const int32_t tensor = static_cast<int32_t>(input.output);
  CutIntoGroups(
      room.keys,
      [tensor](Word output_row) {
        return Contribution{static_cast<int64_t>(output_row), tensor, 1.0f};
      },
      groups);
}

template <class Word>
void GroupAny(const std::vector<const InputLookups*>& inputs, size_t num_ids,
              int num_bits, SortRoom<Word>& room,
              std::vector<Contribution>& contributions, RowGroups& groups) {
  room.keys.clear();
  room.keys.reserve(num_ids);
  contributions.clear();
  contributions.reserve(num_ids);
  ForEachContribution(inputs, [&](int64_t id, const Contribution& each) {
    room.keys.push_back(
        {static_cast<Word>(id), static_cast<Word>(contributions.size())});
    contributions.push_back(each);
  });
  Sort(num_bits, room);
  CutIntoGroups(room.keys, [&](Word i) { return contributions[i]; }, groups);
}

// Counts the ids of each row, and then puts each contribution in its place.
void GroupByCounting(const std::vector<const InputLookups*>& inputs,
                     size_t num_ids, int64_t vocabulary_size,
                     std::vector<uint32_t>& ends, RowGroups& groups) {
  ends.assign(vocabulary_size, 0);
  for (const InputLookups* input : inputs) {
    for (const int64_t id : input->ids) ++ends[id];
  }
  const size_t most_rows = std::min<size_t>(num_ids, vocabulary_size);
  groups.row_ids.resize(most_rows + 1);
  groups.row_starts.resize(most_rows + 1);
  size_t num_rows = 0;
  uint32_t start = 0;
  for (int64_t row = 0; row < vocabulary_size; ++row) {
    // Written for every row; the next one overwrites it, if none is looked up.
    groups.row_ids[num_rows] = row;
    groups.row_starts[num_rows] = start;
    num_rows += ends[row] != 0;
    start += std::exchange(ends[row], start);
  }
  groups.row_ids.resize(num_rows);
  groups.row_starts.resize(num_rows + 1);
  groups.row_starts[num_rows] = start;
  groups.contributions.resize(num_ids);
  ForEachContribution(inputs, [&](int64_t id, const Contribution& each) {
    groups.contributions[ends[id]++] = each;
  });
}

template <class Word>
void Group(const std::vector<const InputLookups*>& inputs, size_t num_ids,
           int64_t vocabulary_size, Workspace& workspace, RowGroups& groups) {
  int num_bits = 1;
  while ((vocabulary_size - 1) >> num_bits > 0) ++num_bits;
  SortRoom<Word>& room = RoomOf(workspace, Word());
  if (inputs.size() == 1 && inputs[0]->gains.empty()) {
    GroupUnweighted(*inputs[0], num_bits, room, groups);
  } else {
    GroupAny(inputs, num_ids, num_bits, room, workspace.contributions, groups);
  }
}

}  // namespace

void GroupByRow(const std::vector<const InputLookups*>& inputs,
                int64_t vocabulary_size, Workspace& workspace,
                RowGroups& groups) {
  constexpr int64_t kSmall = std::numeric_limits<uint32_t>::max();
  int64_t num_ids = 0;
  bool small = vocabulary_size <= kSmall;
  for (const InputLookups* input : inputs) {
    num_ids += static_cast<int64_t>(input->ids.size());
    // Payloads are numbers of ids or rows of outputs.
    small = small && num_ids <= kSmall &&
            input->num_rows() / input->width * input->stride <= kSmall;
  }
  if (small && vocabulary_size <= kMostCountedRows &&
      vocabulary_size <= num_ids * kMostCountersAnId) {
    GroupByCounting(inputs, num_ids, vocabulary_size, workspace.narrow.starts,
                    groups);
  } else if (small) {
    Group<uint32_t>(inputs, num_ids, vocabulary_size, workspace, groups);
  } else {
    Group<uint64_t>(inputs, num_ids, vocabulary_size, workspace, groups);
  }
}

RowGroups MergeGroups(const std::vector<const RowGroups*>& cores,
                      int64_t num_outputs) {
  // (row, core), smallest row first, then smallest core.
  using Next = std::pair<int64_t, size_t>;
  std::priority_queue<Next, std::vector<Next>, std::greater<Next>> next;
  std::vector<int64_t> position(cores.size(), 0);
  const auto push = [&](size_t core) {
    if (position[core] < cores[core]->num_rows()) {
      next.emplace(cores[core]->row_ids[position[core]], core);
    }
  };
  for (size_t core = 0; core < cores.size(); ++core) push(core);

  RowGroups merged;
  while (!next.empty()) {
    const auto [row, core] = next.top();
    next.pop();
    if (merged.row_ids.empty() || merged.row_ids.back() != row) {
      merged.row_ids.push_back(row);
      merged.row_starts.push_back(
          static_cast<int64_t>(merged.contributions.size()));
    }
    const RowGroups& groups = *cores[core];
    const int64_t i = position[core]++;
    for (int64_t c = groups.row_starts[i]; c < groups.row_starts[i + 1]; ++c) {
      Contribution contribution = groups.contributions[c];
      contribution.tensor += static_cast<int32_t>(core * num_outputs);
      merged.contributions.push_back(contribution);
    }
    push(core);
  }
  merged.row_starts.push_back(
      static_cast<int64_t>(merged.contributions.size()));
  return merged;
}

}  // namespace tpuless
