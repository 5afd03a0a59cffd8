//===- WriteScatters.cpp - add rows to indexed rows of a table ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scatter is a loop over updates. Each adds a row to the row of a table with
// a given index, its id. Blocks with the same x in the grid divide the ids
// among them: of P such blocks, block p performs the updates whose id is p
// modulo P, in the order of the loop. So every element of the table is written
// by one block only, without atomics, and the results are bitwise independent
// of P.
//
// A block first reads all ids, 32 at a time per warp, and marks its own in a
// bitmap in shared memory. Then each thread performs the marked updates for one
// column of the table. If ids were read in that second loop, each iteration
// would wait for the one before, because to the compiler a store to the table
// may change an id.
//
//===----------------------------------------------------------------------===//

#include "LoopPoint.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {
namespace {

/// A word of the bitmap has one bit for each thread of a warp.
static_assert(kWarp == 32);
/// Max words of the bitmap: 8 KiB, for 65,536 updates at once.
constexpr int64_t kMostWords = 2048;
/// Min blocks of a grid, so that few processors of a device are idle.
constexpr int64_t kFewestBlocks = 64;

/// A loop nest that updates rows of tables.
struct Scatter {
  SmallVector<scf::ForOp> loops; ///< outermost first
  SmallVector<int64_t> extents;  ///< iterations of each
  linalg::LinalgOp update;       ///< of one row, in the innermost loop
  Value id; ///< the row to update, an index; defined in the innermost loop
  SmallVector<Operation *> makers; ///< compute `id`, in program order
  int64_t idBytes = 0;             ///< that are read to compute it

  static FailureOr<Scatter> get(func::FuncOp kernel);
  int64_t updates() const { return llvm::product_of(extents); }

private:
  LogicalResult findLoops(func::FuncOp kernel);
  LogicalResult findId();
  LogicalResult findMakers();
};

/// Finds the loops: perfectly nested, from 0 with step 1.
LogicalResult Scatter::findLoops(func::FuncOp kernel) {
  SmallVector<Operation *> inside;
  for (Operation &op : kernel.front().without_terminator())
    if (!ThreadWriter::isPrelude(op))
      inside.push_back(&op);
  while (inside.size() == 1 && isa<scf::ForOp>(inside.front())) {
    auto loop = cast<scf::ForOp>(inside.front());
    auto upper = getConstantIntValue(loop.getUpperBound());
    if (!upper || *upper < 1 || !loop.getInitArgs().empty() ||
        getConstantIntValue(loop.getLowerBound()) != 0 ||
        getConstantIntValue(loop.getStep()) != 1)
      return failure();
    loops.push_back(loop);
    extents.push_back(*upper);
    inside = llvm::map_to_vector(loop.getBody()->without_terminator(),
                                 [](Operation &op) { return &op; });
  }
  return success(!loops.empty());
}

/// Whether nothing else uses the table of `row`, except loads of the very
/// element that `row` is a view of.
bool isOnlyUse(memref::SubViewOp row) {
  return llvm::all_of(row.getSource().getUsers(), [&](Operation *user) {
    auto read = dyn_cast<memref::LoadOp>(user);
    return user == row || (read && isEqualConstantIntOrValueArray(
                                       getAsOpFoldResult(read.getIndices()),
                                       row.getMixedOffsets()));
  });
}

/// Finds the row index, which the innermost loop computes. Fails unless each
/// update writes one row, and nothing else uses the table but loads of the
/// updated element (isOnlyUse).
LogicalResult Scatter::findId() {
  for (Value init : update.getDpsInits()) {
    auto row = init.getDefiningOp<memref::SubViewOp>();
    if (!row || !isa<BlockArgument>(row.getSource()) || !isOnlyUse(row) ||
        !init.hasOneUse() || mayOverlap(row))
      return failure();
    bool found = false;
    for (auto [offset, size] :
         llvm::zip_equal(row.getMixedOffsets(), row.getStaticSizes())) {
      auto value = dyn_cast<Value>(offset);
      if (!value || size != 1 || (id && value != id))
        continue;
      Operation *maker = value.getDefiningOp();
      found |= maker && maker->getBlock() == loops.back().getBody();
      id = found ? value : id;
    }
    if (!found)
      return failure();
  }
  return success(id != nullptr);
}

/// Finds the operations that compute `id`. Fails unless all are loads,
/// constants or arithmetic.
LogicalResult Scatter::findMakers() {
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == loops.back().getBody();
  };
  SetVector<Operation *> slice;
  if (failed(getBackwardSlice(id, &slice, options)))
    return failure();
  for (Operation *op : slice) {
    auto read = dyn_cast<memref::LoadOp>(op);
    if (!read && !ThreadWriter::isPrelude(*op))
      return failure();
    if (read)
      idBytes += llvm::divideCeil(
          read.getResult().getType().getIntOrFloatBitWidth(), 8);
  }
  makers = slice.takeVector();
  return success();
}

FailureOr<Scatter> Scatter::get(func::FuncOp kernel) {
  Scatter scatter;
  if (failed(scatter.findLoops(kernel)))
    return failure();
  bool known = true;
  scatter.loops.back().getBody()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
      known &= !scatter.update;
      scatter.update = linalgOp;
      return WalkResult::skip();
    }
    known &=
        isa<memref::LoadOp, memref::SubViewOp, scf::IfOp, scf::YieldOp>(op) ||
        ThreadWriter::isPrelude(*op);
    return WalkResult::advance();
  });
  if (!known || !scatter.update || !isElementByElement(scatter.update) ||
      failed(scatter.findId()) || failed(scatter.findMakers()))
    return failure();
  return scatter;
}

/// The number of blocks that divide the ids, a power of two. Before rounding
/// up, all together read no more bytes of ids than of rows, unless the grid
/// would have fewer than kFewestBlocks blocks.
int64_t sharesOf(Scatter &scatter, int64_t threads, int64_t columnBlocks) {
  auto row = cast<MemRefType>(scatter.update.getDpsInits().front().getType());
  int64_t rowBytes = threads * row.getElementTypeBitWidth() / 8;
  int64_t shares =
      std::max<int64_t>(rowBytes / std::max<int64_t>(scatter.idBytes, 1),
                        int64_t(llvm::divideCeil(kFewestBlocks, columnBlocks)));
  return int64_t(
      llvm::PowerOf2Ceil(uint64_t(std::min(shares, scatter.updates()))));
}

class ScatterWriter {
public:
  ScatterWriter(ThreadWriter &writer, Scatter &scatter)
      : writer(writer), scatter(scatter) {}
  void write();

private:
  /// Maps the induction variables to their values in update number `turn`.
  void setTurn(Value turn) {
    for (auto [loop, index] :
         llvm::zip_equal(scatter.loops, writer.split(turn, scatter.extents)))
      writer.map(loop.getInductionVar(),
                 arith::IndexCastOp::create(writer.builder, writer.loc,
                                            writer.builder.getIndexType(),
                                            index));
  }
  Value word(int64_t value) {
    return arith::ConstantOp::create(writer.builder, writer.loc,
                                     writer.builder.getI32IntegerAttr(value));
  }
  Value isOwn(Value turn);
  void note(Value first);
  void update(Value first);

  ThreadWriter &writer;
  Scatter &scatter;
  Memory notes;
  int64_t threads = 0, words = 0, shares = 0, columns = 0;
};

/// Whether this block performs update `turn`; false after the last update.
Value ScatterWriter::isOwn(Value turn) {
  Value no = arith::ConstantOp::create(writer.builder, writer.loc,
                                       writer.builder.getBoolAttr(false));
  Value inside = writer.isLess(turn, scatter.updates());
  return writer.where(inside, no, [&]() -> SmallVector<Value> {
    setTurn(turn);
    for (Operation *op : scatter.makers)
      writer.clone(*op, {});
    Value share =
        writer.modulo(arith::IndexCastOp::create(writer.builder, writer.loc,
                                                 writer.placeType(),
                                                 writer.lookup(scatter.id)),
                      shares);
    return {arith::CmpIOp::create(writer.builder, writer.loc,
                                  arith::CmpIPredicate::eq, share,
                                  writer.blockId(gpu::Dimension::y))};
  })[0];
}

/// Marks the block's updates, from `first` on, in the bitmap. A warp computes
/// one word, for 32 updates.
void ScatterWriter::note(Value first) {
  OpBuilder &builder = writer.builder;
  Value thread = writer.threadId(), lane = writer.modulo(thread, kWarp);
  Value warp = writer.dividedBy(thread, kWarp);
  int64_t warps = threads / kWarp;
  writer.loop(words / warps, {}, [&](Value turn, ValueRange) {
    Value at = writer.add(writer.times(turn, warps), warp);
    Value own =
        isOwn(writer.add(writer.add(first, writer.times(at, kWarp)), lane));
    Value bit = arith::ShLIOp::create(
        builder, writer.loc, word(1),
        arith::IndexCastOp::create(
            builder, writer.loc, builder.getI32Type(),
            arith::IndexCastOp::create(builder, writer.loc,
                                       builder.getIndexType(), lane)));
    Value bits =
        arith::SelectOp::create(builder, writer.loc, own, bit, word(0));
    for (int64_t offset = kWarp / 2; offset > 0; offset /= 2)
      bits = arith::OrIOp::create(builder, writer.loc, bits,
                                  writer.shuffle(bits, offset));
    writer.where(writer.isZero(lane), {}, [&]() -> SmallVector<Value> {
      writer.store(notes, at, bits);
      return {};
    });
    return SmallVector<Value>{};
  });
}

/// Performs the marked updates, from `first` on, for the thread's column.
void ScatterWriter::update(Value first) {
  OpBuilder &builder = writer.builder;
  Value column =
      writer.add(writer.times(writer.blockId(gpu::Dimension::x), threads),
                 writer.threadId());
  SmallVector<Value> indices =
      writer.split(column, scatter.update.getStaticLoopRanges());
  auto special = [&](Operation &op) {
    if (&op != scatter.update)
      return false;
    writePoint(writer, scatter.update, indices);
    return true;
  };
  auto toPlace = [&](Value bits) -> Value {
    return builder.createOrFold<arith::IndexCastOp>(
        writer.loc, writer.placeType(),
        builder.createOrFold<arith::IndexCastUIOp>(
            writer.loc, builder.getIndexType(), bits));
  };
  Value inside =
      columns % threads == 0 ? Value() : writer.isLess(column, columns);
  writer.where(inside, {}, [&]() -> SmallVector<Value> {
    writer.loop(words, {}, [&](Value at, ValueRange) -> SmallVector<Value> {
      Value noted = writer.load(notes, at);
      Value count = LLVM::CtPopOp::create(builder, writer.loc, noted);
      Value start = writer.add(first, writer.times(at, kWarp));
      writer.loop(
          writer.number(0), toPlace(count), 1, noted,
          [&](Value, ValueRange left) -> SmallVector<Value> {
            Value lowest = LLVM::CountTrailingZerosOp::create(
                builder, writer.loc, builder.getI32Type(), left[0], true);
            setTurn(writer.add(start, toPlace(lowest)));
            writer.special = special;
            for (Operation &op :
                 scatter.loops.back().getBody()->without_terminator())
              writer.clone(op, {});
            writer.special = nullptr;
            Value less =
                arith::SubIOp::create(builder, writer.loc, left[0], word(1));
            return {arith::AndIOp::create(builder, writer.loc, left[0], less)};
          });
      return {};
    });
    return {};
  });
}

void ScatterWriter::write() {
  columns = bodies::pointsOf(scatter.update);
  threads = std::min<int64_t>(kLoopThreads, llvm::alignTo(columns, kWarp));
  writer.shape.block[0] = threads;
  writer.shape.grid[0] = llvm::divideCeil(columns, threads);
  shares = sharesOf(scatter, threads, writer.shape.grid[0]);
  writer.shape.grid[1] = shares;
  int64_t warps = threads / kWarp; // Each computes equally many words.
  words = std::min<int64_t>(
      llvm::alignDown(kMostWords, warps),
      llvm::alignTo(llvm::divideCeil(scatter.updates(), kWarp), warps));
  notes = writer.shared(writer.builder.getI32Type(), words);
  int64_t passes = llvm::divideCeil(scatter.updates(), words * kWarp);
  writer.loop(passes, {}, [&](Value pass, ValueRange) -> SmallVector<Value> {
    Value first = writer.times(pass, words * kWarp);
    note(first);
    writer.barrier();
    update(first);
    if (passes > 1)
      writer.barrier(); // before the next pass writes the bitmap
    return {};
  });
}

/// Lets the runtime divide what is added to the tables (see `divisorOf`).
void divideAdded(ThreadWriter &writer, Scatter &scatter) {
  linalg::LinalgOp update = scatter.update;
  for (auto [i, init] : llvm::enumerate(update.getDpsInits())) {
    Value old = update.getRegionOutputArgs()[i];
    Value table = init.getDefiningOp<memref::SubViewOp>().getSource();
    auto sum = update.getBlock()
                   ->getTerminator()
                   ->getOperand(unsigned(i))
                   .getDefiningOp<arith::AddFOp>();
    if (!sum || !old.hasOneUse() || !table.hasOneUse() ||
        (sum.getLhs() == old) == (sum.getRhs() == old))
      continue;
    Value divisor = writer.divisorOf(cast<BlockArgument>(table));
    if (!divisor)
      continue;
    OpBuilder builder(scatter.loops.front());
    Value one = arith::ConstantOp::create(
        builder, sum.getLoc(), builder.getFloatAttr(sum.getType(), 1));
    writer.map(one, divisor);
    builder.setInsertionPoint(sum);
    OpOperand &added = sum->getOpOperand(sum.getLhs() == old ? 1 : 0);
    added.set(arith::DivFOp::create(builder, sum.getLoc(), added.get(), one));
  }
}

} // namespace

LogicalResult writeScatter(ThreadWriter &writer, func::FuncOp kernel) {
  FailureOr<Scatter> scatter = Scatter::get(kernel);
  if (failed(scatter))
    return failure();
  divideAdded(writer, *scatter);
  ScatterWriter(writer, *scatter).write();
  return success();
}

} // namespace stagewright::device
