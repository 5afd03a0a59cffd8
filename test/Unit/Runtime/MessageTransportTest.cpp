//===- MessageTransportTest.cpp - paced messages between processes --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/MessageTransport.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

using namespace stagewright::runtime;

namespace {

constexpr int64_t part = 16 << 10, millisecond = 1'000'000;

/// Rank 0 of two processes. Transfer i ends i + 1 times `interval` after this
/// object was made, if i is less than `arriving`; others never end.
struct TimedMessenger final : Messenger {
  int64_t self() const override { return 0; }
  int64_t size() const override { return 2; }
  void renumber(int64_t) override {}
  bool gather(const void *, void *, int64_t, PollTimeout) override {
    return false;
  }
  void broadcast(int64_t, void *, int64_t) override {}
  void sendNow(int64_t, const void *, int64_t) override {}
  void receiveNow(int64_t, void *, int64_t) override {}
  int64_t deadProcess() override { return dead; }
  void abort(int, const std::string &) override { std::abort(); }
  void close() override {}

  int64_t prepareSend(const void *, int64_t, int64_t, int64_t) override {
    return transfers++;
  }
  int64_t prepareReceive(void *, int64_t, int64_t, int64_t) override {
    return transfers++;
  }
  int64_t prepareSum(void *, sw_dtype, int64_t,
                     std::span<const int64_t>) override {
    return transfers++;
  }
  int64_t prepareGather(void *, int64_t, std::span<const int64_t>,
                        bool) override {
    return transfers++;
  }
  void start(int64_t) override { ++started; }
  bool done(int64_t transfer) override {
    return transfer < arriving && now() - made > (transfer + 1) * interval;
  }
  bool await(int64_t, PollTimeout) override { return false; }
  void progress() override {}
  void freeTransfers(std::span<const int64_t>, bool) override {}
  void setReporter(std::function<FailureReport()>) override {}
  void sendStop() override { ++stops; }
  bool stopReceived() override { return false; }

  int64_t transfers = 0, started = 0, stops = 0, dead = -1;
  int64_t arriving = 1000, interval = 100 * millisecond, made = now();
};

/// Rank 0, with a channel from or to rank 1 whose message has 10 parts.
struct Paced {
  Paced(bool sends, double rate, double limit) {
    manifest.microbatches = 1;
    manifest.ranks.resize(2);
    manifest.channels.push_back({{1, false}, "c", !sends, sends, 10 * part});
    manifest.flows = {{{!sends, sends}, rate}};
    layouts = layOut(manifest, 1);
    memory.resize(size_t(layouts[0].total));
    transport = std::make_unique<MessageTransport>(
        manifest, layouts, memory.data(), 1, false, true, 0, messenger);
    transport->place(0).begin();
    transport->limitWaits(limit);
  }
  /// Sends the message and ends the step; returns the error.
  std::string send() {
    transport->claim(0, 0, 0);
    transport->send(0, 0, 0);
    EXPECT_EQ(messenger.started, 4); // A burst.
    EXPECT_TRUE(transport->needsCalls());
    transport->place(0).leave(true);
    transport->startRest();
    return transport->result();
  }

  TimedMessenger messenger;
  Manifest manifest;
  std::vector<Layout> layouts;
  std::vector<std::byte> memory;
  std::unique_ptr<MessageTransport> transport;
};

TEST(PacedMessages, MayTakeLongerThanTheDeadlineIfTheirPartsArrive) {
  Paced rank(/*sends=*/false, 1000, /*limit=*/0.5);
  EXPECT_EQ(rank.messenger.transfers, 10);
  EXPECT_NE(rank.transport->recv(0, 0, 0), nullptr); // After a second.
}

TEST(PacedMessages, WhosePartsStayAwayFailTheStep) {
  Paced rank(/*sends=*/false, 1000, /*limit=*/0.5);
  rank.messenger.arriving = 3;
  try {
    rank.transport->recv(0, 0, 0);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what())
                  .find("waits for microbatch 0 of channel 'c' from rank 1, "
                        "without progress for 0.5 s"),
              std::string::npos)
        << error.what();
  }
}

TEST(PacedMessages, NeedARateBetweenTwoHosts) {
  Paced rank(/*sends=*/true, 1000, /*limit=*/0);
  rank.manifest.flows->clear();
  try {
    MessageTransport(rank.manifest, rank.layouts, rank.memory.data(), 1, false,
                     true, 0, rank.messenger);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()),
              "pace has 'sends', but no microbatches of the artifact go from "
              "one host to another; leave it out, or plan for several hosts");
  }
}

TEST(PacedMessages, AreAllStartedAtTheEndOfAStep) {
  Paced rank(/*sends=*/true, 10 * double(part), /*limit=*/0.5);
  EXPECT_EQ(rank.send(), "");
  EXPECT_EQ(rank.messenger.started, 10);
  EXPECT_FALSE(rank.transport->needsCalls());
}

TEST(PacedMessages, EndAtTheDeadlineAfterTheLastAction) {
  Paced rank(/*sends=*/true, 1e-3, /*limit=*/0.1);
  EXPECT_EQ(rank.send(),
            "rank 0: after its last action waits to send microbatch "
            "0 of channel 'c' to rank 1, without progress for 0.1 s");
  EXPECT_EQ(rank.messenger.stops, 1);
}

TEST(PacedMessages, EndIfAProcessDiesAfterTheLastAction) {
  Paced rank(/*sends=*/true, 1e-3, /*limit=*/0);
  rank.messenger.dead = 1;
  EXPECT_EQ(rank.send(),
            "rank 0: after its last action waits to send microbatch "
            "0 of channel 'c' to rank 1");
  EXPECT_EQ(rank.messenger.stops, 1);
}

} // namespace
