//===- Unroll.cpp - from rank programs to events --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the index arithmetic of an entry for one number of microbatches and
// records what can wait or uses memory. Operations that it does not know are
// errors: a proof must cover the whole program.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "stagewright/Support/Limits.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

namespace stagewright::rank {

namespace {

/// Evaluates one entry.
class Unroller {
public:
  Unroller(const llvm::StringMap<int32_t> &channels,
           const llvm::StringMap<int32_t> &sums, const SymbolTable &symbols,
           RankEvents &rank)
      : channels(channels), sums(sums), symbols(symbols), rank(rank) {}

  LogicalResult unroll(ProgramOp program, int64_t microbatches);

private:
  LogicalResult visit(Block &block);
  LogicalResult visit(Operation &op);
  LogicalResult visitLoop(scf::ForOp loop);
  LogicalResult visitTable(TableOp table);
  LogicalResult visitChoice(ChooseOp choice);
  void endRow();
  LogicalResult visitSwitch(scf::IndexSwitchOp choice);
  LogicalResult visitArithmetic(Operation &op);
  void visitReduce(AllReduceOp reduce);
  LogicalResult visitGather(AllGatherOp gather);
  LogicalResult checkSummed(Operation &op);
  LogicalResult checkGathered(Operation &op);
  LogicalResult checkGathered(Operation &op, Operation *use);

  int64_t value(Value index) { return values.lookup(index); }
  void add(EventKind kind, Operation *op, int32_t object, Value microbatch,
           int64_t bytes = 0) {
    rank.events.push_back({kind, action, object,
                           microbatch ? value(microbatch) : 0, actionMicrobatch,
                           bytes, op});
  }
  int32_t channel(FlatSymbolRefAttr name) {
    return channels.lookup(name.getValue());
  }

  int32_t callOf(CallOp call);

  const llvm::StringMap<int32_t> &channels, &sums;
  const SymbolTable &symbols;
  RankEvents &rank;
  DenseMap<Value, int64_t> values;
  DenseMap<Value, int32_t> stashes;
  /// Buffers of sums in progress, with the collective.
  llvm::SmallMapVector<Value, StringRef, 4> summed;
  /// Buffers of gathers, gathers of buffers, and the slots of gathers in
  /// progress.
  llvm::StringMap<Value> gathering;
  DenseMap<Value, StringRef> gatherOf;
  DenseSet<std::pair<Value, int64_t>> gathered;
  DenseMap<Operation *, int32_t> calls;
  SmallVector<int64_t> callBytes;
  LiveWorkspaces workspaces;
  char action = 0, lastAction = 0;
  int64_t actionMicrobatch = 0, actionStage = 0;
  ChooseOp chosen;
  int64_t turns = 0;
};

} // namespace

/// Far more than a program of kMostMicrobatches needs.
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
             << kMostTurns << " turns in all";
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
           << "takes " << rank.rows.size() << " turns, but the lanes have "
           << all << " rows";
  return success();
}

/// The events of the last row are complete.
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
           << "cannot be unrolled: a rank program chooses in one loop, that "
           << "takes a turn for every row";
  chosen = choice;
  Row &row = rank.rows.emplace_back();
  row.begin = rank.events.size();
  row.lane = lane;
  row.turn = choice.getTurns()[number];
  row.origin = choice.getOperation();
  values[choice.getRow()] = number;
  return success();
}

/// Adds the rows of the same microbatch that `after` names.
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

LogicalResult Unroller::visitTable(TableOp table) {
  int64_t row = value(table.getRow());
  int64_t rows = table.getCases().size();
  if (row < 0 || row >= rows)
    return emitError(table.getLoc())
           << "row " << row << " is read of a table of " << rows << " rows";
  values[table.getWhich()] = table.getCases()[row];
  values[table.getMicrobatch()] = table.getMicrobatches()[row];
  return success();
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

LogicalResult Unroller::visitArithmetic(Operation &op) {
  auto binary = [&](auto evaluate) {
    values[op.getResult(0)] =
        evaluate(value(op.getOperand(0)), value(op.getOperand(1)));
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](arith::ConstantOp constant) -> LogicalResult {
        // Small enough that no sum or difference of a program overflows.
        auto number = dyn_cast<IntegerAttr>(constant.getValue());
        if (!number || number.getValue().getSignificantBits() > 32)
          return emitError(constant.getLoc())
                 << "cannot be unrolled: a constant of a rank program is an "
                 << "integer of at most 32 bits, got " << constant.getValue();
        values[constant] = number.getValue().getSExtValue();
        return success();
      })
      .Case([&](arith::AddIOp) {
        return binary([](int64_t a, int64_t b) { return a + b; });
      })
      .Case([&](arith::SubIOp) {
        return binary([](int64_t a, int64_t b) { return a - b; });
      })
      .Case([&](arith::MulIOp product) -> LogicalResult {
        int64_t result = 0;
        if (llvm::MulOverflow(value(product.getLhs()), value(product.getRhs()),
                              result) ||
            !llvm::isInt<32>(result))
          return emitError(product.getLoc())
                 << "cannot be unrolled: a product of a rank program has at "
                 << "most 32 bits, got " << value(product.getLhs()) << " times "
                 << value(product.getRhs());
        values[product] = result;
        return success();
      })
      .Case([&](arith::DivUIOp division) -> LogicalResult {
        if (value(division.getLhs()) < 0 || value(division.getRhs()) < 1)
          return emitError(division.getLoc())
                 << "cannot be unrolled: a quotient of a rank program is of "
                 << "a number that is not negative and a positive one, got "
                 << value(division.getLhs()) << " and "
                 << value(division.getRhs());
        return binary([](int64_t a, int64_t b) { return a / b; });
      })
      .Case([&](arith::CmpIOp comparison) {
        return binary([&](int64_t a, int64_t b) {
          return arith::applyCmpPredicate(comparison.getPredicate(),
                                          APInt(64, a, true),
                                          APInt(64, b, true));
        });
      })
      .Case([&](arith::MaxSIOp) {
        return binary([](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([&](arith::MinSIOp) {
        return binary([](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Default([&](Operation *other) {
        return emitError(other->getLoc())
               << "'" << other->getName() << "' cannot be unrolled; a rank "
               << "program computes with constants, sums, differences, "
               << "products, quotients, minima, maxima, comparisons and "
               << "tables";
      });
}

void Unroller::visitReduce(AllReduceOp reduce) {
  if (reduce.getLast() &&
      value(reduce.getMicrobatch()) != value(reduce.getLast()))
    return;
  for (Value buffer : reduce.getBuffers())
    summed[buffer] = reduce.getCollective();
  add(EventKind::Reduce, reduce, sums.lookup(reduce.getCollective()), {});
}

/// The slot must be held. Artifacts name one buffer of each rank for a gather.
LogicalResult Unroller::visitGather(AllGatherOp gather) {
  StringRef name = gather.getCollective();
  Value buffer = gather.getBuffer();
  if (gathering.try_emplace(name, buffer).first->second != buffer ||
      gatherOf.try_emplace(buffer, name).first->second != name)
    return gather.emitOpError()
           << "gathers '" << name << "' in buffer '"
           << buffer.getDefiningOp<BufferOp>().getBufferName()
           << "'; expected the same buffer for all microbatches of a gather, "
           << "and another buffer for each gather";
  gathered.insert({buffer, value(gather.getMicrobatch())});
  add(EventKind::Use, gather, stashes.lookup(buffer), gather.getMicrobatch());
  add(EventKind::Reduce, gather, sums.lookup(name), gather.getMicrobatch());
  return success();
}

/// Checks that `op`, by `use`, neither reads, writes nor releases a slot of a
/// gather in progress.
LogicalResult Unroller::checkGathered(Operation &op, Operation *use) {
  if (!isa_and_nonnull<AcquireOp, SlotOp, ReleaseOp>(use) ||
      use->getNumOperands() < 2)
    return success();
  Value buffer = use->getOperand(0);
  int64_t m = value(use->getOperand(1));
  if (!gathered.contains({buffer, m}))
    return success();
  return op.emitOpError() << "uses microbatch " << m << " of buffer '"
                          << buffer.getDefiningOp<BufferOp>().getBufferName()
                          << "' while its gather is under way; await it first";
}

/// As above, for what `op` itself does and for its operands.
LogicalResult Unroller::checkGathered(Operation &op) {
  if (gathered.empty() || isa<PartOp>(op))
    return success();
  if (failed(checkGathered(op, &op)))
    return failure();
  for (Value operand : op.getOperands()) {
    while (auto part = operand.getDefiningOp<PartOp>())
      operand = part.getSlot();
    if (failed(checkGathered(op, operand.getDefiningOp())))
      return failure();
  }
  return success();
}

/// Checks that `op` uses no buffer of a sum in progress.
LogicalResult Unroller::checkSummed(Operation &op) {
  if (summed.empty())
    return success();
  for (Value operand : op.getOperands())
    if (auto slot = operand.getDefiningOp<SlotOp>()) {
      auto sum = summed.find(slot.getBuffer());
      if (sum == summed.end())
        continue;
      return op.emitOpError()
             << "uses buffer '" << slot.getBufferOp().getBufferName()
             << "' while the sum '" << sum->second
             << "' is under way; await it first";
    }
  return success();
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
      // Means of gradients are divided if there are several microbatches.
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

FailureOr<Machine> unroll(ModuleOp module, int64_t microbatches) {
  Machine machine;
  llvm::StringMap<int32_t> channels;
  SmallVector<ProgramOp> programs(module.getOps<ProgramOp>());
  llvm::sort(programs, [](ProgramOp a, ProgramOp b) {
    return a.getRank() < b.getRank();
  });
  if (microbatches < 1 && !programs.empty())
    microbatches = programs.front().getMicrobatches();
  for (ProgramOp program : programs)
    if (program.getOnly() && program.getMicrobatches() != microbatches)
      return emitError(program.getLoc())
             << "runs " << program.getMicrobatches()
             << " microbatches only, got " << microbatches
             << "; schedule the program for that number";
  for (auto [index, program] : llvm::enumerate(programs))
    if (program.getRank() != int64_t(index))
      return emitError(program.getLoc())
             << "ranks must be numbered 0, 1, 2, …, got " << program.getRank()
             << " instead of " << index;
  for (ChannelOp channel : module.getOps<ChannelOp>()) {
    if (std::max(channel.getFrom(), channel.getTo()) >=
        int64_t(programs.size()))
      return emitError(channel.getLoc())
             << "joins ranks " << channel.getFrom() << " and "
             << channel.getTo() << " of " << programs.size();
    channels[channel.getSymName()] = machine.channels.size();
    machine.channels.push_back(
        {channel.getSymName().str(), channel.getSlots(microbatches),
         channel.countMessages(microbatches), getSlotStride(channel.getType()),
         channel.getFrom(), channel.getTo(), channel.getOperation(),
         channel.getSparse(), -1});
    machine.channels.back().mixed = channel.getMessages().has_value();
  }
  llvm::StringMap<int32_t> sums;
  auto addSums = [&](auto all, StringRef does) -> LogicalResult {
    for (auto sum : all) {
      if (sum.getRanks().back() >= int64_t(programs.size()))
        return emitError(sum.getLoc())
               << does << " rank " << sum.getRanks().back() << " of "
               << programs.size();
      sums[sum.getSymName()] = machine.sums.size();
      auto gather = dyn_cast<GatherOp>(sum.getOperation());
      machine.sums.push_back({sum.getSymName().str(),
                              {sum.getRanks().begin(), sum.getRanks().end()},
                              sum.getOperation(),
                              /*gathers=*/bool(gather),
                              gather && gather.getExchange()});
    }
    return success();
  };
  if (failed(addSums(module.getOps<CollectiveOp>(), "sums over")) ||
      failed(addSums(module.getOps<GatherOp>(), "gathers from")))
    return failure();
  SymbolTable symbols(module);
  for (ProgramOp program : programs) {
    RankEvents &rank = machine.ranks.emplace_back();
    if (failed(Unroller(channels, sums, symbols, rank)
                   .unroll(program, microbatches)))
      return failure();
  }
  return machine;
}

} // namespace stagewright::rank
