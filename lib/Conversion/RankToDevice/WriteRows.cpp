//===- WriteRows.cpp - a team of threads for each row ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A team, one warp or more, takes one row through all operations of a group.
// The turns inside a row are dealt out in chunks: thread t of a team of P takes
// the turns (c P + t) V ... + V - 1 of chunk c, in every operation, so what one
// operation makes the next finds in registers, and neighbours read memory side
// by side. What a row has once, every thread of the team has. Rows too long for
// registers go through memory, chunk by chunk in a loop; each element is read
// by the thread that wrote it.
//
//===----------------------------------------------------------------------===//

#include "RowLoops.h"
#include "ThreadWriter.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace stagewright::device {
namespace {

/// Most elements of one value that a thread keeps.
constexpr int64_t kMostKept = 16;
/// Most threads of a team, and threads of a block of several.
constexpr int64_t kMostThreads = 512;
constexpr int64_t kBlockThreads = 128;

struct Member {
  linalg::LinalgOp op;
  RowLoops loops;
  int64_t turns;
  unsigned lanes;
};

/// What the thread knows of a buffer's part in its row.
struct Known {
  bool isRow;
  SmallVector<Value> values; ///< one; or lanes of chunks
  SmallVector<int> places;   ///< where in the buffer they lie
};

/// A use of memory by the threads of a team.
struct Touch {
  Value view;
  bool isElement; ///< each thread its own turns
  SmallVector<int> places;

  /// Whether each thread touches what it touches in `other`.
  bool agrees(const Touch &other) const {
    return isElement && other.isElement && view == other.view &&
           places == other.places;
  }
};

Value rootOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer;
}

class Rows {
public:
  Rows(ThreadWriter &writer, SmallVector<Member> members,
       DenseMap<Value, Value> fills)
      : writer(writer), members(std::move(members)), fills(std::move(fills)) {}

  void write() {
    int64_t most = 1;
    for (const Member &member : members)
      most = std::max(most, member.turns);
    team = kWarp;
    while (team < kMostThreads && most > team * kMostKept)
      team *= 2;
    keeps = most <= team * kMostKept;
    const Member &first = members.front();
    SmallVector<int64_t> extents;
    int64_t rows = 1;
    for (unsigned row : first.loops.rows) {
      extents.push_back(first.loops.ranges[row]);
      rows *= extents.back();
    }
    // Only warps share a block: a larger team meets at the block's barriers.
    int64_t teams = team == kWarp ? kBlockThreads / kWarp : 1;
    while (rows % teams != 0)
      teams /= 2;
    writer.shape.block[0] = team * teams;
    writer.shape.grid[0] = rows / teams;
    Value row = writer.blockId(gpu::Dimension::x);
    if (teams > 1)
      row = writer.add(writer.times(row, teams),
                       writer.dividedBy(writer.threadId(), team));
    thread =
        teams > 1 ? writer.modulo(writer.threadId(), team) : writer.threadId();
    rowIndices = writer.split(row, extents);
    chooseLanes();
    for (Member &member : members)
      write(member);
  }

private:
  /// Members that have the same number of turns deal them out alike.
  void chooseLanes() {
    DenseMap<int64_t, unsigned> lanesOf;
    for (Member &member : members) {
      unsigned lanes = 4;
      if (member.loops.inner.empty())
        continue;
      int64_t innermost = member.loops.ranges[member.loops.inner.back()];
      while (lanes > 1 &&
             (innermost % lanes != 0 || member.turns / lanes < team / 2))
        lanes /= 2;
      auto [it, isNew] = lanesOf.try_emplace(member.turns, lanes);
      it->second = std::min(it->second, lanes);
    }
    for (Member &member : members)
      member.lanes = member.loops.inner.empty() ? 1 : lanesOf[member.turns];
  }

  /// Indices of the loops of `member` at turn `turn` of its row.
  SmallVector<Value> indicesAt(const Member &member, Value turn) {
    SmallVector<Value> indices(member.loops.ranges.size(), writer.number(0));
    for (auto [loop, index] : llvm::zip_equal(member.loops.rows, rowIndices))
      indices[loop] = index;
    SmallVector<int64_t> extents;
    for (unsigned loop : member.loops.inner)
      extents.push_back(member.loops.ranges[loop]);
    for (auto [loop, index] :
         llvm::zip_equal(member.loops.inner, writer.split(turn, extents)))
      indices[loop] = index;
    return indices;
  }

  SmallVector<Value> laneOf(const Member &member, ArrayRef<Value> indices,
                            unsigned lane) {
    SmallVector<Value> there(indices);
    if (lane)
      there[member.loops.inner.back()] =
          writer.add(there[member.loops.inner.back()], lane);
    return there;
  }

  void write(Member &member) {
    meetBefore(member);
    SmallVector<Value> sums;
    if (member.loops.reduces)
      for (unsigned i = 0; i < member.op.getNumDpsInits(); ++i)
        sums.push_back(arith::ConstantOp::create(
            writer.builder, writer.loc, matchCombiner(member.op, i)->identity));
    int64_t perChunk = team * member.lanes;
    int64_t chunks = llvm::divideCeil(member.turns, perChunk);
    SmallVector<Known> made(member.op.getNumDpsInits());
    rowValues.clear();
    loadRowValues(member);
    if (keeps || chunks == 1) {
      for (int64_t c = 0; c < chunks; ++c)
        sums = writeChunk(member, writer.number(c * perChunk), c,
                          (c + 1) * perChunk > member.turns, sums, &made);
    } else {
      // Whole chunks in a loop, the rest behind it.
      int64_t whole = member.turns / perChunk;
      sums = writer.loop(whole, sums, [&](Value c, ValueRange carried) {
        return writeChunk(member, writer.times(c, perChunk), -1,
                          /*partial=*/false, llvm::to_vector(carried), nullptr);
      });
      if (whole != chunks)
        sums = writeChunk(member, writer.number(whole * perChunk), -1,
                          /*partial=*/true, sums, nullptr);
    }
    if (member.loops.reduces)
      finishSums(member, sums);
    else if (keeps || chunks == 1)
      for (auto [i, known] : llvm::enumerate(made)) {
        OpOperand &init = *member.op.getDpsInitOperand(int64_t(i));
        known.isRow = member.loops.inner.empty();
        known.places =
            member.loops.placesOf(member.op.getMatchingIndexingMap(&init));
        remember(init.get(), known);
      }
    else
      for (Value init : member.op.getDpsInits())
        forget(init);
  }

  /// One chunk: loads, bodies, stores. Sums are carried through.
  SmallVector<Value> writeChunk(Member &member, Value from, int64_t number,
                                bool partial, SmallVector<Value> sums,
                                SmallVector<Known> *made) {
    unsigned lanes = member.lanes;
    Value turn = writer.add(from, writer.times(thread, lanes));
    if (member.loops.inner.empty())
      turn = writer.number(0);
    bool isPoint = member.loops.inner.empty();
    Value inside =
        partial && !isPoint ? writer.isLess(turn, member.turns) : Value();
    SmallVector<Value> otherwise(sums);
    if (!member.loops.reduces && inside && made)
      for (Value init : member.op.getDpsInits())
        for (unsigned lane = 0; lane < lanes; ++lane)
          otherwise.push_back(zeroOf(init));
    SmallVector<Value> results =
        writer.where(inside, otherwise, [&]() -> SmallVector<Value> {
          SmallVector<Value> indices = indicesAt(member, turn);
          SmallVector<SmallVector<Value>> operands;
          for (OpOperand &operand : member.op->getOpOperands())
            operands.push_back(read(member, operand, indices, number, sums));
          SmallVector<Value> carried(sums);
          SmallVector<SmallVector<Value>> values(member.op.getNumDpsInits());
          for (unsigned lane = 0; lane < lanes; ++lane) {
            SmallVector<Value> arguments;
            for (auto [list, operand] :
                 llvm::zip_equal(operands, member.op->getOpOperands()))
              arguments.push_back(list.empty() ? Value() : list[lane]);
            if (member.loops.reduces)
              for (unsigned i = 0; i < carried.size(); ++i)
                arguments[member.op.getNumDpsInputs() + i] = carried[i];
            SmallVector<Value> yielded = writer.body(
                member.op, laneOf(member, indices, lane), arguments);
            if (member.loops.reduces)
              carried = yielded;
            for (auto [list, value] : llvm::zip_equal(values, yielded))
              list.push_back(value);
          }
          if (member.loops.reduces)
            return carried;
          SmallVector<Value> all;
          for (auto [i, list] : llvm::enumerate(values)) {
            write(member, *member.op.getDpsInitOperand(int64_t(i)), indices,
                  list);
            if (made)
              llvm::append_range(all, list);
          }
          return all;
        });
    if (member.loops.reduces)
      return results;
    if (made)
      for (unsigned i = 0; i < member.op.getNumDpsInits(); ++i)
        for (unsigned lane = 0; lane < lanes; ++lane)
          (*made)[i].values.push_back(results[i * lanes + lane]);
    return sums;
  }

  Value zeroOf(Value buffer) {
    Type type = cast<MemRefType>(buffer.getType()).getElementType();
    return arith::ConstantOp::create(writer.builder, writer.loc,
                                     writer.builder.getZeroAttr(type));
  }

  static bool isUsed(Member &member, OpOperand &operand) {
    return !member.op.isDpsInit(&operand) ||
           !member.op.getMatchingBlockArgument(&operand).use_empty();
  }

  /// Loads, once, the elements that the whole row shares.
  void loadRowValues(Member &member) {
    for (OpOperand &operand : member.op->getOpOperands()) {
      AffineMap map = member.op.getMatchingIndexingMap(&operand);
      if (!isa<MemRefType>(operand.get().getType()) ||
          !isUsed(member, operand) ||
          (member.loops.reduces && member.op.isDpsInit(&operand)) ||
          member.loops.accessOf(map) != Access::Row)
        continue;
      auto it = known.find(operand.get());
      if (it != known.end() && it->second.isRow) {
        rowValues[&operand] = it->second.values[0];
        continue;
      }
      if (auto fill = fills.find(operand.get());
          fill != fills.end() && it == known.end()) {
        rowValues[&operand] = fill->second;
        continue;
      }
      Memory memory = writer.memoryOf(operand.get());
      rowValues[&operand] = writer.load(
          memory,
          writer.placeOf(memory, map, indicesAt(member, writer.number(0))));
    }
  }

  /// The elements of one operand, one for each lane.
  SmallVector<Value> read(Member &member, OpOperand &operand,
                          ArrayRef<Value> indices, int64_t chunk,
                          ValueRange sums) {
    unsigned lanes = member.lanes;
    if (!isa<MemRefType>(operand.get().getType()))
      return SmallVector<Value>(lanes, writer.lookup(operand.get()));
    if (!isUsed(member, operand) ||
        (member.loops.reduces && member.op.isDpsInit(&operand)))
      return {};
    if (Value value = rowValues.lookup(&operand))
      return SmallVector<Value>(lanes, value);
    AffineMap map = member.op.getMatchingIndexingMap(&operand);
    auto it = known.find(operand.get());
    if (isKept(member, operand) && chunk >= 0)
      return SmallVector<Value>(
          ArrayRef(it->second.values).slice(size_t(chunk) * lanes, lanes));
    if (auto fill = fills.find(operand.get());
        fill != fills.end() && it == known.end())
      return SmallVector<Value>(lanes, fill->second);
    Memory memory = writer.memoryOf(operand.get());
    if (isVector(member, memory, map))
      return writer.loadLanes(memory, writer.placeOf(memory, map, indices),
                              lanes);
    SmallVector<Value> values;
    for (unsigned lane = 0; lane < lanes; ++lane)
      values.push_back(writer.load(
          memory, writer.placeOf(memory, map, laneOf(member, indices, lane))));
    return values;
  }

  void write(Member &member, OpOperand &init, ArrayRef<Value> indices,
             ValueRange values) {
    if (rootOf(init.get()).getDefiningOp<memref::AllocOp>())
      return; // stays in registers
    Memory memory = writer.memoryOf(init.get());
    AffineMap map = member.op.getMatchingIndexingMap(&init);
    if (member.loops.inner.empty()) {
      writer.where(writer.isZero(thread), {}, [&]() -> SmallVector<Value> {
        writer.store(memory, writer.placeOf(memory, map, indices), values[0]);
        return {};
      });
      return;
    }
    if (isVector(member, memory, map))
      return writer.storeLanes(memory, writer.placeOf(memory, map, indices),
                               values);
    for (auto [lane, value] : llvm::enumerate(values))
      writer.store(memory,
                   writer.placeOf(memory, map, laneOf(member, indices, lane)),
                   value);
  }

  /// Whether the lanes of an operand lie side by side at a multiple of them.
  bool isVector(const Member &member, const Memory &memory, AffineMap map) {
    auto linear = Linear::get(map, memory.strides);
    int64_t lanes = member.lanes;
    if (lanes == 1 || !linear || memory.start ||
        isa<IndexType>(memory.element) ||
        memory.element.getIntOrFloatBitWidth() < 8 ||
        (linear->constant + memory.offset) % lanes != 0)
      return false;
    unsigned innermost = member.loops.inner.back();
    for (auto [loop, step] : llvm::enumerate(linear->steps))
      if (loop == innermost
              ? step != 1
              : member.loops.ranges[loop] != 1 && step % lanes != 0)
        return false;
    return true;
  }

  /// Adds up the threads' sums of a row.
  void finishSums(Member &member, ArrayRef<Value> sums) {
    for (auto [i, sum] : llvm::enumerate(sums)) {
      OpOperand &init = *member.op.getDpsInitOperand(int64_t(i));
      Combiner combiner = *matchCombiner(member.op, unsigned(i));
      Value total = writer.reduce(sum, combiner.op, thread, team);
      SmallVector<Value> indices = indicesAt(member, writer.number(0));
      AffineMap map = member.op.getMatchingIndexingMap(&init);
      Value start;
      auto it = known.find(init.get());
      if (it != known.end())
        start = it->second.values[0];
      else if (fills.count(init.get()))
        start = fills[init.get()];
      Memory memory;
      bool stays = bool(rootOf(init.get()).getDefiningOp<memref::AllocOp>());
      if (!stays)
        memory = writer.memoryOf(init.get());
      if (!start)
        start = writer.load(memory, writer.placeOf(memory, map, indices));
      total = writer.combine(combiner.op, start, total);
      if (!stays)
        writer.where(writer.isZero(thread), {}, [&]() -> SmallVector<Value> {
          writer.store(memory, writer.placeOf(memory, map, indices), total);
          return {};
        });
      remember(init.get(), {/*isRow=*/true, {total}, {}});
    }
  }

  void remember(Value buffer, Known value) {
    forget(buffer);
    known[buffer] = std::move(value);
  }

  /// What is known of any view of this memory is no longer so.
  void forget(Value buffer) {
    Value root = rootOf(buffer);
    fills.erase(buffer);
    SmallVector<Value> views;
    for (auto &[view, unused] : known)
      if (rootOf(view) == root)
        views.push_back(view);
    for (Value view : views)
      known.erase(view);
  }

  /// Whether the thread has the elements of `operand` that it needs.
  bool isKept(Member &member, OpOperand &operand) {
    auto it = known.find(operand.get());
    if (it == known.end())
      return false;
    AffineMap map = member.op.getMatchingIndexingMap(&operand);
    Access access = member.loops.accessOf(map);
    if (it->second.isRow)
      return access == Access::Row;
    return access == Access::Element &&
           it->second.places == member.loops.placesOf(map);
  }

  /// Lets the threads of the block meet before one reads what another wrote, or
  /// writes what another may still read.
  void meetBefore(Member &member) {
    SmallVector<Touch> nowRead, nowWritten;
    for (OpOperand &operand : member.op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()) ||
          rootOf(operand.get()).getDefiningOp<memref::AllocOp>())
        continue;
      AffineMap map = member.op.getMatchingIndexingMap(&operand);
      Touch touch{operand.get(), member.loops.accessOf(map) == Access::Element,
                  member.loops.placesOf(map)};
      if (member.op.isDpsInit(&operand))
        nowWritten.push_back(touch);
      if (isUsed(member, operand) && !fills.count(operand.get()) &&
          !isKept(member, operand))
        nowRead.push_back(touch);
    }
    member.op->walk([&](memref::LoadOp load) {
      nowRead.push_back({load.getMemRef(), false, {}});
    });
    auto clash = [](ArrayRef<Touch> before, ArrayRef<Touch> now) {
      return llvm::any_of(before, [&](const Touch &a) {
        return llvm::any_of(now, [&](const Touch &b) {
          return rootOf(a.view) == rootOf(b.view) && !a.agrees(b);
        });
      });
    };
    if (clash(writes, nowRead) || clash(writes, nowWritten) ||
        clash(reads, nowWritten)) {
      writer.barrier();
      writes.clear();
      reads.clear();
    }
    llvm::append_range(reads, nowRead);
    llvm::append_range(writes, nowWritten);
  }

  ThreadWriter &writer;
  SmallVector<Member> members;
  DenseMap<Value, Value> fills; ///< buffers that hold one number everywhere
  llvm::MapVector<Value, Known> known;
  DenseMap<OpOperand *, Value> rowValues; ///< of the member at hand
  SmallVector<Touch> reads, writes;       ///< since the threads last met
  SmallVector<Value> rowIndices;
  Value thread; ///< number in the team
  int64_t team = kWarp;
  bool keeps = true;
};

} // namespace

LogicalResult writeRows(ThreadWriter &writer, func::FuncOp kernel) {
  SmallVector<Member> members;
  DenseMap<Value, Value> fills;
  for (Operation &op : kernel.front()) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      continue;
    if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      fills[fill.getOutputs()[0]] = writer.lookup(fill.getInputs()[0]);
      continue;
    }
    FailureOr<RowLoops> loops = failure();
    if (op.hasAttr(kRows))
      loops = RowLoops::get(linalgOp);
    if (failed(loops))
      return failure();
    members.push_back({linalgOp, *loops, loops->turns(), 1});
  }
  if (members.empty())
    return failure();
  Rows(writer, std::move(members), std::move(fills)).write();
  return success();
}

} // namespace stagewright::device
