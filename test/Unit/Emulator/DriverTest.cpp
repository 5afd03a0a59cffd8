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

#include <gtest/gtest.h>

#include <set>

using namespace stagewright::runtime::cuda;

namespace {

enum : int {
  invalidValue = 1,
  noDevice = 101,
  invalidHandle = 400,
  launchFailed = 719,
  captureUnsupported = 900,
  captureUnjoined = 904,
  captureIsolation = 905
};

/// A launch of kernelOf(""): its dimensions, memory and arguments.
struct Shape {
  unsigned grid = 1, rows = 1, block = 1, shared = 0;
  size_t arguments = 2;
  int untold = 0; ///< if not 0: max dynamic shared memory to set, in bytes
};

int launch(Bench &bench, const Shape &it) {
  KernelFunction kernel = bench.kernel("");
  if (it.untold)
    if (int status = driver().functionSet.status(
            kernel, int(functionMaxDynamicShared), it.untold))
      return status;
  DevicePointer arrays[2] = {bench.array(1024), bench.array(1024)};
  void *arguments[3] = {&arrays[0], &arrays[1], nullptr};
  arguments[it.arguments] = nullptr;
  return driver().launch.status(
      kernel, it.grid, it.rows, 1u, it.block, 1u, 1u, it.shared, bench.stream(),
      static_cast<void **>(arguments), static_cast<void **>(nullptr));
}

TEST(EmulatedDriver, RefusesLaunchesBeyondItsLimits) {
  Bench bench;
  EXPECT_EQ(launch(bench, {}), 0);
  EXPECT_EQ(launch(bench, {.block = 1024}), 0);
  EXPECT_EQ(launch(bench, {.block = 1025}), invalidValue);
  EXPECT_EQ(launch(bench, {.grid = 0}), invalidValue);
  EXPECT_EQ(launch(bench, {.rows = 65536}), invalidValue);
  EXPECT_EQ(launch(bench, {.arguments = 1}), invalidValue);
  EXPECT_EQ(launch(bench, {.shared = 48 << 10}), 0);
  EXPECT_EQ(launch(bench, {.shared = (48 << 10) + 16}), invalidValue);
  EXPECT_EQ(launch(bench, {.shared = 64 << 10, .untold = 64 << 10}), 0);
  EXPECT_EQ(launch(bench, {.untold = 228 << 10}), invalidValue);
}

TEST(EmulatedDriver, RefusesWorkForAnotherDevice) {
  Bench bench;
  Stream first = bench.stream();
  bench.use(1);
  EventHandle event = bench.event();
  EXPECT_EQ(driver().fill.status(bench.array(64), 0, 64, first), invalidHandle);
  (void)event;
  bench.use(0);
}

TEST(EmulatedDriver, CopiesToAPeerThatCanBeReached) {
  Bench bench;
  DevicePointer here = bench.written(64);
  Stream stream = bench.stream();
  Context one = bench.use(1);
  DevicePointer there = bench.array(64);
  Context zero = bench.use(0);
  EXPECT_EQ(driver().copyToPeer.status(there, zero, here, zero, 64, stream),
            invalidValue);
  EXPECT_EQ(driver().copyToPeer.status(there, one, here, zero, 64, stream), 0);
  EXPECT_EQ(driver().streamSynchronize.status(stream), 0);
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

TEST(EmulatedDriver, RefusesMemoryThatItHasNotGiven) {
  Bench bench;
  DevicePointer array = bench.array(64);
  EXPECT_EQ(driver().memoryFree.status(array + 512), invalidValue);
  int word;
  EXPECT_EQ(driver().hostFree.status(&word), invalidValue);
  EXPECT_EQ(driver().deviceGet.status(&word, 7), noDevice);
}

// Errors of work are sticky, so each test has its own process.
using EmulatedDriverDeathTest = testing::Test;

/// Prints the error of the stream's work and exits, with 0 if there is one.
[[noreturn]] void endWithError(Stream stream) {
  int status = driver().streamSynchronize.status(stream);
  const char *text = "";
  driver().errorString.status(status, &text);
  std::fprintf(stderr, "%d: %s\n", status, text);
  std::exit(status ? 0 : 1);
}

TEST(EmulatedDriverDeathTest, WorkOnWhatIsNotThereFails) {
  auto expect = [](auto work, const char *why) {
    EXPECT_EXIT(
        {
          Bench bench;
          Stream stream = bench.stream();
          work(bench, stream);
          endWithError(stream);
        },
        testing::ExitedWithCode(0), why);
  };
  expect([](Bench &bench,
            Stream stream) { driver().fill(bench.array(64), 0, 65, stream); },
         "719: fills 65 bytes at 0x.*, which are not allocated");
  expect(
      [](Bench &bench, Stream stream) {
        driver().copyOnDevice(bench.array(64), bench.array(32) + 1, 32, stream);
      },
      "719: copies 32 bytes at .*, which are not allocated");
  expect(
      [](Bench &bench, Stream stream) {
        bench.launch("ld.global.b64 %rd1, [%in];", bench.array(64),
                     bench.array(64), stream);
      },
      "719: kernel 'k', block 0,0,0, thread 0 reads 8 bytes .*never written");
  expect(
      [](Bench &bench, Stream stream) {
        DevicePointer freed = bench.array(64);
        driver().memoryFree(freed);
        driver().fill(freed, 0, 64, stream);
      },
      "719: fills 64 bytes");
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

} // namespace
