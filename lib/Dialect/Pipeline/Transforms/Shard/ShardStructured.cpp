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
#include "stagewright/Analysis/Linkage.h"
#include "stagewright/Analysis/Rows.h"

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

constexpr const char *kWindows =
    "it reads windows, strided elements or a diagonal of the split dimension";

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
  return place >= 0 ? Layout::split(place, loop.outer, loop.unit) : Layout();
}

/// The layout in which the region of `op` can read `value`, defined outside, if
/// `loop` is split.
Layout layoutOfRead(linalg::LinalgOp op, Value value, const SplitLoop &loop) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Layout layout;
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    if (loopReading(op, value, dim) != loop.number)
      continue;
    if (layout.isSplit()) // A diagonal.
      return {};
    layout = Layout::split(dim, loop.outer, loop.unit);
  }
  return layout;
}

SetVector<Value> capturedBy(linalg::LinalgOp op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return captured;
}

/// Whether `operand` is an output that is not read.
bool isOnlyWritten(linalg::LinalgOp op, OpOperand &operand) {
  return op.isDpsInit(&operand) && !op.payloadUsesValueFromOperand(&operand);
}

/// Converts the indices of the split loop of a shard to those of the whole,
/// except in `readsOfParts`.
void moveIndices(linalg::LinalgOp op, const SplitLoop &loop, int64_t size,
                 int64_t ways, int64_t shard,
                 ArrayRef<Operation *> readsOfParts) {
  if (shard == 0 && loop.outer == 1)
    return; // They are equal.
  SmallVector<linalg::IndexOp> indices;
  op->walk([&](linalg::IndexOp index) {
    if (index.getDim() == loop.number &&
        index->getParentOfType<linalg::LinalgOp>() == op)
      indices.push_back(index);
  });
  int64_t chunk = size / loop.outer;
  ChunkParts parts{chunk, loop.unit, ways};
  int64_t part = parts.sizeOf(shard);
  for (linalg::IndexOp index : indices) {
    OpBuilder builder(index->getContext());
    builder.setInsertionPointAfter(index);
    Location loc = index.getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value number = index;
    llvm::SmallPtrSet<Operation *, 4> own(readsOfParts.begin(),
                                          readsOfParts.end());
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
    Value moved = keep(arith::AddIOp::create(builder, loc, number,
                                             constant(parts.start(shard))));
    index.getResult().replaceAllUsesExcept(moved, own);
  }
}

} // namespace

std::optional<SmallVector<Layout>> resultsOf(linalg::LinalgOp op,
                                             const SplitLoop &loop,
                                             int64_t ways, std::string *why) {
  auto fail = [&](const Twine &reason) {
    if (why)
      *why = reason.str();
    return std::nullopt;
  };
  int64_t range = op.getStaticLoopRanges()[loop.number];
  if (range % loop.outer != 0 ||
      !ChunkParts{range / loop.outer, loop.unit, ways}.fit())
    return fail(
        "its range, " + Twine(range) + ", does not have " + Twine(ways) +
        (loop.unit == 1 ? Twine(" elements")
                        : " units of " + Twine(loop.unit)) +
        (loop.outer == 1 ? Twine()
                         : " in each of " + Twine(loop.outer) + " chunks"));
  for (AffineMap map : op.getIndexingMapsArray())
    if (!placeOf(map, loop.number))
      return fail(kWindows);
  bool sums =
      op.getIteratorTypesArray()[loop.number] == utils::IteratorType::reduction;
  SmallVector<Layout> results;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    int64_t place = *placeOf(op.getMatchingIndexingMap(op.getDpsInitOperand(i)),
                             loop.number);
    bool adds = sums && isSumFromZero(op, i);
    if (sums ? place >= 0 || !(adds || isLargest(op, i)) : place < 0)
      return fail(sums ? "its reduction over the split dimension is neither a "
                         "sum from zero nor a max"
                       : "a result does not have the split dimension");
    results.push_back(adds   ? Layout{Layout::Partial}
                      : sums ? Layout{Layout::Largest}
                             : Layout::split(place, loop.outer, loop.unit));
  }
  return results;
}

bool Sharder::readsPart(linalg::LinalgOp op, Value value,
                        const SplitLoop &loop) {
  return layoutOf(value).isSplit() &&
         layoutOf(value) == layoutOfRead(op, value, loop);
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
        builder, at(op, shard), localType(type, layout, ways, shard).getShape(),
        type.getElementType()));
  }
  SmallVector<Type> types;
  for (auto [result, layout] : llvm::zip_equal(op->getResults(), results))
    types.push_back(localType(cast<RankedTensorType>(result.getType()), layout,
                              ways, shard));
  SmallVector<std::pair<Value, Value>> parts;
  for (Value value : capturedBy(op))
    if (readsPart(op, value, loop))
      parts.push_back({value, entryOf(value).copies[shard]});
  Operation *copied = copyWith(*op, operands, types, shard, parts);
  SmallVector<Operation *> readsOfParts;
  copied->walk([&](tensor::ExtractOp read) {
    if (llvm::is_contained(llvm::make_second_range(parts), read.getTensor()))
      readsOfParts.push_back(read);
  });
  moveIndices(cast<linalg::LinalgOp>(copied), loop,
              op.getStaticLoopRanges()[loop.number], ways, shard, readsOfParts);
  return copied;
}

/// The loop to split if `operand` is split as `layout` says.
static std::optional<SplitLoop> loopFor(linalg::LinalgOp op, OpOperand &operand,
                                        Layout layout, bool scattered) {
  auto loop = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(&operand).getResult(unsigned(layout.dim)));
  if (!loop)
    return std::nullopt;
  return SplitLoop{loop.getPosition(), layout.outer, layout.unit, scattered};
}

static bool worksOnParts(linalg::LinalgOp op) {
  return !op.hasDynamicShape() && op.hasPureTensorSemantics();
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

SmallVector<std::pair<Value, std::optional<SplitLoop>>>
Sharder::splitReads(linalg::LinalgOp op) {
  SmallVector<std::pair<Value, std::optional<SplitLoop>>> reads;
  for (OpOperand &operand : op->getOpOperands())
    if (Layout layout = layoutOf(operand.get());
        layout.isSplit() && op.payloadUsesValueFromOperand(&operand))
      reads.push_back(
          {operand.get(),
           loopFor(op, operand, layout, entryOf(operand.get()).scattered)});
  for (Value value : capturedBy(op)) {
    Layout layout = layoutOf(value);
    if (!layout.isSplit())
      continue;
    std::optional<SplitLoop> found;
    if (auto loop = loopReading(op, value, layout.dim))
      found =
          SplitLoop{*loop, layout.outer, layout.unit, entryOf(value).scattered};
    reads.push_back({value, found});
  }
  for (auto &[value, loop] : reads)
    if (loop)
      loop->samples = entryOf(value).samples;
  return reads;
}

std::string Sharder::whyWhole(Operation &op) {
  if (isShapeOp(op))
    return "it moves elements from one device's part to another's";
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured)
    return "it has no rule for parts";
  if (!worksOnParts(structured))
    return "its shape is not static";
  for (const auto &[value, loop] : splitReads(structured)) {
    bool isOperand = llvm::is_contained(op.getOperands(), value);
    std::string why = kWindows;
    if (!entryOf(value).scattered && (loop || isOperand) &&
        (!loop || !resultsOf(structured, *loop, ways, &why)))
      return why;
  }
  return "it reads elements at computed positions";
}

bool Sharder::copyStructured(linalg::LinalgOp op) {
  if (!worksOnParts(op))
    return false;
  auto reads = splitReads(op);
  bool goesOn = scatters && goesByRows(op);
  llvm::erase_if(reads, [&](const auto &read) {
    return !goesOn && entryOf(read.first).scattered;
  });
  // If only the samples of a batch are split, and the table along an indexed
  // dimension, copyLookup() looks up the whole batch in each part of the table,
  // and rows are sent. If each shard looked up its own samples, it would need
  // the whole table.
  Value table = lookedUpTable(op);
  if (llvm::any_of(reads,
                   [&](const auto &read) {
                     return read.first == table && !read.second;
                   }) &&
      llvm::all_of(reads, [](const auto &read) {
        return !read.second || read.second->samples;
      }))
    return false;
  // Splits of parameters come before those of batches: a step may have both
  // split(n) and replicate(n).
  llvm::stable_sort(reads, [&](const auto &a, const auto &b) {
    bool first = entryOf(a.first).samples, second = entryOf(b.first).samples;
    return first != second ? second : elementsOf(a.first) > elementsOf(b.first);
  });
  SmallVector<SplitLoop> candidates;
  for (const auto &[value, loop] : reads)
    if (loop)
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
  for (OpOperand *operand : op.getDpsInputOperands()) {
    Layout part = layoutOfOperand(op, *operand, *loop);
    if (canScatter(operand->get(), part) &&
        (!loop->scattered || scatteredLayout(operand->get()) == part))
      scatter(operand->get(), part);
  }

  SmallVector<Level> levels;
  for (OpOperand &operand : op->getOpOperands())
    if (!isOnlyWritten(op, operand))
      levels.push_back(
          levelOf(operand.get(), layoutOf(operand.get()) !=
                                     layoutOfOperand(op, operand, *loop)));
  for (Value value : capturedBy(op))
    levels.push_back(levelOf(value, !readsPart(op, value, *loop)));
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
    entry.samples = layout.isSplit() && loop->samples;
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
