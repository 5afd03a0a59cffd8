//===- Unroll.cpp - from rank programs to events --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Visits the operations of an entry and records what can wait or uses memory.
//
//===----------------------------------------------------------------------===//

#include "Unroller.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "stagewright/Support/Limits.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

namespace stagewright::rank {

/// Max iterations of all loops of a program: far more than kMostMicrobatches
/// need.
static constexpr int64_t kMostTurns = 64 * stagewright::kMostMicrobatches;

LogicalResult Unroller::visitLoop(scf::ForOp loop) {
  int64_t step = value(loop.getStep());
  if (step < 1 || loop.getNumResults())
    return emitError(loop.getLoc())
           << "cannot be unrolled: a loop of a rank program "
           << "has a positive step and no results, got step " << step << " and "
           << loop.getNumResults();
  int64_t high = value(loop.getUpperBound());
  for (int64_t m = value(loop.getLowerBound()); m < high; m += step) {
    if (++turns > kMostTurns)
      return emitError(loop.getLoc())
             << "cannot be unrolled: the loops of a rank program take at most "
             << kMostTurns << " iterations in all";
    values[loop.getInductionVar()] = m;
    if (failed(visit(*loop.getBody())))
      return failure();
  }
  if (loop.getOps<ChooseOp>().empty())
    return success();
  endRow();
  auto choice = *loop.getOps<ChooseOp>().begin();
  int64_t all = choice.getTurns().size();
  if (int64_t(rank.rows.size()) != all)
    return emitError(loop.getLoc())
           << "takes " << rank.rows.size() << " iterations, but the lanes have "
           << all << " rows";
  return success();
}

/// Completes the last row: the next event is not a part of it.
void Unroller::endRow() {
  if (rank.rows.empty())
    return;
  Row &row = rank.rows.back();
  row.end = rank.events.size();
  row.microbatch = actionMicrobatch;
  row.name = std::to_string(actionStage) + lastAction +
             std::to_string(actionMicrobatch);
}

/// Rows are unrolled lane by lane; the machine finds their order.
LogicalResult Unroller::visitChoice(ChooseOp choice) {
  endRow();
  int64_t number = rank.rows.size(), lane = 0, first = 0;
  while (lane < int64_t(choice.getLanes().size()) &&
         number >= first + choice.getLanes()[lane])
    first += choice.getLanes()[lane++];
  if (lane == int64_t(choice.getLanes().size()) || (chosen && chosen != choice))
    return emitError(choice.getLoc())
           << "cannot be unrolled: a rank program chooses in one loop, "
           << "with one iteration for every row";
  chosen = choice;
  Row &row = rank.rows.emplace_back();
  row.begin = rank.events.size();
  row.lane = lane;
  row.turn = choice.getTurns()[number];
  row.origin = choice.getOperation();
  values[choice.getRow()] = number;
  return success();
}

/// Lets each row follow the rows of the same microbatch in the lanes that
/// `after` of `choice` names for its lane.
static void followLanes(ChooseOp choice, std::vector<Row> &rows) {
  std::map<std::pair<int64_t, int64_t>, size_t> byLane;
  for (auto [number, row] : llvm::enumerate(rows))
    byLane[{row.lane, row.microbatch}] = number;
  ArrayRef<int64_t> pairs = choice.getAfter();
  for (size_t i = 0; i < pairs.size(); i += 2)
    for (Row &row : rows)
      if (auto before = byLane.find({pairs[i + 1], row.microbatch});
          row.lane == pairs[i] && before != byLane.end())
        row.after.push_back(before->second);
}

LogicalResult Unroller::visitSwitch(scf::IndexSwitchOp choice) {
  if (choice.getNumResults())
    return emitError(choice.getLoc())
           << "cannot be unrolled: a switch of a rank program has no results, "
           << "got " << choice.getNumResults();
  int64_t which = value(choice.getArg());
  for (auto [number, region] :
       llvm::zip(choice.getCases(), choice.getCaseRegions()))
    if (number == which)
      return visit(region.front());
  return visit(choice.getDefaultRegion().front());
}

LogicalResult Unroller::visit(Operation &op) {
  if (failed(checkSummed(op)) || failed(checkGathered(op)))
    return failure();
  auto transfer = [&](EventKind kind) {
    return [this, kind](auto it) {
      add(kind, it, channel(it.getChannelAttr()), it.getMicrobatch());
      return success();
    };
  };
  auto stash = [&](EventKind kind) {
    return [this, kind](auto it) {
      add(kind, it, stashes.lookup(it.getBuffer()), it.getMicrobatch());
      return success();
    };
  };
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](scf::ForOp loop) { return visitLoop(loop); })
      .Case([&](TableOp table) { return visitTable(table); })
      .Case([&](ChooseOp choice) { return visitChoice(choice); })
      .Case([&](scf::IndexSwitchOp choice) { return visitSwitch(choice); })
      // For example, means of gradients are divided only if there are several
      // microbatches.
      .Case([&](scf::IfOp choice) {
        if (choice.getNumResults())
          return visitArithmetic(op);
        Block *block = value(choice.getCondition()) ? choice.thenBlock()
                                                    : choice.elseBlock();
        return block ? visit(*block) : success();
      })
      .Case([&](ActionOp inner) {
        action = lastAction = letter(inner.getKind());
        actionStage = inner.getStage();
        actionMicrobatch = value(inner.getMicrobatch());
        LogicalResult result = visit(inner.getBody().front());
        action = 0;
        return result;
      })
      .Case<ClaimOp>(transfer(EventKind::Claim))
      .Case<SendOp>(transfer(EventKind::Send))
      .Case<RecvOp>(transfer(EventKind::Recv))
      .Case<ReceivedOp>(transfer(EventKind::Received))
      .Case<ReleaseChannelOp>(transfer(EventKind::ReleaseChannel))
      .Case<AcquireOp>(stash(EventKind::Acquire))
      .Case<ReleaseOp>(stash(EventKind::Release))
      .Case<FetchedOp>(stash(EventKind::Use))
      // Events have no times, so a copy completes at once: it releases the slot
      // of its source and acquires that of its target.
      .Case<OffloadOp, FetchOp>([&](auto copy) {
        int32_t from = stashes.lookup(copy.getSource());
        add(EventKind::Use, copy, from, copy.getMicrobatch());
        add(EventKind::Acquire, copy, stashes.lookup(copy.getTarget()),
            copy.getMicrobatch());
        add(EventKind::Release, copy, from, copy.getMicrobatch());
        return success();
      })
      .Case([&](SlotOp slot) {
        auto stash = stashes.find(slot.getBuffer());
        if (stash != stashes.end())
          add(EventKind::Use, slot, stash->second, slot.getMicrobatch());
        return success();
      })
      .Case([&](CallOp call) {
        int32_t number = callOf(call);
        add(EventKind::Call, call, number, {}, callBytes[number]);
        return success();
      })
      .Case([&](AllReduceOp reduce) {
        visitReduce(reduce);
        return success();
      })
      .Case([&](AwaitReducedOp await) {
        summed.remove_if([&](const auto &entry) {
          return entry.second == await.getCollective();
        });
        add(EventKind::Await, await, sums.lookup(await.getCollective()), {});
        return success();
      })
      .Case([&](AllGatherOp gather) { return visitGather(gather); })
      .Case([&](AwaitGatheredOp await) {
        gathered.erase({gathering.lookup(await.getCollective()),
                        value(await.getMicrobatch())});
        add(EventKind::Await, await, sums.lookup(await.getCollective()),
            await.getMicrobatch());
        return success();
      })
      .Case([&](AverageOp average) {
        int32_t sum = sums.lookup(average.getCollective());
        add(EventKind::Reduce, average, sum, {});
        add(EventKind::Await, average, sum, {});
        return success();
      })
      .Case<ViewOp, PartOp, ZeroOp, CopyOp, AddOp, CombineOp, scf::YieldOp>(
          [](Operation *) { return success(); })
      // Kernels that zero, copy and add.
      .Case([&](func::CallOp kernel) {
        return kernel.getNumResults() ? visitArithmetic(op) : success();
      })
      .Default([&](Operation *other) { return visitArithmetic(*other); });
}

/// The number of `call`; its memory is computed once.
int32_t Unroller::callOf(CallOp call) {
  auto [known, isNew] = calls.try_emplace(call, rank.calls.size());
  if (!isNew)
    return known->second;
  CallMemory &memory = rank.calls.emplace_back();
  int64_t bytes = 0;
  for (WorkspaceRange range : workspaces.of(call->getBlock()).of(call)) {
    memory.ranges.emplace_back(range.begin, range.end);
    bytes += range.end - range.begin;
  }
  callBytes.push_back(bytes);
  memory.bound = bytes;
  Operation *body = symbols.lookup(call.getCallee());
  auto bound =
      body ? body->getAttrOfType<IntegerAttr>(RankDialect::kWorkspaceBound)
           : IntegerAttr();
  if (bound && call.getWorkspaceBytes() > 0)
    memory.bound += bound.getInt() - call.getWorkspaceBytes();
  return known->second;
}

LogicalResult Unroller::visit(Block &block) {
  for (Operation &op : block)
    if (failed(visit(op)))
      return failure();
  return success();
}

LogicalResult Unroller::unroll(ProgramOp program, int64_t microbatches) {
  for (BufferOp buffer : program.getBody().front().getOps<BufferOp>())
    if (buffer.getKind() == BufferKind::Stash) {
      stashes[buffer] = rank.stashes.size();
      int64_t messages = buffer.getStarts()
                             ? int64_t(buffer.getStarts()->size())
                             : microbatches;
      rank.stashes.push_back(
          {buffer.getBufferName().str(), buffer.getSlots(microbatches),
           messages,
           // Bytes on the host are not counted for the rank.
           buffer.getOnHost() ? 0 : getSlotStride(buffer.getType()), -1, -1,
           buffer.getOperation(), false,
           int64_t(buffer.getPlace().value_or(-1)),
           buffer.getStarts().value_or(ArrayRef<int64_t>()).vec()});
    }
  EntryOp entry = program.getEntry();
  values[entry.getMicrobatches()] = microbatches;
  if (failed(visit(entry.getBody().front())))
    return failure();
  if (chosen)
    followLanes(chosen, rank.rows);
  return success();
}

} // namespace stagewright::rank
