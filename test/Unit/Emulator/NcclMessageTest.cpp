//===- NcclMessageTest.cpp - messages of the emulator's NCCL --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <optional>

using namespace stagewright::runtime::cuda;

namespace {

/// A message of rank 0, or its part of a sum, gather or exchange, in an array
/// of `room` bytes.
struct Message {
  enum Kind { Sent, Summed, Gathered, Exchanged } kind = Sent;
  size_t bytes = 64, room = 64;
  bool isWritten = true;
  std::optional<Kind> other = {}; ///< kind of rank 1, if it differs
};

/// Exchanges `it` with rank 1, whose part has 64 bytes; returns the array of
/// rank 0.
DevicePointer exchange(const Message &it, Stream stream) {
  auto &ranks = *new Ranks; // Its threads outlive a process that exits.
  ranks.kernel("");
  Communicator comms[2];
  ranks.connect(comms);
  EXPECT_EQ(Ranks::settled(comms[0]) + Ranks::settled(comms[1]), 0);
  void *here = it.isWritten ? ranks.pointer(it.room)
                            : reinterpret_cast<void *>(ranks.array(it.room));
  ranks.use(1);
  void *there = ranks.pointer(64);
  Stream other = ranks.stream();
  auto collect = [&](int rank, void *array, size_t bytes, Stream on) {
    auto kind = rank == 1 ? it.other.value_or(it.kind) : it.kind;
    if (kind == Message::Summed)
      nccl().allReduce.status(array, array, bytes / 4, int(ncclFloat32),
                              int(ncclSum), comms[rank], on);
    else if (kind == Message::Exchanged) {
      nccl().groupStart();
      nccl().send.status(array, bytes / 2, int(ncclBytes), 1 - rank,
                         comms[rank], on);
      nccl().receive.status(static_cast<char *>(array) + bytes / 2, bytes / 2,
                            int(ncclBytes), 1 - rank, comms[rank], on);
      EXPECT_EQ(nccl().groupEnd.status(), ncclStillInProgress);
    } else
      nccl().allGather.status(static_cast<char *>(array) + rank * bytes / 2,
                              array, bytes / 2, int(ncclBytes), comms[rank],
                              on);
  };
  if (it.kind != Message::Sent)
    collect(1, there, 64, other);
  else
    nccl().receive.status(there, size_t(64), int(ncclBytes), 0, comms[1],
                          other);
  ranks.use(0);
  if (it.kind != Message::Sent)
    collect(0, here, it.bytes, stream);
  else
    nccl().send.status(here, it.bytes, int(ncclBytes), 1, comms[0], stream);
  return reinterpret_cast<DevicePointer>(here);
}

TEST(EmulatedNcclMessage, Arrives) {
  for (auto kind : {Message::Sent, Message::Summed, Message::Gathered,
                    Message::Exchanged}) {
    Bench bench;
    Stream stream = bench.stream();
    exchange({.kind = kind}, stream);
    EXPECT_EQ(driver().streamSynchronize.status(stream), 0);
  }
}

using EmulatedNcclMessageDeathTest = testing::Test;

void expectFailureOf(const Message &message, const char *why) {
  expectFailure([&](Bench &, Stream stream) { exchange(message, stream); },
                why);
}

TEST(EmulatedNcclMessageDeathTest, FailsIfThePartnersSizesDiffer) {
  const char *why = "719: .* has another size or kind than a partner's";
  expectFailureOf({.bytes = 60}, why);
  expectFailureOf({.kind = Message::Summed, .bytes = 60}, why);
  expectFailureOf({.kind = Message::Gathered, .bytes = 60}, why);
  expectFailureOf({.kind = Message::Exchanged, .bytes = 60}, why);
}

TEST(EmulatedNcclMessageDeathTest, FailsIfThePartnersOrdersDiffer) {
  const char *why = "719: .* has another size or kind than a partner's";
  expectFailureOf({.kind = Message::Gathered, .other = Message::Summed}, why);
  expectFailureOf({.kind = Message::Exchanged,
                   .bytes = 128,
                   .room = 128,
                   .other = Message::Summed},
                  why);
}

TEST(EmulatedNcclMessageDeathTest, PassesOnWhatNothingWrote) {
  expectFailure(
      [](Bench &, Stream stream) {
        char bytes[64];
        driver().copyToHost(
            static_cast<void *>(bytes),
            exchange({.kind = Message::Summed, .isWritten = false}, stream),
            size_t(64), stream);
      },
      "719: copies to the host 1 bytes .*never written");
}

TEST(EmulatedNcclMessageDeathTest, FailsIfItIsNotAllocated) {
  expectFailureOf({.room = 60}, "719: ncclSend 64 bytes .*not allocated");
  expectFailureOf({.kind = Message::Summed, .room = 60},
                  "719: ncclAllReduce 64 bytes .*not allocated");
  expectFailureOf({.kind = Message::Gathered, .room = 60},
                  "719: ncclAllGather 64 bytes .*not allocated");
  expectFailureOf({.kind = Message::Exchanged, .room = 60},
                  "719: exchange 32 bytes .*not allocated");
}

} // namespace
