//===- Access.cpp - loads and stores of a warp ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Window.h"

namespace emulator::ptx {

void BlockRunner::access(Warp &warp, uint32_t mask, const Instruction &it) {
  bool loads = it.act == Instruction::Load;
  Request request;
  request.bytes = it.bytes * it.vector;
  Space space = it.space;
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = std::countr_zero(left);
    uint64_t address = 0;
    try {
      std::byte *bytes = place(warp, lane, it, address);
      loads ? load(warp, lane, it, bytes) : store(warp, lane, it, bytes);
    } catch (const Violation &error) {
      refuse(warp, lane, it, error.what());
    }
    if (space == Space::Generic)
      space = address & sharedWindow  ? Space::Shared
              : address & localWindow ? Space::Local
                                      : Space::Global;
    request.address[request.lanes++] = address;
  }
  if (space == Space::Global)
    (loads ? counters.loads : counters.stores).add(request);
  else if (space == Space::Shared)
    counters.shared.add(request);
}

/// The memory that a lane accesses, and its address.
std::byte *BlockRunner::place(Warp &warp, int lane, const Instruction &it,
                              uint64_t &address) {
  const Operand &operand = it.operands[it.act == Instruction::Load ? 1 : 0];
  bool loads = it.act == Instruction::Load;
  int bytes = it.bytes * it.vector;
  if (it.space == Space::Parameter)
    return const_cast<std::byte *>(launch.arguments.data()) + operand.offset;
  Row room;
  address = read(warp, operand.parts[0], room)[lane] + uint64_t(operand.offset);
  // "Vectors": an address must be a multiple of the size of its access.
  if (address % unsigned(bytes) != 0)
    throw Violation("uses address " + std::to_string(address) +
                    ", which is not a multiple of " + std::to_string(bytes));
  if (it.space == Space::Shared ||
      (it.space == Space::Generic && (address & sharedWindow))) {
    uint64_t at = address & ~uint64_t(sharedWindow);
    return shared.access(threadOf(warp, lane), at, bytes, barriers, !loads);
  }
  if (it.space == Space::Local ||
      (it.space == Space::Generic && (address & localWindow))) {
    uint64_t at = address & ~uint64_t(localWindow);
    if (at + unsigned(bytes) > uint64_t(kernel.local))
      throw Violation("leaves its local memory");
    return &warp.local[size_t(lane) * size_t(kernel.local) + at];
  }
  std::byte *found = memory.at(address, bytes, loads ? "reads" : "writes");
  races.access(address, bytes, blockNumber * threads() + threadOf(warp, lane),
               barriers, !loads);
  if (loads)
    memory.requireKnown(address, bytes, "reads");
  else
    std::fill_n(memory.marks(address), bytes, uint8_t(1));
  return found;
}

void BlockRunner::load(Warp &warp, int lane, const Instruction &it,
                       const std::byte *from) {
  const Operand &to = it.operands[0];
  for (int v = 0; v < it.vector; ++v, from += it.bytes) {
    const Operand &part = to.kind == Operand::Vector ? to.parts[size_t(v)] : to;
    if (part.kind == Operand::None)
      continue;
    uint64_t value = 0;
    std::memcpy(&value, from, size_t(it.bytes));
    int unused = 64 - 8 * it.bytes;
    if (it.isSigned)
      value = uint64_t(int64_t(value << unused) >> unused);
    registerOf(warp, part)[lane] = value;
  }
}

void BlockRunner::store(Warp &warp, int lane, const Instruction &it,
                        std::byte *to) {
  const Operand &from = it.operands[1];
  Row room;
  for (int v = 0; v < it.vector; ++v, to += it.bytes) {
    const Operand &part =
        from.kind == Operand::Vector ? from.parts[size_t(v)] : from;
    std::memcpy(to, &read(warp, part, room)[lane], size_t(it.bytes));
  }
}

} // namespace emulator::ptx
