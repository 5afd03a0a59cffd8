//===- Fetches.h - bytes of fetched rows and of padding ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fetch is a list of rows of a table, with a fixed length: a batch argument
// of integers, in which negative numbers are padding. The message with the
// rows has a place for each number, padding included. This counts how many
// bytes of the rows are padding, and how many are rows that the list has
// already.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_FETCHES_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_FETCHES_H

#include "stagewright/Runtime/Training.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace stagewright::runtime {

class Fetches {
public:
  Fetches() = default;
  /// `lists`: LIST=TABLE, the names of two arguments; `fed`: the positions of
  /// arguments that batches set. Throws an `Error` if a list is not one of
  /// these, or does not fit the step.
  Fetches(const std::vector<std::string> &lists, const nlohmann::json &manifest,
          const std::set<int64_t> &fed);

  bool any() const { return !all.empty(); }
  /// Counts the batch of one step: `values` has the microbatches of the
  /// argument at `position`. The counts of an earlier step are forgotten.
  void count(int64_t position, std::span<const std::byte> values,
             int64_t microbatches);
  /// The bytes of the last step, an object for each list.
  std::vector<FetchedBytes> bytes() const;

private:
  struct List {
    std::string list, table;
    int64_t position = 0, rowBytes = 0;
    bool wide = false; ///< 64-bit numbers
    int64_t rows = 0, padding = 0, repeated = 0;
  };
  std::vector<List> all;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_FETCHES_H
