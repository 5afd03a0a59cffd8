//===- SplitSums.cpp - sums over many rows, in two kernels ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SplitSums.h"
#include "RowLoops.h"
#include "RowTeams.h"
#include "ThreadWriter.h"
#include "stagewright/Conversion/BodiesToKernels/Passes.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

/// Terms that a thread sums: min if the sum is split (`ofPart`), and max if it
/// is not (`ofWhole`). A split costs a second kernel, which takes as long as
/// some terms.
struct Terms {
  int64_t ofPart, ofWhole;
};
constexpr Terms kOfColumn = {8, 64};
/// A sum with one result has only one block if it is not split.
constexpr Terms kOfOneResult = {2, 8};

static bool isSum(utils::IteratorType type) {
  return type == utils::IteratorType::reduction;
}

bool fillsInitOf(Operation *op, linalg::LinalgOp sum) {
  auto fill = dyn_cast<linalg::FillOp>(op);
  return fill && llvm::is_contained(sum.getDpsInits(), fill.getOutputs()[0]);
}

int64_t partsOf(ArrayRef<Operation *> group) {
  if (std::optional<RowTeams> teams = dealSummedRows(group))
    return teams->blocks;
  auto op = dyn_cast<linalg::GenericOp>(group.back());
  bool fills = llvm::all_of(group.drop_back(), [](Operation *other) {
    return isa<linalg::FillOp>(other);
  });
  if (!op || !fills || bodies::isConvolution(op))
    return 1;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (failed(matchCombiner(op, i)))
      return 1;
  SmallVector<utils::IteratorType> types = op.getIteratorTypesArray();
  int64_t terms = 1, results = 1;
  for (auto [range, type] : llvm::zip_equal(op.getStaticLoopRanges(), types))
    (isSum(type) ? terms : results) *= range;
  // A sum over the innermost loop has a team for each result: no split.
  bool rows = isSum(types.back());
  if (rows && results > 1)
    return 1;
  int64_t threads = rows ? kSumThreads : kSumThreads / kWarp;
  int64_t blocks = rows ? 1 : llvm::divideCeil(results, kWarp);
  Terms most = rows ? kOfOneResult : kOfColumn;
  if (terms <= most.ofWhole * threads)
    return 1;
  return std::max<int64_t>(
      std::min(terms / (most.ofPart * threads), kBusyBlocks / blocks), 1);
}

SplitSum splitSum(ArrayRef<Operation *> group, int64_t parts) {
  auto op = cast<linalg::GenericOp>(group.back());
  Location loc = op.getLoc();
  OpBuilder builder(op);
  SplitSum split;
  FailureOr<RowLoops> loops = RowLoops::get(op);
  // The partial sums: dimension 0 is the part, the others are results.
  SmallVector<int64_t> shape = {parts};
  SmallVector<AffineExpr> places = {builder.getAffineDimExpr(0)};
  SmallVector<AffineExpr> renamed(op.getNumLoops(),
                                  builder.getAffineConstantExpr(0));
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray()))
    if (!isSum(iterator)) {
      renamed[loop] = builder.getAffineDimExpr(unsigned(shape.size()));
      places.push_back(renamed[loop]);
      shape.push_back(op.getStaticLoopRanges()[loop]);
    }
  unsigned dims = unsigned(shape.size());
  MLIRContext *context = op.getContext();
  unsigned count = op.getNumDpsInits();
  SmallVector<AffineMap> maps(count, AffineMap::get(dims, 0, places, context));
  SmallVector<utils::IteratorType> iterators(dims,
                                             utils::IteratorType::parallel);
  iterators[0] = utils::IteratorType::reduction;
  auto first = cast<linalg::GenericOp>(builder.clone(*op));
  if (failed(loops) || !loops->sumsRows)
    first->removeAttr(kRows);
  first->setAttr(kParts, builder.getI64IntegerAttr(parts));
  for (OpOperand &init : op.getDpsInitsMutable()) {
    auto type = cast<MemRefType>(init.get().getType());
    builder.setInsertionPoint(group.size() > 1 ? group.front() : first);
    auto alloc = [&](ArrayRef<int64_t> of) {
      return memref::AllocOp::create(
          builder, loc, MemRefType::get(of, type.getElementType()));
    };
    split.partial.push_back(alloc(shape));
    split.forms.push_back(alloc(type.getShape()));
    first->setOperand(init.getOperandNumber(),
                      split.forms.back()->getResult(0));
    maps.push_back(op.getMatchingIndexingMap(&init).replaceDimsAndSymbols(
        renamed, {}, dims, 0));
  }
  builder.setInsertionPoint(op);
  auto second = linalg::GenericOp::create(
      builder, loc, TypeRange(), split.partial, op.getDpsInits(), maps,
      iterators, [&](OpBuilder &b, Location l, ValueRange arguments) {
        SmallVector<Value> sums;
        for (unsigned i = 0; i < count; ++i)
          sums.push_back(matchCombiner(op, i)->combine(b, arguments[count + i],
                                                       arguments[i]));
        linalg::YieldOp::create(b, l, sums);
      });
  if (dims == 1)
    second->setAttr(kRows, builder.getDenseI64ArrayAttr({}));
  // Fills of the original sums go to the second kernel, the rest to the first.
  for (Operation *other : group.drop_back()) {
    if (!fillsInitOf(other, op)) {
      split.parts.push_back(other);
      continue;
    }
    other->moveBefore(second);
    split.whole.push_back(other);
  }
  split.parts.push_back(first);
  split.whole.push_back(second);
  op.erase();
  return split;
}

} // namespace stagewright::device
