//===- StagingTest.cpp - copies through bounded pinned memory -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/EmulatedHost.h"
#include "Cuda/StagingBlocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace stagewright::runtime::cuda;

namespace {

StagingBlocks::Fill from(const std::byte *data) {
  return [data](std::byte *to, int64_t at, int64_t bytes) {
    std::memcpy(to, data + at, size_t(bytes));
  };
}

struct Staged {
  Emulator emulator;
  Device device = Device(0);
  StreamOwner stream = StreamOwner(device, Priority::Usual);
  DeviceMemory memory = DeviceMemory(device, 4096);

  /// The calls since the previous request: bytes of uploads or downloads, and
  /// events recorded or synchronized.
  std::string copies() const {
    std::string text;
    for (const Call &call : emulator.calls())
      if (call.word == "upload" || call.word == "download")
        text += call.values.at("bytes") + " ";
      else if (call.word == "record" || call.word == "synchronize")
        text += call.word + " ";
    return text;
  }
};

TEST(Staging, PinsTwoBlocksHoweverMuchThereIs) {
  Staged it;
  it.emulator.calls();
  StagingBlocks blocks(it.device, it.stream.get(), int64_t(1) << 40);
  std::string pinned;
  for (const Call &call : it.emulator.calls())
    if (call.word == "pin")
      pinned += call.values.at("bytes") + " ";
  EXPECT_EQ(pinned, "67108864 67108864 ");
}

TEST(Staging, LoadsByPiecesFromBothBlocksInTurn) {
  Staged it;
  StagingBlocks blocks(it.device, it.stream.get(), 256);
  std::vector<std::byte> data(900);
  it.emulator.calls();
  blocks.upload(it.memory.base(), int64_t(data.size()), from(data.data()));
  std::vector<std::string> to, hosts;
  for (const Call &call : it.emulator.calls())
    if (call.word == "upload") {
      to.push_back(call.values.at("to"));
      hosts.push_back(call.values.at("host"));
    }
  ASSERT_EQ(to.size(), 4u);
  for (size_t i = 0; i < to.size(); ++i)
    EXPECT_EQ(std::stoull(to[i], nullptr, 16), it.memory.base() + 256 * i);
  EXPECT_EQ(hosts[0], hosts[2]);
  EXPECT_EQ(hosts[1], hosts[3]);
  EXPECT_NE(hosts[0], hosts[1]);
}

TEST(Staging, SmallCopiesShareABlock) {
  Staged it;
  StagingBlocks blocks(it.device, it.stream.get(), 256);
  std::byte data[64] = {};
  it.emulator.calls();
  for (int i = 0; i < 5; ++i)
    blocks.upload(it.memory.base(), sizeof(data), from(data));
  EXPECT_EQ(it.copies(), "64 64 64 64 record 64 ");
}

TEST(Staging, SavesNoMoreThanABlockAtOnce) {
  Staged it;
  StagingBlocks blocks(it.device, it.stream.get(), 256);
  it.emulator.calls();
  blocks.fetch(it.memory.base(), 256);
  blocks.fetch(it.memory.base() + 256, 44);
  EXPECT_EQ(it.copies(), "256 synchronize record 44 synchronize ");
  try {
    blocks.fetch(it.memory.base(), 257);
    ADD_FAILURE() << "a block has 256 bytes";
  } catch (const std::exception &error) {
    EXPECT_STREQ(error.what(), "a block of pinned memory has 256 bytes, so 257 "
                               "bytes cannot be copied at once");
  }
}

TEST(Staging, WhatIsLoadedByPiecesIsSaved) {
  Staged it;
  StagingBlocks blocks(it.device, it.stream.get(), 256);
  // Several blocks each, one after the other; the last block is partial.
  std::vector<std::byte> data(3000), saved(data.size());
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = std::byte(i * 2654435761u >> 13);
  int64_t at = 0;
  for (int64_t bytes : {900, 64, 1, 1300, 735}) {
    blocks.upload(it.memory.base() + DevicePointer(at), bytes,
                  from(data.data() + at));
    at += bytes;
  }
  ASSERT_EQ(at, int64_t(data.size()));
  blocks.settle();
  for (int64_t done = 0, size = 0; done < at; done += size) {
    size = std::min<int64_t>(at - done, 200);
    std::memcpy(saved.data() + done,
                blocks.fetch(it.memory.base() + DevicePointer(done), size),
                size_t(size));
  }
  EXPECT_EQ(saved, data);
}

} // namespace
