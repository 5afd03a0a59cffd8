//===- DriverTest.cpp - errors of the emulator's driver -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected statuses are those of the "CUDA Driver API" for the same calls.
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

#include <set>

using namespace stagewright::runtime::cuda;

namespace {

TEST(EmulatedDriver, RefusesWorkForAnotherDevice) {
  Bench bench;
  Stream first = bench.stream();
  bench.use(1);
  EventHandle event = bench.event();
  EXPECT_EQ(driver().fill.status(bench.array(64), 0, 64, first), invalidHandle);
  (void)event;
  bench.use(0);
}

TEST(EmulatedDriver, RefusesWhatACaptureCannotHold) {
  Bench bench;
  Stream stream = bench.stream(), other = bench.stream();
  DevicePointer array = bench.written(64);
  EventHandle outside = bench.event(), inside = bench.event();
  driver().eventRecord(outside, other, unsigned(eventRecordDefault));
  EXPECT_EQ(driver().eventRecord.status(outside, stream,
                                        unsigned(eventRecordExternal)),
            invalidValue);
  driver().captureBegin(stream, int(captureRelaxed));
  char pageable[64];
  EXPECT_EQ(driver().copyToHost.status(static_cast<void *>(pageable), array, 64,
                                       stream),
            captureUnsupported);
  EXPECT_EQ(driver().copyToDevice.status(array, static_cast<void *>(pageable),
                                         64, stream),
            captureUnsupported);
  EXPECT_EQ(driver().streamSynchronize.status(other), captureUnsupported);
  EXPECT_EQ(driver().streamWait.status(stream, outside, 0u), captureIsolation);
  driver().eventRecord(inside, stream, unsigned(eventRecordDefault));
  EXPECT_EQ(driver().eventQuery.status(inside), captureUnsupported);
  driver().streamWait(other, inside, 0u);
  driver().fill(array, 1, 64, other);
  Graph graph = nullptr;
  EXPECT_EQ(driver().captureEnd.status(stream, &graph), captureUnjoined);
}

TEST(EmulatedDriver, RefusesTimesOfEventsWithoutThem) {
  Bench bench;
  EventHandle timed = bench.event(), untimed = bench.event(eventDisableTiming);
  float milliseconds;
  EXPECT_EQ(driver().eventElapsed.status(&milliseconds, timed, timed), 0);
  EXPECT_EQ(driver().eventElapsed.status(&milliseconds, timed, untimed),
            invalidHandle);
}

TEST(EmulatedDriver, ReadsPinnedMemoryWhenTheCopyRuns) {
  Bench bench;
  Stream stream = bench.stream();
  void *pinned = nullptr;
  driver().hostAllocate(&pinned, 8, unsigned(hostAllocPortable));
  auto *word = static_cast<uint64_t *>(pinned);
  uint64_t pageable = 3;
  DevicePointer late = bench.array(8), early = bench.array(8);
  *word = 1;
  driver().copyToDevice(late, static_cast<const void *>(word), 8, stream);
  driver().copyToDevice(early, static_cast<const void *>(&pageable), 8, stream);
  *word = 2;
  pageable = 4;
  EXPECT_EQ(bench.word(late, stream), 2u);
  EXPECT_EQ(bench.word(early, stream), 3u);
  driver().hostFree(pinned);
}

/// The values found after one stream writes a word and another copies it.
std::set<uint64_t> outcomes(bool ordered) {
  std::set<uint64_t> found;
  for (int i = 0; i < 20; ++i) {
    Bench bench;
    Stream first = bench.stream(), second = bench.stream();
    DevicePointer word = bench.written(8), copy = bench.array(8);
    EventHandle event = bench.event();
    driver().fill(word, 7, 4, first);
    driver().eventRecord(event, first, unsigned(eventRecordDefault));
    if (ordered)
      driver().streamWait(second, event, 0u);
    driver().copyOnDevice(copy, word, 8, second);
    found.insert(bench.word(copy, second) & 0xff);
    driver().streamSynchronize(first);
  }
  return found;
}

TEST(EmulatedDriver, OrdersWhatEventsOrderAndNothingElse) {
  EXPECT_EQ(outcomes(true), (std::set<uint64_t>{7}));
  EXPECT_EQ(outcomes(false), (std::set<uint64_t>{1, 7}));
}

TEST(EmulatedDriver, ReplaysAGraphEachTime) {
  Bench bench;
  Stream stream = bench.stream();
  DevicePointer in = bench.written(8), out = bench.written(8);
  const char *adds = "ld.global.b64 %rd1, [%out];\nadd.s64 %rd1, %rd1, 1;\n"
                     "st.global.b64 [%out], %rd1;";
  uint64_t before = bench.word(out, stream);
  driver().captureBegin(stream, int(captureRelaxed));
  bench.launch(adds, in, out, stream);
  bench.launch(adds, in, out, stream);
  Graph graph = nullptr;
  GraphExec executable = nullptr;
  driver().captureEnd(stream, &graph);
  driver().graphInstantiate(&executable, graph, 0ull);
  EXPECT_EQ(bench.word(out, stream), before);
  driver().graphLaunch(executable, stream);
  driver().graphLaunch(executable, stream);
  EXPECT_EQ(bench.word(out, stream), before + 4);
  driver().graphExecDestroy(executable);
  driver().graphDestroy(graph);
}

TEST(EmulatedDriver, IsNotReadyBeforeAnEvent) {
  Bench bench;
  EventHandle event = bench.event();
  driver().eventRecord(event, bench.stream(), unsigned(eventRecordDefault));
  EXPECT_EQ(driver().eventQuery.status(event), 0);
  Setting hang("HANG", "1");
  EXPECT_EQ(driver().eventQuery.status(event), notReady);
}

using EmulatedDriverDeathTest = testing::Test;

TEST(EmulatedDriverDeathTest, EveryCallFailsAfterAnError) {
  expectFailure(
      [](Bench &bench, Stream stream) {
        EventHandle event = bench.event();
        driver().captureBegin(stream, int(captureRelaxed));
        Graph graph = nullptr;
        GraphExec executable = nullptr;
        driver().captureEnd(stream, &graph);
        driver().graphInstantiate(&executable, graph, 0ull);
        DevicePointer array = bench.array(64);
        driver().fill(array, 0, 65, stream);
        driver().eventRecord(event, stream, unsigned(eventRecordDefault));
        for (int status : {driver().eventQuery.status(event),
                           driver().fill.status(array, 0, 64, stream),
                           driver().graphLaunch.status(executable, stream)})
          std::fprintf(stderr, "%d ", status);
      },
      "719 719 719 719: fills 65 bytes");
}

/// Exits with the number of the stream that fills a word last.
[[noreturn]] void exitWithTheLast(int seed) {
  Setting chosen("SEED", std::to_string(seed));
  Bench bench;
  Stream first = bench.stream(), second = bench.stream();
  DevicePointer word = bench.array(8);
  driver().fill(word, 1, 4, first);
  driver().fill(word, 2, 4, second);
  driver().memoryFree(bench.array(8)); // Runs everything.
  std::exit(int(bench.word(word, first) & 0xff));
}

TEST(EmulatedDriverDeathTest, AnOddSeedChoosesTheOrderOfStreams) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // A seed is read once.
  std::set<int> found;
  auto keep = [&](int status) {
    found.insert(WEXITSTATUS(status));
    return true;
  };
  for (int seed = 1; seed < 12; seed += 2)
    EXPECT_EXIT(exitWithTheLast(seed), keep, "");
  EXPECT_EQ(found, (std::set<int>{1, 2}));
}

TEST(EmulatedDriver, MakesTheMistakesThatATestWants) {
  Bench bench;
  Stream stream = bench.stream();
  DevicePointer word = bench.written(8);
  auto filled = [&](const char *fault) {
    Setting wanted("FAULT", fault);
    driver().fill(word, 5, 4, stream);
    return bench.word(word, stream);
  };
  EXPECT_EQ(filled("cuMemsetD8Async:0"), 0x0101010101010101u);
  EXPECT_EQ(filled("cuMemsetD8Async:1:1+2"), 0x0101010107070707u);
  EXPECT_EQ(filled("cuMemsetD8Async:2:2-2"), 0x0101010107070505u);
  EXPECT_EQ(filled("cuMemsetD8Async:3:1=9"), 0x0101010109090909u);
  EXPECT_EQ(filled("cuMemsetD8Async:3"), 0x0101010105050505u); // Call 4.
}

} // namespace
