//===- WriteRows.cpp - a team of threads for each row ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowWriter.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

void RowWriter::write() {
  writer.shape.block[0] = dealt.threads();
  writer.shape.grid[0] = dealt.blocks;
  chooseLanes();
  Value row = writer.blockId(gpu::Dimension::x);
  thread = writer.threadId();
  if (dealt.teams > 1) {
    row = writer.add(writer.times(row, dealt.teams),
                     writer.dividedBy(thread, dealt.team));
    thread = writer.modulo(thread, dealt.team);
  }
  if (members.back().loops.sumsRows)
    return writeSummed(row);
  takeRow(row);
}

void RowWriter::takeRow(Value row) {
  const RowLoops &loops = members.front().loops;
  SmallVector<int64_t> extents;
  for (unsigned loop : loops.rows)
    extents.push_back(loops.ranges[loop]);
  rowIndices = writer.split(row, extents);
  for (RowMember &member : members)
    if (!member.loops.sumsRows)
      write(member);
}

void RowWriter::chooseLanes() {
  DenseMap<int64_t, unsigned> lanesOf;
  for (RowMember &member : members) {
    unsigned lanes = kMostLanes;
    if (member.loops.inner.empty())
      continue;
    int64_t innermost = member.loops.ranges[member.loops.inner.back()];
    while (lanes > 1 &&
           (innermost % lanes != 0 || member.turns / lanes < dealt.team / 2))
      lanes /= 2;
    auto [it, isNew] = lanesOf.try_emplace(member.turns, lanes);
    it->second = std::min(it->second, lanes);
  }
  for (RowMember &member : members)
    member.lanes = member.loops.inner.empty() ? 1 : lanesOf[member.turns];
}

SmallVector<Value> RowWriter::indicesAt(const RowMember &member, Value turn) {
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

SmallVector<Value> RowWriter::laneOf(const RowMember &member,
                                     ArrayRef<Value> indices, unsigned lane) {
  SmallVector<Value> there(indices);
  if (lane)
    there[member.loops.inner.back()] =
        writer.add(there[member.loops.inner.back()], lane);
  return there;
}

void RowWriter::write(RowMember &member) {
  meetBefore(member);
  SmallVector<Value> sums;
  if (member.loops.reduces)
    for (unsigned i = 0; i < member.op.getNumDpsInits(); ++i)
      sums.push_back(arith::ConstantOp::create(
          writer.builder, writer.loc, matchCombiner(member.op, i)->identity));
  int64_t perChunk = dealt.team * member.lanes;
  int64_t chunks = llvm::divideCeil(member.turns, perChunk);
  SmallVector<Known> made(member.op.getNumDpsInits());
  rowValues.clear();
  loadRowValues(member);
  if (dealt.keeps || chunks == 1) {
    for (int64_t c = 0; c < chunks; ++c)
      sums = writeChunk(member, writer.number(c * perChunk), c,
                        (c + 1) * perChunk > member.turns, sums, &made);
    // In a partial last chunk, some threads have loaded nothing.
    if (chunks * perChunk == member.turns)
      rememberLoaded(member);
    loaded.clear();
  } else {
    // Full chunks in a loop, then the rest.
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
  else if (dealt.keeps || chunks == 1)
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

SmallVector<Value> RowWriter::writeChunk(RowMember &member, Value from,
                                         int64_t number, bool partial,
                                         SmallVector<Value> sums,
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
          operands.push_back(read(member, operand, indices, number));
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
          SmallVector<Value> yielded =
              writer.body(member.op, laneOf(member, indices, lane), arguments);
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

void RowWriter::finishSums(RowMember &member, ArrayRef<Value> sums) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    OpOperand &init = *member.op.getDpsInitOperand(int64_t(i));
    Combiner combiner = *matchCombiner(member.op, unsigned(i));
    Value total = writer.reduce(sum, combiner.op, thread, dealt.team);
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

LogicalResult writeRows(ThreadWriter &writer, func::FuncOp kernel) {
  SmallVector<RowMember> members;
  SmallVector<Operation *> group;
  DenseMap<Value, Value> fills;
  int64_t longest = 1;
  for (Operation &op : kernel.front()) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (!linalgOp)
      continue;
    if (auto fill = dyn_cast<linalg::FillOp>(op)) {
      fills[fill.getOutputs()[0]] = writer.lookup(fill.getInputs()[0]);
      continue;
    }
    FailureOr<RowLoops> loops = RowLoops::get(&op);
    if (failed(loops))
      return failure();
    members.push_back({linalgOp, *loops, loops->turns(), 1});
    group.push_back(&op);
    longest = std::max(longest, loops->turns());
  }
  if (members.empty())
    return failure();
  RowLoops &loops = members.back().loops;
  std::optional<RowTeams> dealt;
  ValueRange partial;
  if (loops.sumsRows) {
    dealt = dealSummedRows(group);
    partial = kernel.getArguments().take_back(loops.op.getNumDpsInits());
  } else {
    dealt = dealRows(loops.numRows(), longest);
  }
  if (!dealt)
    return failure();
  RowWriter(writer, std::move(members), std::move(fills), *dealt, partial)
      .write();
  return success();
}

} // namespace stagewright::device
