//===- WriteRowLoop.cpp - a group of operations as one loop over rows -----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One iteration computes one block of rows. If a member sums over all rows,
// each block writes its sum to an array over blocks, and an operation after the
// loop adds them up, so the order of summation does not depend on which thread
// runs which iteration. In a nested group a sum is carried from block to block
// within one iteration of the outer loop.
//
//===----------------------------------------------------------------------===//

#include "RowBlocks.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "stagewright/Conversion/RankToHost/Passes.h"

namespace stagewright::host {
namespace {

/// A value that is read after the loop, or a sum over rows.
struct Result {
  OpResult value;
  const RowMember *member;
  Value carried; ///< current value in the loop

  linalg::LinalgOp op() const { return member->op; }
  RankedTensorType type() const {
    return cast<RankedTensorType>(value.getType());
  }
  AffineMap map() const { return op().getIndexingMapMatchingResult(value); }
  Value init() const { return op().getDpsInits()[value.getResultNumber()]; }
};

/// Whether `init` is undefined or filled, so that it need not be read.
bool isOverwritten(Value init) {
  return init.getDefiningOp<tensor::EmptyOp>() ||
         init.getDefiningOp<linalg::FillOp>();
}

class RowLoop {
public:
  RowLoop(const RowGroup &group, BlockLimits limits, RewriterBase &rewriter)
      : group(group), blocks(group, limits), rewriter(rewriter) {
    for (const RowMember &member : group.members)
      members.insert(member.op);
    for (const RowMember &member : group.members) {
      for (Value value : member.op->getOperands())
        lastReader[value] = member.op;
      for (tensor::ExtractOp gather : bodies::gathersOf(member.op))
        lastReader[gather.getTensor()] = {};
    }
  }

  void write() {
    linalg::LinalgOp first = group.members.front().op;
    Location loc = first.getLoc();
    rewriter.setInsertionPoint(first);
    collectResults();
    SmallVector<Value> inits;
    for (Result &result : results)
      inits.push_back(destinationOf(result));
    scf::ForOp loop = openLoop(loc, blocks.numOuter(), inits);
    loop->setAttr(bodies::kParallel, rewriter.getUnitAttr());
    blocks.enter(rewriter, loc, loop.getInductionVar());
    if (group.isNested())
      writeInnerLoop(loc);
    else
      for (const RowMember &member : group.members)
        writeMember(member, loop.getInductionVar());
    closeLoop(loc, loop);
    for (auto [result, tensor] : llvm::zip_equal(results, loop.getResults()))
      rewriter.replaceAllUsesWith(result.value, sumsBlocks(*result.member)
                                                    ? addBlocks(result, tensor)
                                                    : tensor);
    for (const RowMember &member : llvm::reverse(group.members))
      rewriter.eraseOp(member.op);
  }

private:
  /// Whether each block writes its own sum, to be added up after the loop.
  bool sumsBlocks(const RowMember &member) const {
    return member.sums && !group.isNested();
  }

  bool isInside(Value value) const {
    return members.contains(value.getDefiningOp());
  }

  void collectResults() {
    for (const RowMember &member : group.members)
      for (OpResult value : member.op->getResults()) {
        bool leaves = llvm::any_of(value.getUsers(), [&](Operation *user) {
          while (user->getBlock() != member.op->getBlock())
            user = user->getParentOp();
          return !members.contains(user);
        });
        if (leaves || member.sums)
          results.push_back({value, &member, {}});
      }
  }

  Result *resultOf(OpResult value) {
    auto *found = llvm::find_if(
        results, [&](const Result &result) { return result.value == value; });
    return found == results.end() ? nullptr : found;
  }

  /// The initial tensor of the loop for `result`.
  Value destinationOf(const Result &result) {
    SmallVector<int64_t> shape(result.type().getShape());
    if (sumsBlocks(*result.member))
      shape.insert(shape.begin(), blocks.numOuter());
    else if (!isOverwritten(result.init()) && !isInside(result.init()))
      return result.init();
    return tensor::EmptyOp::create(rewriter, result.value.getLoc(), shape,
                                   result.type().getElementType());
  }

  scf::ForOp openLoop(Location loc, int64_t count, ValueRange inits) {
    auto constant = [&](int64_t number) {
      return arith::ConstantIndexOp::create(rewriter, loc, number);
    };
    auto loop = scf::ForOp::create(
        rewriter, loc, constant(0), constant(count), constant(1), inits,
        [](OpBuilder &, Location, Value, ValueRange) {});
    rewriter.setInsertionPointToStart(loop.getBody());
    for (auto [result, tensor] :
         llvm::zip_equal(results, loop.getRegionIterArgs()))
      result.carried = tensor;
    return loop;
  }

  void closeLoop(Location loc, scf::ForOp loop) {
    auto carried = llvm::map_to_vector(
        results, [](const Result &result) { return result.carried; });
    scf::YieldOp::create(rewriter, loc, carried);
    rewriter.setInsertionPointAfter(loop);
  }

  /// Writes the loop over blocks of the last row loop. It carries each sum as a
  /// slice, that of the rows of this outer iteration.
  void writeInnerLoop(Location loc) {
    SmallVector<Value> outer, inits;
    for (Result &result : results) {
      outer.push_back(result.carried);
      inits.push_back(result.member->sums ? sumSoFar(result) : result.carried);
    }
    scf::ForOp loop = openLoop(loc, blocks.numInner(), inits);
    blocks.enterInner(rewriter, loc, loop.getInductionVar());
    for (const RowMember &member : group.members)
      writeMember(member, {});
    closeLoop(loc, loop);
    for (auto [result, before, after] :
         llvm::zip_equal(results, outer, loop.getResults())) {
      result.carried = after;
      if (!result.member->sums)
        continue;
      TensorPart part =
          blocks.partOf(result.type(), result.map(), *result.member);
      result.carried = tensor::InsertSliceOp::create(
          rewriter, loc, after, before, part.offsets, part.sizes, part.strides);
    }
  }

  Value sumSoFar(const Result &result) {
    Location loc = result.value.getLoc();
    Value sum =
        slice(loc, result.carried,
              blocks.partOf(result.type(), result.map(), *result.member));
    return refill(loc, result.init(), sum);
  }

  Value slice(Location loc, Value tensor, const TensorPart &part) {
    return tensor::ExtractSliceOp::create(rewriter, loc, tensor, part.offsets,
                                          part.sizes, part.strides);
  }

  /// `tensor` filled with the same value as `init`, if that is filled.
  Value refill(Location loc, Value init, Value tensor) {
    auto fill = init.getDefiningOp<linalg::FillOp>();
    if (!fill)
      return tensor;
    return linalg::FillOp::create(rewriter, loc, fill.getInputs()[0], tensor)
        .getResult(0);
  }

  Value tileOf(Value value, AffineMap map, const RowMember &member) {
    if (Value tile = tiles.lookup(value))
      return tile;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return value;
    TensorPart part = blocks.partOf(type, map, member);
    return part.whole ? value : slice(member.op->getLoc(), value, part);
  }

  void writeMember(const RowMember &member, Value block) {
    linalg::LinalgOp op = member.op;
    SmallVector<Value> operands;
    for (OpOperand *input : op.getDpsInputOperands())
      operands.push_back(
          tileOf(input->get(), op.getMatchingIndexingMap(input), member));
    SmallVector<Type> types;
    for (auto [i, init] : llvm::enumerate(op.getDpsInitsMutable())) {
      operands.push_back(
          writeInit(member, init, resultOf(op->getResult(i)), block));
      types.push_back(operands.back().getType());
    }
    auto tiled =
        cast<linalg::LinalgOp>(mlir::clone(rewriter, op, types, operands));
    readTiles(member, tiled);
    for (OpResult value : op->getResults()) {
      Value tile = tiled->getResult(value.getResultNumber());
      if (!member.sums)
        tiles[value] = tile;
      Result *result = resultOf(value);
      if (!result)
        continue;
      if (member.sums && group.isNested()) {
        result->carried = tile;
        continue;
      }
      TensorPart part =
          member.sums ? placeOfSum(result->type(), block)
                      : blocks.partOf(result->type(), result->map(), member);
      result->carried = tensor::InsertSliceOp::create(
          rewriter, op.getLoc(), tile, result->carried, part.offsets,
          part.sizes, part.strides);
    }
  }

  /// The slice for the sum of one block in the array over blocks.
  TensorPart placeOfSum(RankedTensorType type, Value block) {
    TensorPart part;
    part.add(block, rewriter.getIndexAttr(1));
    for (int64_t extent : type.getShape())
      part.add(rewriter.getIndexAttr(0), rewriter.getIndexAttr(extent));
    return part;
  }

  Value writeInit(const RowMember &member, OpOperand &operand, Result *result,
                  Value block) {
    linalg::LinalgOp op = member.op;
    Location loc = op.getLoc();
    Value init = operand.get();
    auto type = cast<RankedTensorType>(init.getType());
    if (member.sums) {
      if (group.isNested())
        return result->carried;
      TensorPart part = placeOfSum(type, block);
      Value sum = tensor::ExtractSliceOp::create(rewriter, loc, type,
                                                 result->carried, part.offsets,
                                                 part.sizes, part.strides);
      Value zero = arith::ConstantOp::create(
          rewriter, loc, rewriter.getZeroAttr(type.getElementType()));
      return linalg::FillOp::create(rewriter, loc, zero, sum).getResult(0);
    }
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!isOverwritten(init))
      return tileOf(result && !isInside(init) ? result->carried : init, map,
                    member);
    if (result)
      return refill(
          loc, init,
          slice(loc, result->carried, blocks.partOf(type, map, member)));
    if (Value dead = findDeadTile(member, operand))
      return dead;
    Value tile = tensor::EmptyOp::create(rewriter, loc,
                                         blocks.partOf(type, map, member).sizes,
                                         type.getElementType());
    return refill(loc, init, tile);
  }

  /// An input tile that nothing reads later, in which this elementwise
  /// operation can write its result: blocks of scores fill the cache.
  Value findDeadTile(const RowMember &member, OpOperand &operand) {
    linalg::LinalgOp op = member.op;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!group.hasContraction() || op.getNumReductionLoops() != 0 ||
        op->getNumResults() != 1 || !map.isIdentity() ||
        !op.getMatchingBlockArgument(&operand).use_empty())
      return {};
    for (OpOperand *input : op.getDpsInputOperands()) {
      Value value = input->get();
      Value tile = tiles.lookup(value);
      if (tile && value.getType() == operand.get().getType() &&
          op.getMatchingIndexingMap(input) == map &&
          lastReader.lookup(value) == op.getOperation() &&
          !resultOf(cast<OpResult>(value)))
        return tile;
    }
    return {};
  }

  /// Adds the first index of the block to indices in the body, except those
  /// into tiles of the block, which start at 0.
  void readTiles(const RowMember &member, linalg::LinalgOp tiled) {
    SmallVector<OpFoldResult> begins(tiled.getNumLoops());
    for (auto [loop, offset] : llvm::zip_equal(member.loops, blocks.begins()))
      begins[loop] = offset;
    SmallVector<std::pair<OpOperand *, uint64_t>> local;
    for (tensor::ExtractOp gather : bodies::gathersOf(tiled)) {
      Value tile = tiles.lookup(gather.getTensor());
      if (!tile)
        continue;
      gather.getTensorMutable().assign(tile);
      for (OpOperand &index : gather.getIndicesMutable())
        if (auto loop = index.get().getDefiningOp<linalg::IndexOp>())
          if (llvm::is_contained(member.loops, loop.getDim()))
            local.push_back({&index, loop.getDim()});
    }
    OpBuilder::InsertionGuard guard(rewriter);
    linalg::offsetIndices(rewriter, tiled, begins);
    for (auto [index, loop] : local) {
      rewriter.setInsertionPoint(index->getOwner());
      index->set(
          linalg::IndexOp::create(rewriter, tiled.getLoc(), loop).getResult());
    }
  }

  /// Adds the sums of all blocks to the initial value.
  Value addBlocks(const Result &result, Value sums) {
    Operation *add = *result.op().getRegionOutputArgs()[0].user_begin();
    unsigned rank = result.type().getRank();
    SmallVector<utils::IteratorType> iterators(rank + 1,
                                               utils::IteratorType::parallel);
    iterators[0] = utils::IteratorType::reduction;
    AffineMap all = rewriter.getMultiDimIdentityMap(rank + 1);
    auto total = linalg::GenericOp::create(
        rewriter, result.value.getLoc(), TypeRange{result.type()},
        ValueRange{sums}, ValueRange{result.init()},
        ArrayRef<AffineMap>{all, all.dropResult(0)}, iterators,
        [&](OpBuilder &b, Location l, ValueRange args) {
          IRMapping mapping;
          mapping.map(add->getOperand(0), args[1]);
          mapping.map(add->getOperand(1), args[0]);
          linalg::YieldOp::create(b, l, b.clone(*add, mapping)->getResults());
        });
    return total.getResult(0);
  }

  const RowGroup &group;
  RowBlocks blocks;
  RewriterBase &rewriter;
  llvm::SmallDenseSet<Operation *> members;
  DenseMap<Value, Operation *> lastReader; ///< null if that is a gather
  SmallVector<Result> results;
  DenseMap<Value, Value> tiles;
};

} // namespace

void writeRowLoop(const RowGroup &group, BlockLimits limits,
                  RewriterBase &rewriter) {
  RowLoop(group, limits, rewriter).write();
}

} // namespace stagewright::host
