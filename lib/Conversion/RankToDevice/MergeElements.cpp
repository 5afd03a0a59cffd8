//===- MergeElements.cpp - independent elementwise kernels ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeElements.h"
#include "MergeSums.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::device {
namespace {

/// Max elements of a result: larger operations gain little.
constexpr int64_t kMostElements = 1 << 20;
/// Max operands of a merged operation, and operations in its body: more take
/// too many registers.
constexpr size_t kMostOperands = 16;
constexpr size_t kLargestBody = 64;

bool isSmall(linalg::GenericOp op) {
  return op && bodies::isElementwise(op) && op.getNumLoops() > 0 &&
         bodies::pointsOf(op) <= kMostElements;
}

/// Whether `op` uses `value` as a buffer to write to.
bool writes(Operation *op, Value value) {
  if (auto styled = dyn_cast<DestinationStyleOpInterface>(op))
    return llvm::is_contained(styled.getDpsInits(), value);
  auto insert = dyn_cast<tensor::InsertSliceOp>(op);
  // A loop or a branch is assumed to write to every value that it uses.
  return op->getNumRegions() != 0 || (insert && insert.getDest() == value);
}

/// Whether something between `op` and `place` overwrites what `op` reads, so
/// that a copy would be needed if `op` were at `place`.
bool isOverwritten(linalg::GenericOp op, Operation *place) {
  Block *block = op->getBlock();
  return llvm::any_of(op->getOperands(), [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      Operation *top = block->findAncestorOpInBlock(*user);
      return top && op->isBeforeInBlock(top) && top->isBeforeInBlock(place) &&
             writes(top, value);
    });
  });
}

bool fit(linalg::GenericOp a, linalg::GenericOp b) {
  return a.getStaticLoopRanges() == b.getStaticLoopRanges() &&
         a->getNumOperands() + b->getNumOperands() <= kMostOperands &&
         a.getBody()->getOperations().size() +
                 b.getBody()->getOperations().size() <=
             kLargestBody;
}

} // namespace

void mergeElements(SetVector<Operation *> &singles) {
  SmallVector<linalg::GenericOp> open;
  for (Operation *op : SmallVector<Operation *>(singles.getArrayRef())) {
    auto next = dyn_cast<linalg::GenericOp>(op);
    if (!isSmall(next))
      continue;
    auto *with = llvm::find_if(open, [&](linalg::GenericOp before) {
      return fit(before, next) && !isOverwritten(before, next) &&
             !needs(next, before);
    });
    if (with == open.end()) {
      open.push_back(next);
      continue;
    }
    linalg::GenericOp made = mergeGenerics(*with, next);
    singles.remove(*with);
    singles.remove(next);
    singles.insert(made);
    with->erase();
    next.erase();
    *with = made;
  }
}

} // namespace stagewright::device
