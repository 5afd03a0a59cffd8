//===- RendezvousTest.cpp - processes that meet at an address -------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks are threads here; test/Runtime/rendezvous.test uses processes and
// checks the messages for users.
//
//===----------------------------------------------------------------------===//

#include "Processes/NetworkSockets.h"
#include "Processes/RankListener.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <unistd.h>

using namespace stagewright::runtime;

namespace {

uint16_t freePort(const std::string &host) {
  Socket socket = listenAt(resolve(host, 0)[0], false);
  return socket ? ownAddress(socket.get()).port() : uint16_t(0);
}

/// Runs `body` for each rank, the last one first; returns their errors.
std::vector<std::string> onEach(int64_t ranks,
                                const std::function<void(int64_t)> &body) {
  auto errors = std::vector<std::string>(size_t(ranks));
  std::vector<std::thread> threads;
  for (int64_t rank = ranks - 1; rank >= 0; --rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const ReportedError &error) {
        errors[size_t(rank)] = std::string("heard: ") + error.what();
      } catch (const Error &error) {
        errors[size_t(rank)] = error.what();
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

Rendezvous at(const std::string &host, uint16_t port, int64_t rank,
              int64_t ranks) {
  return {host, port, rank, ranks, 20, 7};
}

/// Five ranks connect and gather, are renumbered in reverse order, and gather
/// again.
void meetAndGather(const std::string &host) {
  constexpr int64_t ranks = 5;
  uint16_t port = freePort(host);
  ASSERT_NE(port, 0);
  auto errors = onEach(ranks, [&](int64_t rank) {
    NetworkSockets sockets(rank, connectRanks(at(host, port, rank, ranks)));
    for (int64_t number : {rank, ranks - 1 - rank}) {
      sockets.renumber(number);
      std::vector<int64_t> all(ranks);
      sockets.gather(&number, all.data(), sizeof(number), PollTimeout(0, 0));
      EXPECT_EQ(all, (std::vector<int64_t>{0, 1, 2, 3, 4}));
    }
    EXPECT_EQ(sockets.self(), ranks - 1 - rank);
    sockets.close();
  });
  EXPECT_EQ(errors, std::vector<std::string>(ranks));
}

/// The limit of waits that have no timeout ends none that has one.
TEST(Rendezvous, AGatherWaitsAsLongAsItsTimeout) {
  uint16_t port = freePort("localhost");
  auto errors = onEach(2, [&](int64_t rank) {
    NetworkSockets sockets(rank, connectRanks(at("localhost", port, rank, 2)));
    sockets.limitWaits(0.1);
    if (rank == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
    std::vector<int64_t> all(2);
    EXPECT_TRUE(
        sockets.gather(&rank, all.data(), sizeof(rank), PollTimeout(0, 30)));
    EXPECT_EQ(all, (std::vector<int64_t>{0, 1}));
    sockets.close();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST(Rendezvous, RanksMeetByAName) { meetAndGather("localhost"); }

TEST(Rendezvous, RanksMeetByAnAddressOfIpv6) {
  if (!listenAt(resolve("::1", 0)[0], false))
    GTEST_SKIP() << "this host has no IPv6";
  meetAndGather("::1");
}

/// Given the host's own name, a rank listens at all addresses of the host.
TEST(Rendezvous, RanksMeetByTheNameOfTheHost) {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  try {
    resolve(name, 0);
  } catch (const Error &) {
    GTEST_SKIP() << "this host does not know its name";
  }
  meetAndGather(name);
}

TEST(Rendezvous, OneRankIsAlone) {
  Connections found =
      connectRanks(at("localhost", freePort("localhost"), 0, 1));
  EXPECT_EQ(found.calls.size(), 1U);
  EXPECT_FALSE(found.calls[0]);
}

TEST(Rendezvous, AnotherArtifactIsRefusedEverywhere) {
  uint16_t port = freePort("localhost");
  auto errors = onEach(2, [&](int64_t rank) {
    Rendezvous how = at("localhost", port, rank, 2);
    how.artifact += uint64_t(rank);
    connectRanks(how);
  });
  EXPECT_NE(errors[0].find("has another artifact (its hash is 8), but rank 0 "
                           "has 7; give all ranks the same file"),
            std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[1], "heard: " + errors[0]);
}

TEST(Rendezvous, AnotherVersionIsRefused) {
  uint16_t port = freePort("localhost");
  auto errors = onEach(2, [&](int64_t rank) {
    if (rank == 0) {
      connectRanks(at("localhost", port, 0, 2));
      return;
    }
    Hello hello;
    hello.version = 1, hello.rank = 1;
    Socket socket;
    while (!socket)
      socket = connectTo(resolve("localhost", port)[0], 1);
    sendAll(socket.get(), &hello, sizeof(hello), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  EXPECT_NE(errors[0].find("has version 1 of the runtime's interface, but rank "
                           "0 has " +
                           std::to_string(SW_ABI_VERSION)),
            std::string::npos)
      << errors[0];
}

/// A program at the port that does not answer as a rank gives this error.
TEST(Rendezvous, APortOfAnotherProgramIsNamed) {
  Socket other = listenAt(resolve("localhost", 0)[0], false);
  Rendezvous how = at("localhost", ownAddress(other.get()).port(), 1, 2);
  how.seconds = 0.5;
  auto errors = onEach(1, [&](int64_t) { connectRanks(how); });
  EXPECT_NE(errors[0].find("does not answer as rank 0; is another program at "
                           "this port?"),
            std::string::npos)
      << errors[0];
}

TEST(Rendezvous, ATakenPortAndAnUnknownHostAreErrors) {
  Socket taken = listenAt(resolve("localhost", 0)[0], false);
  uint16_t port = ownAddress(taken.get()).port();
  auto errors =
      onEach(1, [&](int64_t) { connectRanks(at("localhost", port, 0, 2)); });
  EXPECT_EQ(errors[0],
            "rank 0 cannot listen at localhost:" + std::to_string(port) +
                ": Address already in use; give the address of its "
                "host and a free port, and rank 0 to one process "
                "only");
  errors =
      onEach(1, [&](int64_t) { connectRanks(at("no.such.invalid", 1, 0, 2)); });
  EXPECT_EQ(errors[0].rfind("there is no host 'no.such.invalid': ", 0), 0U)
      << errors[0];
}

} // namespace
