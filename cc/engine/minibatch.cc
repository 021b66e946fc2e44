// SPDX-FileCopyrightText: The tpuless authors
// SPDX-License-Identifier: Apache-2.0
// Grouping of lookups by table row: a stable radix sort of their ids.
#include "cc/engine/minibatch.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <utility>

namespace tpuless {
namespace {

constexpr int kDigitBits = 11;
constexpr int kDigits = 1 << kDigitBits;

template <class Word>
struct Key {
  Word id;
  Word index;
};

// Sorts by id and keeps the order of equal ids: least significant digit
// first, one pass per 11 bits of the largest id.
template <class Word>
void StableSortById(std::vector<Key<Word>>& keys, Word largest_id) {
  std::vector<Key<Word>> sorted(keys.size());
  for (int shift = 0;
       shift < std::numeric_limits<Word>::digits && (largest_id >> shift) > 0;
       shift += kDigitBits) {
    std::array<size_t, kDigits> starts{};
    for (const Key<Word>& key : keys) {
      ++starts[(key.id >> shift) & (kDigits - 1)];
    }
    size_t start = 0;
    for (size_t& count : starts) {
      start += std::exchange(count, start);
    }
    for (const Key<Word>& key : keys) {
      sorted[starts[(key.id >> shift) & (kDigits - 1)]++] = key;
    }
    keys.swap(sorted);
  }
}

// Returns the inputs of a table; those that share an output are together.
std::vector<const InputLookups*> InputsOf(
    const std::vector<InputLookups>& inputs, int64_t table) {
  std::vector<const InputLookups*> of_table;
  for (const InputLookups& input : inputs) {
    if (input.table == table) of_table.push_back(&input);
  }
  return of_table;
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

template <class Word>
RowGroups Group(const std::vector<const InputLookups*>& inputs,
                size_t num_ids) {
  std::vector<Key<Word>> keys;
  std::vector<Contribution> contributions;
  keys.reserve(num_ids);
  contributions.reserve(num_ids);
  Word largest_id = 0;
  ForEachOutputRow(inputs, [&](const InputLookups& input, int64_t row) {
    const int64_t output_row = input.output_row(row);
    for (int64_t k = input.row_splits[row]; k < input.row_splits[row + 1];
         ++k) {
      const Word id = static_cast<Word>(input.ids[k]);
      largest_id = std::max(largest_id, id);
      keys.push_back({id, static_cast<Word>(contributions.size())});
      contributions.push_back({output_row, static_cast<int32_t>(input.output),
                               input.gains.empty() ? 1.0f : input.gains[k]});
    }
  });
  StableSortById(keys, largest_id);

  RowGroups groups;
  groups.contributions.reserve(num_ids);
  groups.row_ids.reserve(num_ids);
  groups.row_starts.reserve(num_ids + 1);
  for (size_t i = 0; i < num_ids; ++i) {
    if (i == 0 || keys[i].id != keys[i - 1].id) {
      groups.row_ids.push_back(static_cast<int64_t>(keys[i].id));
      groups.row_starts.push_back(static_cast<int64_t>(i));
    }
    groups.contributions.push_back(contributions[keys[i].index]);
  }
  groups.row_starts.push_back(static_cast<int64_t>(num_ids));
  return groups;
}

}  // namespace

RowGroups GroupByRow(const std::vector<InputLookups>& inputs, int64_t table,
                     int64_t vocabulary_size) {
  const std::vector<const InputLookups*> of_table = InputsOf(inputs, table);
  size_t num_ids = 0;
  for (const InputLookups* input : of_table) num_ids += input->ids.size();
  constexpr size_t kSmall = std::numeric_limits<uint32_t>::max();
  return static_cast<size_t>(vocabulary_size) <= kSmall && num_ids <= kSmall
             ? Group<uint32_t>(of_table, num_ids)
             : Group<uint64_t>(of_table, num_ids);
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
