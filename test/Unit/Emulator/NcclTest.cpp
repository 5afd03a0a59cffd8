//===- NcclTest.cpp - errors of the emulator's NCCL -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both ranks are in this process. Statuses are `ncclResult_t`.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

using namespace stagewright::runtime::cuda;

namespace {

enum : int { invalidArgument = 4, invalidUsage = 5 };

TEST(EmulatedNccl, RefusesConfigurations) {
  Ranks bench;
  NcclId id;
  nccl().uniqueId(&id);
  auto statusOf = [&](int ranks, const NcclConfig &config) {
    Communicator comm = nullptr;
    NcclConfig copy = config;
    return nccl().commInit.status(&comm, ranks, id, 0, &copy);
  };
  NcclConfig blocking = Ranks::config(), magic = Ranks::config();
  blocking.blocking = 1;
  magic.magic = 1;
  EXPECT_EQ(statusOf(1, Ranks::config()), invalidArgument);
  EXPECT_EQ(statusOf(2, blocking), invalidArgument);
  EXPECT_EQ(statusOf(2, magic), invalidArgument);
}

TEST(EmulatedNccl, RefusesRanksOnOneDevice) {
  Ranks bench;
  Communicator comms[2];
  bench.connect(comms, /*share=*/true);
  EXPECT_EQ(Ranks::settled(comms[0]), invalidUsage);
  EXPECT_EQ(Ranks::settled(comms[1]), invalidUsage);
  setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
  bench.connect(comms, /*share=*/true);
  EXPECT_EQ(Ranks::settled(comms[0]), 0);
  EXPECT_EQ(Ranks::settled(comms[1]), 0);
  unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
}

TEST(EmulatedNccl, RefusesASecondRankZero) {
  Ranks bench;
  NcclId id;
  nccl().uniqueId(&id);
  Communicator first = bench.begin(id, 0), second = bench.begin(id, 0);
  int states[2] = {ncclStillInProgress, ncclStillInProgress};
  while (states[0] == states[1]) { // One of them waits for rank 1.
    nccl().asyncError(first, &states[0]);
    nccl().asyncError(second, &states[1]);
  }
  EXPECT_EQ(std::min(states[0], states[1]), invalidUsage);
  for (Communicator comm : {first, second})
    nccl().commAbort(comm);
  bench.begin(id, 1); // So that the first rank no longer waits.
}

TEST(EmulatedNccl, RefusesCallsBeforeTheLastIsComplete) {
  Ranks bench;
  NcclId id;
  nccl().uniqueId(&id);
  Communicator comms[2] = {bench.begin(id, 0)};
  Stream stream = bench.stream();
  void *array = bench.pointer(64);
  auto send = [&] {
    return nccl().send.status(array, size_t(64), int(ncclBytes), 1, comms[0],
                              stream);
  };
  EXPECT_EQ(send(), invalidArgument); // Rank 1 has not joined.
  bench.use(1);
  comms[1] = bench.begin(id, 1);
  Stream other = bench.stream();
  void *there = bench.pointer(64);
  EXPECT_EQ(Ranks::settled(comms[1]), 0);
  EXPECT_EQ(nccl().receive.status(there, size_t(64), int(ncclBytes), 0,
                                  comms[1], other),
            ncclStillInProgress);
  bench.use(0);
  EXPECT_EQ(Ranks::settled(comms[0]), 0);
  EXPECT_EQ(send(), ncclStillInProgress);
  EXPECT_EQ(send(), invalidArgument);
  EXPECT_EQ(Ranks::settled(comms[0]), 0);
  EXPECT_EQ(driver().streamSynchronize.status(stream), 0);
}

namespace {
/// Two connected ranks, and an array of 64 bytes.
class EmulatedNcclPair : public testing::Test {
protected:
  void SetUp() override {
    bench.connect(comms);
    ASSERT_EQ(Ranks::settled(comms[0]) + Ranks::settled(comms[1]), 0);
    stream = bench.stream();
    array = bench.pointer(64);
  }

  Ranks bench;
  Communicator comms[2] = {};
  Stream stream = nullptr;
  void *array = nullptr;
};
} // namespace

TEST_F(EmulatedNcclPair, RefusesArguments) {
  auto sends = [&](int peer, int rank, int type = ncclBytes) {
    return nccl().send.status(array, size_t(64), type, peer, comms[rank],
                              stream);
  };
  auto receives = [&](int peer, int rank, int type = ncclBytes) {
    return nccl().receive.status(array, size_t(64), type, peer, comms[rank],
                                 stream);
  };
  for (int status :
       {sends(0, 0), sends(2, 0), sends(0, 1), sends(1, 1),
        sends(1, 0, ncclFloat32), receives(1, 1), receives(2, 1),
        receives(1, 0), receives(0, 0), receives(0, 1, ncclFloat32)})
    EXPECT_EQ(status, invalidArgument);
  auto sums = [&](void *to, int type, int operation) {
    return nccl().allReduce.status(array, to, size_t(4), type, operation,
                                   comms[0], stream);
  };
  EXPECT_EQ(sums(static_cast<char *>(array) + 16, ncclFloat32, ncclSum),
            invalidArgument);
  EXPECT_EQ(sums(array, ncclInt32, ncclSum), invalidArgument);
  EXPECT_EQ(sums(array, ncclFloat32, 2), invalidArgument);
  auto gathers = [&](int64_t place, int type) {
    return nccl().allGather.status(static_cast<char *>(array) + place, array,
                                   size_t(16), type, comms[0], stream);
  };
  EXPECT_EQ(gathers(16, ncclBytes), invalidArgument);
  EXPECT_EQ(gathers(0, ncclFloat32), invalidArgument);
  bench.use(1);
  EXPECT_EQ(sums(array, ncclFloat32, ncclSum), invalidHandle);
  bench.use(0);
}

TEST_F(EmulatedNcclPair, RefusesExchangesWithoutAPartner) {
  auto sends = [&](int peer, size_t bytes = 64, int type = ncclBytes) {
    return nccl().send.status(array, bytes, type, peer, comms[0], stream);
  };
  auto receives = [&](size_t bytes) {
    return nccl().receive.status(array, bytes, int(ncclBytes), 1, comms[0],
                                 stream);
  };
  nccl().groupStart();
  for (int status : {sends(-1), sends(0), sends(2), sends(1, 64, ncclFloat32)})
    EXPECT_EQ(status, invalidArgument);
  EXPECT_EQ(sends(1), 0);
  EXPECT_EQ(sends(1), invalidArgument);
  EXPECT_EQ(receives(32), invalidArgument);
  // Nothing is received from rank 1, which would wait forever.
  EXPECT_EQ(nccl().groupEnd.status(), invalidUsage);
}

TEST(EmulatedNccl, RefusesCallsOfOneThreadOutsideAGroup) {
  Ranks bench;
  Communicator comms[3];
  const int same[3] = {0, 1, 1}, both[2] = {0, 1};
  EXPECT_EQ(nccl().commInitAll.status(comms, 3, &same[0]), invalidUsage);
  ASSERT_EQ(nccl().commInitAll.status(comms, 2, &both[0]), 0);
  EXPECT_EQ(nccl().groupEnd.status(), invalidUsage);
  Stream stream = bench.stream();
  void *array = bench.pointer(64);
  auto sums = [&](int rank) {
    return nccl().allReduce.status(array, array, size_t(4), int(ncclFloat32),
                                   int(ncclSum), comms[rank], stream);
  };
  EXPECT_EQ(sums(0), invalidUsage);
  EXPECT_EQ(nccl().commFinalize.status(comms[0]), invalidUsage);
  // The emulator counts the two refused calls of rank 0 in the next group, in
  // which rank 1 has no call.
  nccl().groupStart();
  EXPECT_EQ(nccl().groupEnd.status(), invalidUsage);
}

} // namespace
