//===- UnrollPrograms.cpp - from the programs of a module to a machine ----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unroller.h"

namespace stagewright::rank {

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
             << channel.getTo() << ", but the number of ranks is "
             << programs.size();
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
               << does << " rank " << sum.getRanks().back()
               << ", but the number of ranks is " << programs.size();
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
