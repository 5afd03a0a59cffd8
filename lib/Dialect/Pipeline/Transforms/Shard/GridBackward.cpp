//===- GridBackward.cpp - segments of the backward over a grid ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GridSegments.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace stagewright::pipeline {

void Segmenter::findBackward() {
  for (unsigned number = 0; number < grid.size(); ++number)
    if (grid.isForward(number))
      grid.forParameters(number, [&](Value parameter) {
        readers[parameter].insert(segments[number]);
      });
  findLowest();
  isFactor.assign(grid.size(), false);
  for (unsigned number = 0; number < grid.size(); ++number)
    if (grid.isBackward(number))
      raise(number);
  followUsers();
}

void Segmenter::findLowest() {
  for (unsigned number = unsigned(grid.size()); number-- > 0;) {
    if (!grid.isBackward(number))
      continue;
    int64_t &own = segments[number];
    grid.forReads(number, [&](unsigned read) {
      if (grid.isForward(read))
        own = std::max(own, segments[read]);
    });
    for (unsigned user : grid.graph.ops[number].users)
      if (grid.isBackward(user))
        own = std::max(own, segments[user]);
  }
}

void Segmenter::raise(unsigned number) {
  const StepOp &entry = grid.graph.ops[number];
  std::optional<int64_t> highest;
  bool onlyFactors = true;
  grid.forReads(number, [&](unsigned read) {
    if (!grid.isBackward(read) || isFactor[read])
      return;
    onlyFactors = false;
    highest = std::min(highest.value_or(segments[read]), segments[read]);
  });
  isFactor[number] = onlyFactors && entry.work.isCheap();
  if (isFactor[number])
    return;
  int64_t found = -1;
  auto see = [&](int64_t segment) {
    if (!highest || segment <= *highest)
      found = std::max(found, segment);
  };
  grid.forReads(number, [&](unsigned read) {
    if (!grid.isForward(read))
      return;
    see(segments[read]);
    for (unsigned user : grid.graph.ops[read].users)
      if (grid.isForward(user))
        see(segments[user]);
  });
  grid.forParameters(number, [&](Value parameter) {
    for (int64_t segment : readers[parameter])
      see(segment);
  });
  if (found < 0 && highest && !isa<tensor::InsertSliceOp>(entry.op))
    found = *highest;
  segments[number] = std::max(segments[number], found);
}

void Segmenter::followUsers() {
  for (unsigned number = unsigned(grid.size()); number-- > 0;)
    if (grid.isBackward(number) && isFactor[number])
      for (unsigned user : grid.graph.ops[number].users)
        if (grid.isBackward(user))
          segments[number] = std::max(segments[number], segments[user]);
}

} // namespace stagewright::pipeline
