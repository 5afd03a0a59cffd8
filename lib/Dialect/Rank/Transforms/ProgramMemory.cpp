//===- ProgramMemory.cpp - bytes of a rank program ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Rank/Transforms/ProgramMemory.h"
#include "mlir/IR/Builders.h"

namespace stagewright::rank {

ProgramMemory computeMemory(ProgramOp program, const RankEvents &events,
                            int64_t microbatches) {
  ProgramMemory memory;
  for (BufferOp buffer : program.getBody().front().getOps<BufferOp>()) {
    int64_t bytes =
        getSlotStride(buffer.getType()) * buffer.getSlots(microbatches);
    switch (buffer.getKind()) {
    case BufferKind::Parameter:
    case BufferKind::Constant:
    case BufferKind::Seed:
      memory.parameters += bytes;
      break;
    case BufferKind::State:
      memory.state += bytes;
      break;
    case BufferKind::Batch:
    case BufferKind::Microbatch:
      memory.batch += bytes;
      break;
    case BufferKind::Gradient:
      memory.gradients += bytes;
      break;
    case BufferKind::Accumulator:
    case BufferKind::Output:
      memory.outputs += bytes;
      break;
    case BufferKind::Stash:
      if (buffer.getOnHost()) {
        memory.host += bytes;
        break;
      }
      memory.stash += bytes;
      if (buffer.getPlace())
        memory.shared += bytes;
      break;
    case BufferKind::Workspace:
      memory.workspace += bytes;
      break;
    }
  }
  for (ChannelOp channel :
       program->getParentOfType<ModuleOp>().getOps<ChannelOp>())
    if (channel.getTo() == program.getRank())
      memory.transfers +=
          getSlotStride(channel.getType()) * channel.getSlots(microbatches);
  int64_t fixed =
      memory.arena() - memory.stash - memory.workspace + memory.shared;
  memory.livePeak = fixed + livePeak(events);
  memory.bound = fixed + liveBound(events);
  return memory;
}

/// The value of attribute `memory` of a program.
static DictionaryAttr toAttribute(MLIRContext *context,
                                  const ProgramMemory &memory) {
  Builder builder(context);
  auto entry = [&](StringRef name, int64_t bytes) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(bytes));
  };
  SmallVector<NamedAttribute> entries = {entry("parameters", memory.parameters),
                                         entry("gradients", memory.gradients),
                                         entry("batch", memory.batch),
                                         entry("outputs", memory.outputs),
                                         entry("stash", memory.stash),
                                         entry("transfers", memory.transfers),
                                         entry("workspace", memory.workspace),
                                         entry("shared", memory.shared),
                                         entry("arena", memory.arena()),
                                         entry("live_peak", memory.livePeak),
                                         entry("bound", memory.bound)};
  if (memory.state) // Most steps have no optimizer.
    entries.push_back(entry("state", memory.state));
  if (memory.host) // Most do not offload.
    entries.push_back(entry("host", memory.host));
  return builder.getDictionaryAttr(entries);
}

LogicalResult updateMemory(ModuleOp module) {
  FailureOr<Machine> machine = unroll(module, 0);
  if (failed(machine))
    return failure();
  for (ProgramOp program : module.getOps<ProgramOp>())
    program.setMemoryAttr(
        toAttribute(module.getContext(),
                    computeMemory(program, machine->ranks[program.getRank()],
                                  program.getMicrobatches())));
  return success();
}

} // namespace stagewright::rank
