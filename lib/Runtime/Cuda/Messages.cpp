//===- Messages.cpp - a rank's messages to other processes ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Messages.h"

#include <map>

namespace stagewright::runtime::cuda {

namespace {
constexpr int64_t word = sizeof(uint32_t);

/// The action of a rank that sends or receives a message, such as "0B2", or
/// that begins a collective which the rank has begun `before` times already.
std::string actionOf(const RankProgram &program, Command::Kind kind,
                     int64_t channel, int64_t m, int64_t before = 0) {
  std::string action;
  for (const Command &it : program.commands) {
    if (it.kind == Command::BeginAction)
      action = std::to_string(it.id) + char(it.bytes) + std::to_string(it.m);
    if (it.kind == kind && it.id == channel && it.m == m && before-- == 0)
      break;
  }
  return action;
}
} // namespace

Messages::Messages(const Manifest &manifest, const RankProgram &program,
                   const Plan &plan, const Device &device, ProcessGroup &group)
    : manifest(manifest), program(program), plan(plan),
      host(word * int64_t(plan.messages + 2)),
      numbers(device, word * int64_t(plan.messages + 1)),
      ways(manifest, group) {
  auto *all = reinterpret_cast<uint32_t *>(host.base()) + 1;
  for (size_t i = 0; i <= plan.messages; ++i)
    all[i] = uint32_t(i);
  device.use();
  driver().copyToDevice(numbers.base(), static_cast<const void *>(all),
                        size_t(word) * (plan.messages + 1), nullptr);
  driver().streamSynchronize(nullptr);
  begin();
}

void Messages::notifyHost(size_t number, Stream stream) const {
  driver().copyToHost(static_cast<void *>(host.base()),
                      numbers.base() + Address(word) * number, size_t(word),
                      stream);
}

std::string Messages::next() const {
  size_t left = arrived().load();
  std::map<size_t, int64_t> begun; // By collective.
  for (const Operation &it : plan.operations) {
    bool sends = it.kind == Operation::SendTo;
    bool sums = it.kind == Operation::Sum;
    if ((!sends && !sums && it.kind != Operation::TakeFrom) || left-- > 0) {
      begun[it.number] += sums;
      continue;
    }
    if (const Collective *of =
            sums ? &manifest.collectives[it.number] : nullptr)
      return "action " +
             actionOf(program, Command::Reduce, int64_t(it.number), 0,
                      begun[it.number]) +
             " began the " + of->describe() + " with " + of->others(it.rank);
    const Channel &channel = manifest.channels[it.number];
    std::string message = channel.describe(it.m);
    std::string action =
        actionOf(program, sends ? Command::Send : Command::Receive,
                 int64_t(it.number), it.m);
    return "action " + action +
           (sends
                ? " sends " + message + " to rank " + std::to_string(channel.to)
                : " waits for " + message + " from rank " +
                      std::to_string(channel.from));
  }
  return "";
}

} // namespace stagewright::runtime::cuda
