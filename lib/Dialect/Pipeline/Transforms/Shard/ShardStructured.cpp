//===- ShardStructured.cpp - shard linalg operations ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sharder.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/RegionUtils.h"
#include "stagewright/Analysis/Rows.h"

using namespace mlir;

namespace stagewright::pipeline {

/// The operation that combines result `number` with each term of its reduction;
/// null if there is none, or several.
static Operation *combinerOf(linalg::LinalgOp op, unsigned number) {
  SmallVector<Operation *> combiners;
  bool found =
      bool(matchReduction(op.getRegionOutputArgs(), number, combiners));
  return found && combiners.size() == 1 ? combiners.front() : nullptr;
}

bool isSumFromZero(linalg::LinalgOp op, unsigned number) {
  return isa_and_present<arith::AddFOp, arith::AddIOp>(
             combinerOf(op, number)) &&
         isZero(op.getDpsInitOperand(number)->get());
}

namespace {

/// The position of `loop` among the results of `map`, -1 if no result uses it;
/// nothing if several do, or one as part of a larger expression.
std::optional<int64_t> placeOf(AffineMap map, unsigned loop) {
  int64_t place = -1;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (place >= 0 || !dim)
      return std::nullopt;
    place = int64_t(i);
  }
  return place;
}

/// Whether result `number` is a max, which can be taken over shards as well.
bool isLargest(linalg::LinalgOp op, unsigned number) {
  return isa_and_present<arith::MaximumFOp, arith::MaxSIOp>(
      combinerOf(op, number));
}

/// Whether the operation is row-wise: elementwise, or a reduction of an operand
/// that all loops index. A product of two matrices has no such operand.
bool goesByRows(linalg::LinalgOp op) {
  return op.getNumReductionLoops() == 0 ||
         llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
           return op.getMatchingIndexingMap(input).isProjectedPermutation() &&
                  op.getMatchingIndexingMap(input).getNumResults() ==
                      op.getNumLoops();
         });
}

/// The layout that an operand must have if `loop` is split.
Layout layoutOfOperand(linalg::LinalgOp op, OpOperand &operand,
                       const SplitLoop &loop) {
  if (!isa<RankedTensorType>(operand.get().getType()))
    return {};
  int64_t place = *placeOf(op.getMatchingIndexingMap(&operand), loop.number);
  return place >= 0 ? Layout::split(place, loop.outer) : Layout();
}

/// Whether `operand` is an output that is not read.
bool isOnlyWritten(linalg::LinalgOp op, OpOperand &operand) {
  return op.isDpsInit(&operand) && !op.payloadUsesValueFromOperand(&operand);
}

/// Converts the indices of the split loop of a shard to those of the whole.
void moveIndices(linalg::LinalgOp op, const SplitLoop &loop, int64_t size,
                 int64_t ways, int64_t shard) {
  if (shard == 0 && loop.outer == 1)
    return; // They are equal.
  SmallVector<linalg::IndexOp> indices;
  op->walk([&](linalg::IndexOp index) {
    if (index.getDim() == loop.number &&
        index->getParentOfType<linalg::LinalgOp>() == op)
      indices.push_back(index);
  });
  int64_t chunk = size / loop.outer, part = chunk / ways;
  for (linalg::IndexOp index : indices) {
    OpBuilder builder(index->getContext());
    builder.setInsertionPointAfter(index);
    Location loc = index.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value number = index;
    llvm::SmallPtrSet<Operation *, 4> own;
    auto keep = [&](Value value) {
      own.insert(value.getDefiningOp());
      return value;
    };
    if (loop.outer != 1) {
      // The start of the index's chunk, plus the index inside of it.
      Value chunks =
          keep(arith::DivUIOp::create(builder, loc, index, constant(part)));
      Value inside =
          keep(arith::RemUIOp::create(builder, loc, index, constant(part)));
      number = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, chunks, constant(chunk)), inside);
    }
    Value moved = keep(
        arith::AddIOp::create(builder, loc, number, constant(shard * part)));
    index.getResult().replaceAllUsesExcept(moved, own);
  }
}

} // namespace

std::optional<SmallVector<Layout>>
resultsOf(linalg::LinalgOp op, const SplitLoop &loop, int64_t ways) {
  if (op.getStaticLoopRanges()[loop.number] % (loop.outer * ways) != 0)
    return std::nullopt;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!placeOf(map, loop.number))
      return std::nullopt;
  bool sums =
      op.getIteratorTypesArray()[loop.number] == utils::IteratorType::reduction;
  SmallVector<Layout> results;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    int64_t place = *placeOf(op.getMatchingIndexingMap(op.getDpsInitOperand(i)),
                             loop.number);
    bool adds = sums && isSumFromZero(op, i);
    if (sums ? place >= 0 || !(adds || isLargest(op, i)) : place < 0)
      return std::nullopt;
    results.push_back(adds   ? Layout{Layout::Partial}
                      : sums ? Layout{Layout::Largest}
                             : Layout::split(place, loop.outer));
  }
  return results;
}

Operation *Sharder::copyPart(linalg::LinalgOp op, const SplitLoop &loop,
                             ArrayRef<Layout> results, int64_t shard) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands()) {
    Layout layout = layoutOfOperand(op, operand, loop);
    if (!isOnlyWritten(op, operand)) {
      operands.push_back(in(operand.get(), layout, shard));
      continue;
    }
    auto type = cast<RankedTensorType>(operand.get().getType());
    operands.push_back(tensor::EmptyOp::create(
        builder, at(op, shard), localType(type, layout, ways).getShape(),
        type.getElementType()));
  }
  SmallVector<Type> types;
  for (auto [result, layout] : llvm::zip_equal(op->getResults(), results))
    types.push_back(
        localType(cast<RankedTensorType>(result.getType()), layout, ways));
  Operation *copied = copyWith(*op, operands, types, shard);
  moveIndices(cast<linalg::LinalgOp>(copied), loop,
              op.getStaticLoopRanges()[loop.number], ways, shard);
  return copied;
}

/// The loop to split if `operand` is split as `layout` says.
static std::optional<SplitLoop> loopFor(linalg::LinalgOp op, OpOperand &operand,
                                        Layout layout, bool scattered) {
  auto loop = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(&operand).getResult(unsigned(layout.dim)));
  if (!loop)
    return std::nullopt;
  return SplitLoop{loop.getPosition(), layout.outer, scattered};
}

static bool worksOnParts(linalg::LinalgOp op) {
  return !op.hasDynamicShape() && op.hasPureTensorSemantics();
}

static int64_t elementsOf(OpOperand *operand) {
  return cast<RankedTensorType>(operand->get().getType()).getNumElements();
}

bool Sharder::copyStructured(linalg::LinalgOp op) {
  if (!worksOnParts(op))
    return false;
  SmallVector<OpOperand *> split;
  bool goesOn = scatters && goesByRows(op);
  for (OpOperand &operand : op->getOpOperands())
    if (layoutOf(operand.get()).isSplit() &&
        op.payloadUsesValueFromOperand(&operand) &&
        (goesOn || !entryOf(operand.get()).scattered))
      split.push_back(&operand);
  llvm::stable_sort(split, [](OpOperand *a, OpOperand *b) {
    return elementsOf(a) > elementsOf(b);
  });
  SmallVector<SplitLoop> candidates;
  for (OpOperand *operand : split)
    if (auto loop = loopFor(op, *operand, layoutOf(operand->get()),
                            entryOf(operand->get()).scattered))
      candidates.push_back(*loop);
  return copySplit(op, candidates);
}

bool Sharder::copyScattered(linalg::LinalgOp op) {
  if (!worksOnParts(op) || !scatters || !goesByRows(op))
    return false;
  SmallVector<SplitLoop> candidates;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (std::optional<Layout> layout = scatteredLayout(operand->get()))
      if (auto loop = loopFor(op, *operand, *layout, /*scattered=*/true))
        candidates.push_back(*loop);
  return copySplit(op, candidates);
}

bool Sharder::copySplit(linalg::LinalgOp op, ArrayRef<SplitLoop> candidates) {
  std::optional<SmallVector<Layout>> results;
  const SplitLoop *loop = nullptr;
  for (const SplitLoop &next : candidates)
    if (!loop && (results = resultsOf(op, next, ways)))
      loop = &next;
  if (!loop)
    return false;
  if (loop->scattered)
    for (OpOperand *operand : op.getDpsInputOperands())
      if (auto layout = scatteredLayout(operand->get());
          layout && *layout == layoutOfOperand(op, *operand, *loop))
        scatter(operand->get(), *layout);

  SmallVector<Level> levels;
  for (OpOperand &operand : op->getOpOperands())
    if (!isOnlyWritten(op, operand))
      levels.push_back(
          levelOf(operand.get(), layoutOf(operand.get()) !=
                                     layoutOfOperand(op, operand, *loop)));
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    levels.push_back(levelOf(value, /*isWhole=*/true));
  enter(*op, /*isSplit=*/!loop->scattered, levels);
  if (loop->scattered && !canJoinAt(here))
    return false;
  SmallVector<SmallVector<Value>> copies(op->getNumResults());
  for (int64_t shard = 0; shard < ways; ++shard) {
    Operation *copied = copyPart(op, *loop, *results, shard);
    for (auto [list, result] : llvm::zip(copies, copied->getResults()))
      list.push_back(result);
  }
  bool isProduct = !goesByRows(op);
  for (auto [old, list, layout] :
       llvm::zip_equal(op->getResults(), copies, *results)) {
    Entry &entry = set(old, layout, list);
    entry.scattered = layout.isSplit() && loop->scattered;
    entry.isProduct = isProduct;
  }
  return true;
}

Value Sharder::makePart(Value old, Layout layout, int64_t shard) {
  auto op = old.getDefiningOp<linalg::LinalgOp>();
  const StepOp *entry = entryIn(old);
  bool isFill = op && isa<linalg::FillOp>(op.getOperation());
  if (!op || op->getNumResults() != 1 || !worksOnParts(op) ||
      op.getNumReductionLoops() != 0 ||
      !(!graph || isFill || (entry && entry->free)))
    return {};
  auto loop =
      loopFor(op, *op.getDpsInitOperand(0), layout, /*scattered=*/false);
  auto results = loop ? resultsOf(op, *loop, ways) : std::nullopt;
  if (!results || results->front() != layout)
    return {};
  return copyPart(op, *loop, *results, shard)->getResult(0);
}

} // namespace stagewright::pipeline
