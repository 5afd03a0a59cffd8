//===- Commands.cpp - commands of a recorded program ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

namespace stagewright::runtime::cuda {

std::vector<Extent> usesOf(const RankProgram &program,
                           const std::vector<Kernel> &kernels,
                           const Command &command) {
  switch (command.kind) {
  case Command::Launch: {
    const Kernel &kernel = kernels[size_t(command.id)];
    std::vector<Extent> list;
    for (int64_t i = 0; i < command.bytes; ++i)
      list.push_back({program.values[size_t(command.to) + size_t(i)],
                      kernel.bytes.empty() ? 1 : kernel.bytes[size_t(i)]});
    return list;
  }
  case Command::Fill:
  case Command::Fetch:
    return {{command.to, command.bytes}};
  case Command::Copy:
    return {{command.to, command.bytes}, {command.from, command.bytes}};
  case Command::Offload:
    return {{command.from, command.bytes}};
  case Command::Contract: {
    const Contraction &it = program.contractions[size_t(command.id)];
    return {{it.a, 1}, {it.b, 1}, {it.c, 1}, {it.bias, 1}, {it.aux, 1}};
  }
  case Command::Attend:
    return extentsOf(program.attentions[size_t(command.id)]);
  case Command::Convolve:
    return extentsOf(program.convolutions[size_t(command.id)]);
  case Command::Claim:
  case Command::Acquire:
    return {{command.to, 1}};
  default:
    return {};
  }
}

void removeCommands(RankProgram &program, const std::vector<bool> &removed) {
  std::vector<Command> &commands = program.commands;
  // Command::instead is an index, which changes.
  std::vector<int64_t> places(commands.size());
  size_t kept = 0;
  for (size_t i = 0; i < commands.size(); ++i) {
    places[i] = int64_t(kept);
    if (removed[i])
      continue;
    Command command = commands[i];
    if (command.instead >= 0)
      command.instead = places[size_t(command.instead)];
    commands[kept++] = command;
  }
  commands.resize(kept);
}

} // namespace stagewright::runtime::cuda
