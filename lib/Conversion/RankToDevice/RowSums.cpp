//===- RowSums.cpp - sums over rows, by teams of threads ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread holds the sums of its turns as a list, by chunk, result and lane.
//
//===----------------------------------------------------------------------===//

#include "RowWriter.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/Support/MathExtras.h"

namespace stagewright::device {

void RowWriter::writeSummed(Value row) {
  RowMember &member = members.back();
  SmallVector<Value> sums;
  int64_t chunks = llvm::divideCeil(member.turns, dealt.team * member.lanes);
  for (int64_t chunk = 0; chunk < chunks; ++chunk)
    for (unsigned i = 0; i < member.op.getNumDpsInits(); ++i)
      sums.append(member.lanes, arith::ConstantOp::create(
                                    writer.builder, writer.loc,
                                    matchCombiner(member.op, i)->identity));
  sums = writer.loop(dealt.rows, sums, [&](Value turn, ValueRange carried) {
    int64_t before = writer.barriers;
    takeRow(writer.add(row, writer.times(turn, dealt.blocks * dealt.teams)));
    SmallVector<Value> next = addRow(member, carried);
    // The reductions of the next row write the same shared memory, so they must
    // wait until this row has read it. Two barriers per row ensure that.
    if (dealt.team > kWarp && writer.barriers - before < 2)
      writer.barrier();
    return next;
  });
  leaveSums(member, sums);
}

SmallVector<Value> RowWriter::forSums(
    RowMember &member, ValueRange sums,
    llvm::function_ref<SmallVector<Value>(int64_t chunk, Value turn,
                                          ValueRange sums)>
        take) {
  int64_t perChunk = dealt.team * member.lanes;
  size_t count = member.lanes * member.op.getNumDpsInits();
  SmallVector<Value> made;
  for (int64_t chunk = 0; chunk * perChunk < member.turns; ++chunk) {
    Value turn =
        writer.add(writer.times(thread, member.lanes), chunk * perChunk);
    Value inside = (chunk + 1) * perChunk > member.turns
                       ? writer.isLess(turn, member.turns)
                       : Value();
    ValueRange own = sums.slice(size_t(chunk) * count, count);
    llvm::append_range(made, writer.where(inside, own, [&] {
      return take(chunk, turn, own);
    }));
  }
  return made;
}

SmallVector<Value> RowWriter::addRow(RowMember &member, ValueRange sums) {
  meetBefore(member);
  rowValues.clear();
  loadRowValues(member);
  unsigned lanes = member.lanes;
  auto add = [&](int64_t chunk, Value turn, ValueRange own) {
    SmallVector<Value> indices = indicesAt(member, turn);
    SmallVector<SmallVector<Value>> inputs;
    for (OpOperand *operand : member.op.getDpsInputOperands())
      inputs.push_back(read(member, *operand, indices, chunk));
    SmallVector<Value> next(own);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      SmallVector<Value> arguments;
      for (ArrayRef<Value> list : inputs)
        arguments.push_back(list[lane]);
      for (unsigned at = lane; at < own.size(); at += lanes)
        arguments.push_back(own[at]);
      SmallVector<Value> yielded =
          writer.body(member.op, laneOf(member, indices, lane), arguments);
      for (auto [i, value] : llvm::enumerate(yielded))
        next[i * lanes + lane] = value;
    }
    return next;
  };
  SmallVector<Value> next = forSums(member, sums, add);
  loaded.clear();
  return next;
}

void RowWriter::leaveSums(RowMember &member, ValueRange sums) {
  unsigned lanes = member.lanes;
  int64_t columns = member.turns;
  Value block = writer.times(writer.blockId(gpu::Dimension::x), columns);
  auto leave = [&](unsigned i, const Memory &memory, Value start) {
    (void)forSums(member, sums, [&](int64_t, Value turn, ValueRange own) {
      writer.storeLanes(memory, writer.add(start, turn),
                        own.slice(i * lanes, lanes));
      return SmallVector<Value>(own);
    });
  };
  Memory meeting;
  for (auto [i, buffer] : llvm::enumerate(partial)) {
    Memory part = writer.memoryOf(buffer);
    if (dealt.teams == 1) {
      leave(unsigned(i), part, block);
      continue;
    }
    // All results of one element type use the same shared memory, in turn.
    if (i > 0 && meeting.element == part.element)
      writer.barrier();
    else
      meeting = writer.shared(part.element, dealt.teams * columns);
    leave(
        unsigned(i), meeting,
        writer.times(writer.dividedBy(writer.threadId(), dealt.team), columns));
    writer.barrier();
    Operation *combiner = matchCombiner(member.op, unsigned(i))->op;
    for (int64_t from = 0; from < columns; from += dealt.threads()) {
      Value column = writer.add(writer.threadId(), from);
      Value inside = from + dealt.threads() > columns
                         ? writer.isLess(column, columns)
                         : Value();
      writer.where(inside, {}, [&]() -> SmallVector<Value> {
        Value total = writer.load(meeting, column);
        for (int64_t team = 1; team < dealt.teams; ++team)
          total = writer.combine(
              combiner, total,
              writer.load(meeting, writer.add(column, team * columns)));
        writer.store(part, writer.add(block, column), total);
        return {};
      });
    }
  }
}

} // namespace stagewright::device
