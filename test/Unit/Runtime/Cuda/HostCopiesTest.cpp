//===- HostCopiesTest.cpp - events of copies to and from the host ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank with one stash on the host, written as commands. Its plan passes
// verification, and fails if any wait that it needs is removed.
//
//===----------------------------------------------------------------------===//

#include "Cuda/Verify.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace stagewright::runtime;
using namespace stagewright::runtime::cuda;

namespace {

constexpr int64_t count = 5;
enum Buffers : int64_t { stash, onHost, back };

/// Forwards of microbatches 0 and 1, then backwards and forwards in turn, with
/// two slots on the host.
struct OneRank {
  OneRank() {
    RankManifest &rank = manifest.ranks.emplace_back();
    auto add = [&](const char *name, int64_t depth, bool isOnHost) {
      Buffer &buffer = rank.buffers.emplace_back();
      buffer.name = name;
      buffer.kind = BufferKind::Stash;
      buffer.bytes = 64;
      buffer.depth = depth;
      buffer.onHost = isOnHost;
    };
    add("k", 1, false);
    add("k.host", 2, true);
    add("k.back", 2, false);
    manifest.kernels.push_back({"kernel"});
    manifest.kernels[0].arguments = 1;
    memory.layouts = {layOut(manifest, 0, count)};
    memory.arenas = {Address(1) << 56};
    memory.hosts = {Address(1) << 62};
    memory.constants = {0};
    programs.resize(1);
    forward(0);
    forward(1);
    fetch(0);
    for (int64_t m = 0; m < count; ++m) {
      if (m + 1 < count)
        fetch(m + 1);
      command(Command::Fetched, back, m);
      launch(memory.slot(0, back, m));
      command(Command::Release, back, m);
      if (m + 2 < count)
        forward(m + 2);
    }
    std::vector<OrderedCommand> order;
    for (size_t i = 0; i < programs[0].commands.size(); ++i)
      order.push_back({0, i});
    PlanOptions options;
    options.local = {true};
    plan = planStep(manifest, memory, programs, order, options);
  }

  void verify(const Plan &plan) const {
    verifyPlan(manifest, memory, programs, plan, {memory.layouts[0].total});
  }

  Manifest manifest;
  Memory memory;
  std::vector<RankProgram> programs;
  Plan plan;

private:
  Command &command(Command::Kind kind, int64_t id, int64_t m) {
    programs[0].commands.push_back({kind, id, m});
    return programs[0].commands.back();
  }
  void launch(Address argument) {
    command(Command::Launch, 0, 0).to = programs[0].values.size();
    programs[0].commands.back().bytes = 1;
    programs[0].values.push_back(argument);
  }
  void copy(Command::Kind kind, int64_t id, int64_t from, int64_t to,
            int64_t m) {
    Command &it = command(kind, id, m);
    it.to = memory.slot(0, to, m);
    it.from = memory.slot(0, from, m);
    it.bytes = 64;
    it.host = onHost;
  }
  void forward(int64_t m) {
    command(Command::Acquire, stash, m).to = memory.slot(0, stash, m);
    launch(memory.slot(0, stash, m));
    copy(Command::Offload, stash, stash, onHost, m);
  }
  void fetch(int64_t m) { copy(Command::Fetch, back, onHost, back, m); }
};

std::string errorOf(const OneRank &rank, const Plan &plan) {
  try {
    rank.verify(plan);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST(HostCopies, HaveAStreamInEachDirection) {
  OneRank rank;
  ASSERT_EQ(rank.plan.streams.size(), 3u);
  EXPECT_TRUE(rank.plan.streams[0].computes());
  EXPECT_FALSE(rank.plan.streams[1].computes());
  EXPECT_EQ(rank.memory.layouts[0].host, 128);
  EXPECT_EQ(rank.memory.slot(0, onHost, 3), rank.memory.hosts[0] + 64);
  for (auto [kind, stream] :
       {std::pair(Operation::Offload, 1), std::pair(Operation::Fetch, 2)})
    EXPECT_EQ(std::count_if(rank.plan.operations.begin(),
                            rank.plan.operations.end(),
                            [&](const Operation &it) {
                              return it.kind == kind && it.stream == stream;
                            }),
              count);
  EXPECT_EQ(errorOf(rank, rank.plan), "");
}

TEST(HostCopies, NeedTheirWaits) {
  OneRank rank;
  // By stream: the number of needed waits.
  std::vector<int> needed(3, 0);
  for (size_t i = 0; i < rank.plan.operations.size(); ++i) {
    const Operation &it = rank.plan.operations[i];
    if (it.kind != Operation::Wait)
      continue;
    Plan without = rank.plan;
    without.operations.erase(without.operations.begin() + std::ptrdiff_t(i));
    std::string error = errorOf(rank, without);
    needed[size_t(it.stream)] += !error.empty();
    if (!error.empty())
      EXPECT_NE(error.find("is used while another stream may still use it"),
                std::string::npos)
          << error;
  }
  // Every forward but the first waits until its slot is copied out, every
  // backward until its slot is copied back.
  EXPECT_EQ(needed[0], count - 1 + count);
  // Every copy out waits for its forward. The host's slot is then free: its
  // copy back was awaited before that forward.
  EXPECT_EQ(needed[1], count);
  // Every copy back waits for its copy out, except the first, as the second
  // forward already waited. Its slot has then been read: the copy out follows a
  // forward that followed that backward.
  EXPECT_EQ(needed[2], count - 1);
}

TEST(HostCopies, StayWithinTheirMemory) {
  OneRank rank;
  for (Command &command : rank.programs[0].commands)
    if (command.kind == Command::Offload)
      command.to += 128;
  EXPECT_EQ(errorOf(rank, rank.plan),
            "rank 0: 64 bytes of stash 'k.host' lie outside of its memory on "
            "the host");
}
