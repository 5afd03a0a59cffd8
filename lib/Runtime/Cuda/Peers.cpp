//===- Peers.cpp - the other processes of a step on GPUs ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Peers.h"

#include "Prepare.h"
#include "stagewright/Runtime/Deadline.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace stagewright::runtime::cuda {

namespace {
/// NCCL accepts several ranks on one GPU if this variable is 1.
constexpr char sharingVariable[] = "NCCL_MULTI_RANK_GPU_ENABLE";
/// How long NCCL may take to abort its communicators; after that the process
/// exits anyway.
constexpr auto abortTime = std::chrono::milliseconds(250);

/// Where a rank runs; sent between processes byte by byte.
struct RankGpu {
  Uuid gpu;
  int number, nccl;
};
} // namespace

Peers::Peers(Processes &processes)
    : processes(processes), hosts(processes.hosts()) {}

int Peers::gpu(const std::string &list, int present) const {
  auto rank = size_t(self());
  if (!list.empty())
    return placeRanks(list, hosts.size(), present)[rank];
  size_t count = 0, before = 0;
  for (size_t r = 0; r < hosts.size(); ++r)
    if (hosts[r] == hosts[rank]) {
      before += r < rank;
      ++count;
    }
  return placeRanks("", count, present)[before];
}

void Peers::settleSharing(const Device &device) const {
  RankGpu mine = {device.uuid(), device.number(), nccl().release};
  std::vector<RankGpu> all(hosts.size());
  group().gather(&mine, all.data(), sizeof(RankGpu), PollTimeout(0, 0));
  bool shared = false;
  for (size_t a = 0; a < all.size(); ++a)
    for (size_t b = a + 1; b < all.size(); ++b) {
      if (hosts[a] != hosts[b] ||
          std::memcmp(&all[a].gpu, &all[b].gpu, sizeof(Uuid)) != 0)
        continue;
      shared = true;
      for (size_t r : {a, b})
        if (all[r].nccl < ncclShares)
          raise("ranks ", a, " and ", b, " share GPU ", all[a].number, " of '",
                hosts[a], "', which NCCL ", printNcclVersion(all[r].nccl),
                " does not support; give each a GPU with --devices, run the "
                "ranks as threads of one process with --transport=threads "
                "(compiled without --shard-collectives, and with "
                "--bucket-bytes=0 if they sum gradients), or use NCCL ",
                printNcclVersion(ncclShares), " or later, which comes with ",
                ncclPackage);
    }
  if (shared)
    setenv(sharingVariable, "1", 1);
}

void Peers::together(const std::function<void()> &body, double seconds) const {
  std::string error;
  try {
    body();
  } catch (const std::exception &problem) {
    error = problem.what();
  }
  if (!processes.agree(error, now(), true, PollTimeout(0, seconds)))
    fail("rank " + std::to_string(self()) + ": waited " +
             std::to_string(int(seconds)) +
             " s for the other ranks to be ready",
         nullptr);
}

void Peers::look() const {
  if (int64_t who = group().deadProcess(); who >= 0)
    raise("the process of rank ", who, " has ended");
}

/// Aborts NCCL on another thread, since it may wait for a message that never
/// comes.
void Peers::fail(const std::string &error, const Messages *messages,
                 int status) const {
  static std::atomic<bool> done = false;
  if (messages) {
    std::thread([messages] {
      messages->abort();
      done = true;
    }).detach();
    auto end = std::chrono::steady_clock::now() + abortTime;
    while (!done && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  group().abort(status, error);
}

} // namespace stagewright::runtime::cuda
