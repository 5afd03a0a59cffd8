//===- DeviceStepTest.cpp - steps on an emulated CUDA ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/EmulatedHost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace {

/// The compute calls and copies of one stream, with the schedule's names.
std::string work(const std::vector<Call> &calls, int stream) {
  static const std::map<std::string, std::string> names = {
      {"matmul", "product"}, {"copy", "copy"}, {"fill", "fill"}};
  std::string text;
  for (const Call &call : calls) {
    if (call.number("stream") != stream)
      continue;
    if (call.word == "launch")
      text += " " + call.values.at("kernel").substr(5);
    else if (auto name = names.find(call.word); name != names.end())
      text += " " + name->second;
  }
  return text;
}

size_t count(const std::vector<Call> &calls, const std::string &word) {
  return size_t(std::count_if(calls.begin(), calls.end(),
                              [&](const Call &it) { return it.word == word; }));
}

/// The calls of the fixture's entry functions for 4 microbatches.
const char *const rank0 =
    " copy product copy product product copy product product copy product"
    " product product scale";
const char *const rank1 =
    " fill loss copy scale loss copy scale loss copy scale loss copy scale";

/// Streams of the last step that was created.
std::vector<int> streamsOf(const std::vector<Call> &calls) {
  std::vector<int> ids;
  for (const Call &call : calls)
    if (call.word == "stream")
      ids.push_back(call.number("id"));
  return ids;
}

/// Expects that every awaited event was recorded before; returns the number of
/// waits.
size_t expectRecordedBefore(const std::vector<Call> &calls) {
  std::set<int> recorded;
  size_t waits = 0;
  for (const Call &call : calls) {
    if (call.word == "record")
      recorded.insert(call.number("event"));
    if (call.word != "wait")
      continue;
    ++waits;
    EXPECT_TRUE(recorded.count(call.number("event"))) << call.line;
  }
  return waits;
}

TEST(DeviceStep, DoesWhatTheEntriesAskForInTheirOrder) {
  Emulator emulator;
  for (bool direct : {true, false}) {
    sw_options options = Host::defaults();
    options.direct = direct;
    Host host = deviceHost(options);
    std::vector<int> streams = streamsOf(emulator.calls());
    ASSERT_EQ(streams.size(), 2u);
    host.run();
    std::vector<Call> calls = emulator.calls();
    EXPECT_EQ(work(calls, streams[0]), rank0);
    EXPECT_EQ(work(calls, streams[1]), rank1);
    EXPECT_GE(expectRecordedBefore(calls), 8u); // one for each message
  }
}

TEST(DeviceStep, IsOneLaunchFromTheSecondTimeOn) {
  Emulator emulator;
  Host host = deviceHost();
  host.run();
  std::vector<Call> first = emulator.calls();
  EXPECT_EQ(count(first, "capture"), 1u);
  EXPECT_EQ(count(first, "replay"), 1u);
  host.run();
  std::vector<Call> second = emulator.calls();
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0].word, "replay");
  EXPECT_EQ(second[1].word, "record"); // its end, for which the host waits
}

TEST(DeviceStep, NeitherWaitsForTheHostNorAllocates) {
  Emulator emulator;
  for (bool direct : {true, false}) {
    sw_options options = Host::defaults();
    options.direct = direct;
    Host host = deviceHost(options);
    emulator.calls();
    host.run();
    for (const Call &call : emulator.calls())
      for (const char *word : {"synchronize", "alloc", "pin", "free", "unpin",
                               "stream", "heuristic", "download"})
        EXPECT_NE(call.word, word) << call.line;
  }
}

TEST(DeviceStep, PlansGraphsOnceForEachShapeBeforeMemoryIsTaken) {
  Emulator emulator;
  Variable graphs("DEVICE_FAULT", "graphs");
  Host host = deviceHost();
  std::vector<Call> made = emulator.calls();
  std::string order;
  int64_t bytes = 0;
  for (const Call &call : made)
    if (call.word == "plan" || call.word == "alloc") {
      order += call.line.substr(0, call.line.find(' ', 5)) + "; ";
      bytes = std::max<int64_t>(bytes, call.number("bytes"));
    }
  EXPECT_EQ(order.find("plan attention; plan attention; plan convolution; "
                       "alloc"),
            0u)
      << order;
  EXPECT_EQ(count(made, "plan"), 3u);
  EXPECT_GE(bytes, int64_t(3) << 26); // the workspace of the third plan
  host.run();
  std::string calls;
  for (const Call &call : emulator.calls())
    if (call.word == "graph")
      calls += call.values.at("plan") + " ";
  EXPECT_EQ(calls, "attention attention gradient convolution ");
}

TEST(DeviceStep, UploadsWhatChanged) {
  Emulator emulator;
  Host host = deviceHost();
  // For w, x, the microbatch numbers, and the constants of two ranks.
  EXPECT_EQ(count(emulator.calls(), "upload"), 3u + 2u);
  host.run();
  EXPECT_EQ(count(emulator.calls(), "upload"), 0u);
  host.set<float>(0, SW_F32, {4, 4}, std::vector<float>(16));
  EXPECT_EQ(count(emulator.calls(), "upload"), 1u);
  host.run();
  EXPECT_EQ(count(emulator.calls(), "upload"), 0u);
  EXPECT_EQ(host.get(2, {16, 4}).size(), 64u);
  std::vector<Call> calls = emulator.calls();
  EXPECT_EQ(count(calls, "download"), 1u);
  EXPECT_EQ(count(calls, "synchronize"), 1u);
}

TEST(DeviceStep, OneAllocationPerRank) {
  Emulator emulator;
  sw_options options = Host::defaults();
  options.check = 1;
  {
    Host host = deviceHost(options);
    std::vector<Call> calls = emulator.calls();
    ASSERT_EQ(count(calls, "alloc"), 2u);
    std::vector<std::string> bytes;
    for (const Call &call : calls)
      if (call.word == "alloc")
        bytes.push_back(call.values.at("bytes"));
    // Rank 0 has contractions, so its allocation includes 32 MiB for the
    // library, at a multiple of 256. Both allocations include the constants.
    EXPECT_EQ(bytes, (std::vector<std::string>{
                         std::to_string(1024 + (32 << 20)), "832"}));
    EXPECT_EQ(sw_step_arena_bytes(host.step.get(), 1), 832);
    EXPECT_EQ(sw_step_peak_bytes(host.step.get(), 0), 768);
  }
  std::vector<Call> calls = emulator.calls();
  EXPECT_EQ(count(calls, "free"), 2u);
  EXPECT_EQ(count(calls, "unload"), 1u);
}

TEST(DeviceStep, WorkspacesAreAlignedAsLibrariesAsk) {
  Emulator emulator;
  Variable graphs("DEVICE_FAULT", "graphs");
  Host host = deviceHost();
  emulator.calls();
  host.run();
  int seen = 0;
  for (const Call &call : emulator.calls())
    if (auto found = call.values.find("workspace");
        found != call.values.end()) {
      EXPECT_EQ(std::stoull(found->second, nullptr, 16) % 256, 0u) << call.line;
      ++seen;
    }
  EXPECT_EQ(seen, 8 + 4);
}

TEST(DeviceStep, AlgorithmsAreAskedForByTheAlignmentOfABias) {
  Emulator emulator;
  auto asked = [&](const char *fault) {
    Variable graphs("DEVICE_FAULT", fault);
    Host host = deviceHost();
    return count(emulator.calls(), "heuristic");
  };
  // Alignments of 64, 4 and 8 bytes need three algorithms. These products use
  // the gradient before its first product, which therefore adds like the others
  // and needs no algorithm of its own.
  EXPECT_EQ(asked("bias"), asked("none") - 1 + 3);
}

TEST(DeviceStep, KernelsReadConstantsOnTheirDevice) {
  Emulator emulator;
  Host host = deviceHost();
  std::vector<std::string> copies;
  std::vector<Call> made = emulator.calls();
  for (const Call &call : made)
    if (call.word == "upload" && call.values.at("bytes") == "16")
      copies.push_back(call.values.at("to"));
  ASSERT_EQ(copies.size(), 2u); // one for each rank
  host.run();
  std::string last;
  for (const Call &call : emulator.calls())
    if (call.word == "launch" && call.number("stream") == streamsOf(made)[0])
      last = call.values.at("arguments");
  // The second element, 4 bytes after the first.
  uint64_t copy = std::stoull(copies[0], nullptr, 16);
  EXPECT_EQ(std::stoull(last.substr(last.find(',') + 1), nullptr, 16),
            copy + 4);
}

TEST(DeviceStep, SharedMemoryAboveTheUsualIsAskedFor) {
  Emulator emulator;
  Host host = deviceHost();
  std::vector<std::string> lines;
  for (const Call &call : emulator.calls())
    if (call.word == "function")
      lines.push_back(call.line);
  EXPECT_EQ(lines, std::vector<std::string>{
                       "function kernel=step.scale attribute=8 value=65536"});
}

TEST(DeviceStep, RunsAnyNumberOfMicrobatches) {
  Emulator emulator;
  for (int64_t microbatches : {1, 2, 3, 33}) {
    sw_options options = Host::defaults();
    options.microbatches = microbatches;
    Host host = deviceHost(options);
    emulator.calls();
    host.run();
    std::vector<Call> calls = emulator.calls();
    EXPECT_EQ(count(calls, "matmul"), size_t(2 * microbatches));
    EXPECT_EQ(count(calls, "launch"), size_t(2 * microbatches + 1));
    expectRecordedBefore(calls);
  }
}

TEST(DeviceStep, CopiesBetweenDevices) {
  Emulator emulator;
  Variable devices("STAGEWRIGHT_EMULATOR_DEVICES", "2");
  for (bool direct : {true, false}) {
    sw_options options = Host::defaults();
    options.direct = direct;
    Host host = deviceHost(options); // Rank r runs on GPU r.
    std::vector<Call> made = emulator.calls();
    EXPECT_EQ(streamsOf(made).size(), 4u); // two ranks, two channels
    EXPECT_EQ(count(made, "reach"), 2u);
    host.run();
    std::vector<Call> calls = emulator.calls();
    EXPECT_EQ(count(calls, "peer"), 8u);
    expectRecordedBefore(calls);
    EXPECT_EQ(work(calls, streamsOf(made)[0]), rank0);
  }
  sw_options options = Host::defaults();
  options.devices = "1,1";
  Host host = deviceHost(options);
  EXPECT_EQ(count(emulator.calls(), "reach"), 0u);
  host.run();
  EXPECT_EQ(count(emulator.calls(), "peer"), 0u);
}

TEST(DeviceStep, MessagesGoBeforeComputing) {
  Emulator emulator;
  Variable devices("STAGEWRIGHT_EMULATOR_DEVICES", "2");
  Host host = deviceHost();
  std::string priorities;
  for (const Call &call : emulator.calls())
    if (call.word == "stream")
      priorities += call.values.at("priority") + " ";
  EXPECT_EQ(priorities, "0 0 -5 -5 "); // of two ranks and two channels
  host.run();
  // Nodes of a graph have the priorities of their streams.
  for (const Call &call : emulator.calls())
    if (call.word == "instantiate")
      EXPECT_EQ(call.number("flags"), 8);
}

TEST(DeviceStep, StreamsOnOtherDevicesJoinTheGraph) {
  Emulator emulator;
  Variable devices("STAGEWRIGHT_EMULATOR_DEVICES", "2");
  Host host = deviceHost();
  emulator.calls();
  host.run();
  for (const Call &call : emulator.calls())
    EXPECT_EQ(call.line.find("unjoined"), std::string::npos);
}

} // namespace
