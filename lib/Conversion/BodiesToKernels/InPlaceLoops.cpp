//===- InPlaceLoops.cpp - loops that update a tensor in place -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InPlaceLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::bodies {

/// The only operation that writes a part of `carried`, or null.
static tensor::InsertSliceOp writerOf(BlockArgument carried) {
  tensor::InsertSliceOp writer;
  for (OpOperand &use : carried.getUses()) {
    auto insert = dyn_cast<tensor::InsertSliceOp>(use.getOwner());
    if (!insert || use.get() != insert.getDest())
      continue;
    if (writer)
      return {};
    writer = insert;
  }
  return writer;
}

static void readCarried(Value tensor, scf::ForOp loop, BlockArgument carried) {
  tensor::InsertSliceOp writer = writerOf(carried);
  if (!writer || writer->getBlock() != loop.getBody())
    return;
  SmallVector<tensor::ExtractSliceOp> reads;
  for (Value source : {tensor, Value(carried)})
    for (Operation *user : source.getUsers()) {
      if (!loop->isProperAncestor(user) || user == writer)
        continue;
      auto read = dyn_cast<tensor::ExtractSliceOp>(user);
      if (!read || read->getBlock() != loop.getBody() ||
          !isSamePart(read, writer))
        return; // It may read rows that another iteration wrote.
      reads.push_back(read);
    }
  if (reads.empty())
    return;
  // Merge the reads, so that an elementwise operation can work in place.
  auto *first = llvm::min_element(
      reads, [](auto a, auto b) { return a->isBeforeInBlock(b); });
  first->getSourceMutable().assign(carried);
  for (tensor::ExtractSliceOp read : reads)
    if (read != *first && read.getType() == first->getType()) {
      read.getResult().replaceAllUsesWith(first->getResult());
      read.erase();
    } else {
      read.getSourceMutable().assign(carried);
    }
}

void readWhatIsCarried(Value tensor) {
  SmallVector<std::pair<scf::ForOp, BlockArgument>> loops;
  for (OpOperand &use : tensor.getUses()) {
    auto loop = dyn_cast<scf::ForOp>(use.getOwner());
    if (loop && loop->hasAttr(kParallel))
      loops.push_back({loop, loop.getTiedLoopRegionIterArg(&use)});
  }
  for (auto [loop, carried] : loops)
    readCarried(tensor, loop, carried);
}

} // namespace stagewright::bodies
