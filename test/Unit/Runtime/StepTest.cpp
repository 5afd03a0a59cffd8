//===- StepTest.cpp - running steps ---------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host.h"

#include <gtest/gtest.h>

namespace {

/// The results of the fixture, by its definition.
struct Expected {
  float loss = 0;
  std::vector<float> gradient = std::vector<float>(4), y;
};

Expected expected(int64_t microbatches) {
  Expected it;
  for (int64_t m = 0; m < microbatches; ++m)
    for (int64_t i = 0; i < 4; ++i) {
      float x = float(10 * m + i), y = float(i + 1) * x;
      it.loss += y * float(m + 1);
      it.gradient[i] += x * float(m + 1);
      it.y.push_back(y);
    }
  it.loss /= float(microbatches);
  for (float &value : it.gradient)
    value /= float(microbatches);
  return it;
}

TEST(Step, ThreadsGiveTheResultsOfOne) {
  for (int threads : {1, 2, 3}) {
    sw_options options = Host::defaults();
    options.threads = threads;
    options.check = options.pin = 1;
    Host host = Host::pipeline(options);
    Expected it = expected(4);
    for (int i = 0; i < 50; ++i) {
      host.run();
      ASSERT_EQ(host.get(0, {})[0], it.loss);
      ASSERT_EQ(host.get(1, {4}), it.gradient);
      ASSERT_EQ(host.get(2, {16}), it.y);
    }
  }
}

TEST(Step, AFailureOnAnyThreadStopsAllRanks) {
  for (int threads : {1, 2, 3, 4}) {
    sw_options options = Host::defaults();
    options.threads = threads;
    Host host = Host::pipeline(options, Fault::FailInPart);
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(host.runError(), "rank 0: asked to fail in a part");
    host.set<int32_t>(2, SW_I32, {}, {0});
    host.run();
    EXPECT_EQ(host.get(1, {4}), expected(4).gradient);
  }
}

class Microbatches : public testing::TestWithParam<int64_t> {};

TEST_P(Microbatches, GiveTheResultsOfTheFixture) {
  sw_options options = Host::defaults();
  options.microbatches = GetParam();
  options.check = 1;
  Host host = Host::pipeline(options);
  host.run();
  Expected it = expected(GetParam());
  EXPECT_EQ(host.get(0, {})[0], it.loss);
  EXPECT_EQ(host.get(1, {4}), it.gradient);
  EXPECT_EQ(host.get(2, {GetParam() * 4}), it.y);
}
INSTANTIATE_TEST_SUITE_P(Step, Microbatches, testing::Values(1, 2, 3, 4, 65));

TEST(Step, RepeatsBitForBit) {
  Host host = Host::pipeline();
  host.run();
  auto first = host.get(1, {4});
  for (int i = 0; i < 200; ++i) {
    host.run();
    ASSERT_EQ(host.get(1, {4}), first);
  }
}

TEST(Step, ArenaIsThePrintedOne) {
  sw_options options = Host::defaults();
  options.check = 1;
  Host host = Host::pipeline(options);
  EXPECT_EQ(sw_step_arena_bytes(host.step.get(), 0), 832);
  EXPECT_EQ(sw_step_arena_bytes(host.step.get(), -1), 2 * 832);
  EXPECT_EQ(sw_step_arena_bytes(host.step.get(), 7), -1);
  host.run();
  EXPECT_EQ(sw_step_peak_bytes(host.step.get(), 0), 832);
  EXPECT_EQ(sw_step_predicted_bytes(host.step.get(), 0), 832);
}

TEST(Step, SlicesAndJoinedOutputs) {
  Host host = Host::slices();
  host.run();
  EXPECT_EQ(host.get(0, {2, 2, 2}),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14}));
  // x[0] = (0 1; 2 3; 4 5), x[1] = (6 7; 8 9; 10 11), p[0] = (0 1; 2 3)
  EXPECT_EQ(host.get(1, {3, 4}),
            (std::vector<float>{2, 3, 14, 27, 6, 11, 18, 35, 10, 19, 22, 43}));
  // x[1] * p[1] with p[1] = (4 5; 6 7)
  EXPECT_EQ(host.get(2, {3, 2}),
            (std::vector<float>{66, 79, 86, 103, 106, 127}));
}

// Slices and joined outputs are made of runs, so every range must be tried.
TEST(Step, EveryPartOfAResultIsReadAlone) {
  Host host = Host::slices();
  host.run();
  const std::vector<int64_t> shapes[] = {{2, 2, 2}, {3, 4}, {3, 2}};
  for (int64_t position = 0; position < 3; ++position) {
    std::vector<float> whole = host.get(position, shapes[position]);
    auto all = std::as_bytes(std::span(whole));
    for (size_t from = 0; from <= all.size(); ++from)
      for (size_t to = from; to <= all.size(); ++to) {
        std::vector<std::byte> part(to - from + 1, std::byte(0x5a));
        ASSERT_EQ(sw_step_read_output(host.step.get(), position, int64_t(from),
                                      int64_t(to - from), part.data()),
                  0);
        ASSERT_TRUE(
            std::equal(part.begin(), part.end() - 1, all.data() + from));
        ASSERT_EQ(part.back(), std::byte(0x5a));
      }
  }
  auto errorOf = [&](int64_t position, int64_t offset, int64_t bytes,
                     void *data) {
    EXPECT_EQ(
        sw_step_read_output(host.step.get(), position, offset, bytes, data),
        -1);
    return std::string(sw_error());
  };
  std::byte data[64];
  std::string label = "result 2 ('out1')";
  EXPECT_EQ(errorOf(2, 8, 17, data),
            label + " has 24 bytes, so 17 bytes from byte 8 cannot be read");
  EXPECT_EQ(errorOf(2, -1, 1, data),
            label + " has 24 bytes, so 1 bytes from byte -1 cannot be read");
  EXPECT_EQ(errorOf(2, 0, 24, nullptr),
            label + " has null data, expected room for 24 bytes");
  EXPECT_EQ(errorOf(9, 0, 1, data), "there is no result 9; the step has 3");
}

struct FaultCase {
  Fault fault;
  const char *text;
};
class Faults : public testing::TestWithParam<FaultCase> {};

TEST_P(Faults, StopAllRanksAndAreNamed) {
  sw_options options = Host::defaults();
  options.check = 1;
  Host host = Host::pipeline(options, GetParam().fault);
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(host.runError(), GetParam().text);
  EXPECT_THROW(host.get(0, {}), std::runtime_error);
  // A step that failed can be run again.
  host.set<int32_t>(2, SW_I32, {}, {0});
  host.run();
  EXPECT_EQ(host.get(1, {4}), expected(4).gradient);
}

INSTANTIATE_TEST_SUITE_P(
    Step, Faults,
    testing::Values(
        FaultCase{Fault::Fail, "rank 1: asked to fail at microbatch 2"},
        FaultCase{Fault::EarlyEnd,
                  "the ranks wait for each other; rank 0 waits for microbatch "
                  "1 of channel 'dy' from rank 1, which has ended"},
        FaultCase{Fault::Circle,
                  "the ranks wait for each other; rank 0 waits for microbatch "
                  "0 of channel 'dy' from rank 1; rank 1 waits for microbatch "
                  "0 of channel 'y' from rank 0"},
        FaultCase{Fault::DoubleAcquire,
                  "rank 0: stash 'stash.x' slot 0 is taken for microbatch 0 "
                  "while microbatch 0 holds it"},
        FaultCase{Fault::UseAfterRelease,
                  "rank 0: stash 'stash.x' is used for microbatch 0, which "
                  "does not hold its slot"},
        FaultCase{Fault::DoubleRelease,
                  "rank 0: stash 'stash.x' slot 0 is released for microbatch "
                  "0, which does not hold it"},
        FaultCase{Fault::LeakStash, "stash 'stash.x' still holds microbatch 3 "
                                    "at the end of the step"},
        FaultCase{Fault::LeakChannel, "channel 'dy' still holds microbatch 3 "
                                      "at the end of the step"},
        FaultCase{Fault::Workspace, "rank 0: node 'w.F' uses 4096 bytes of "
                                    "workspace, but there are 128"},
        FaultCase{Fault::DoubleClaim,
                  "rank 0: claim of microbatch 0 of channel 'y' out of order"},
        FaultCase{Fault::NoSend,
                  "the ranks wait for each other; rank 0 waits for microbatch "
                  "0 of channel 'dy' from rank 1; rank 1 waits for microbatch "
                  "0 of channel 'y' from rank 0"},
        FaultCase{Fault::ReceiveTooFar,
                  "rank 0: receive of microbatch 2 of channel 'dy' out of "
                  "order: its slot is still held"},
        FaultCase{Fault::BadBuffer, "rank 0: buffer 99 does not exist"},
        FaultCase{Fault::BadMicrobatch, "rank 0: microbatch 4 is not one of 4"},
        FaultCase{Fault::Launch,
                  "rank 0: the program calls a function of devices, but the "
                  "artifact's target is the processor"}));

TEST(Step, SendingTwiceIsAnError) {
  Host host = Host::pipeline(Host::defaults(), Fault::DoubleSend);
  // The receiver may already hold the slot; in any case it is not claimed.
  EXPECT_EQ(host.runError(),
            "rank 0: send of microbatch 0 of channel 'y' out of order");
}

TEST(Step, SumsThatWereNotPrintedAreErrors) {
  EXPECT_THROW(Host(FIXTURES "/wrong-arena.swx", Host::defaults()),
               std::runtime_error);
  EXPECT_STREQ(sw_error(),
               "rank 0 needs an arena of 832 bytes, but the compiler printed "
               "768; compiler and runtime have different versions");
  sw_options options = Host::defaults();
  options.check = 1;
  Host host = Host::pipeline(options, Fault::None, FIXTURES "/wrong-peak.swx");
  EXPECT_EQ(host.runError(), "rank 0: live bytes reached 832, but the "
                             "compiler printed 100");
}

TEST(Step, InputsAreChecked) {
  Host host = Host::pipeline();
  auto text = [](auto body) {
    try {
      body();
    } catch (const std::exception &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(text([&] { host.set<float>(0, SW_F32, {5}, {1, 2, 3, 4, 5}); }),
            "argument 0 ('params/w') has shape [5], expected [4]");
  EXPECT_EQ(text([&] { host.set<int32_t>(0, SW_I32, {4}, {1, 2, 3, 4}); }),
            "argument 0 ('params/w') has type i32, expected f32");
  EXPECT_EQ(text([&] { host.set<float>(1, SW_F32, {4}, {1, 2, 3, 4}); }),
            "argument 1 ('x') has shape [4], expected [4, 4]");
  EXPECT_EQ(text([&] { host.set<int32_t>(3, SW_I32, {}, {0}); }),
            "argument 3 ('m') is filled by the runtime");
  EXPECT_EQ(text([&] { host.set<int32_t>(9, SW_I32, {}, {0}); }),
            "there is no argument 9; the step has 4");
  Host empty(FIXTURES "/pipeline.swx", Host::defaults());
  EXPECT_EQ(empty.runError(), "argument 0 ('params/w') was not set");
  EXPECT_EQ(text([&] { empty.get(0, {}); }),
            "there are no results: no step has run, or the last one failed");
}

TEST(Step, TensorsWithoutShapeOrDataAreErrors) {
  Host host = Host::pipeline();
  int64_t shape[] = {4};
  float data[4] = {};
  auto set = [&](sw_tensor tensor) {
    EXPECT_EQ(sw_step_set_input(host.step.get(), 0, &tensor), -1);
    return std::string(sw_error());
  };
  EXPECT_EQ(set({SW_F32, -1, shape, data}),
            "argument 0 ('params/w') has rank -1, expected 1");
  EXPECT_EQ(set({SW_F32, 1, nullptr, data}),
            "argument 0 ('params/w') of rank 1 has a null shape, expected [4]");
  EXPECT_EQ(set({SW_F32, 1, shape, nullptr}),
            "argument 0 ('params/w') of shape [4] has null data, expected its "
            "elements or room for them");
  host.run();
  sw_tensor out = {SW_F32, 1, shape, nullptr};
  EXPECT_EQ(sw_step_get_output(host.step.get(), 1, &out), -1);
  EXPECT_STREQ(sw_error(),
               "result 1 ('params/w') of shape [4] has null data, expected its "
               "elements or room for them");
}

TEST(Step, AnOrderForOneNumberOfMicrobatchesRunsNoOther) {
  sw_options options = Host::defaults();
  options.microbatches = 1;
  Host host(FIXTURES "/only.swx", options);
  host.run();
  options.microbatches = 3;
  EXPECT_THROW(Host(FIXTURES "/only.swx", options), std::runtime_error);
  EXPECT_STREQ(sw_error(),
               "the number of microbatches is 3, but the artifact runs 1 only: "
               "its schedule 'gpipe' is an order for that number; compile it "
               "with --microbatches=3");
}

TEST(Step, OptionsAreChecked) {
  sw_options options = Host::defaults();
  options.microbatches = -3;
  EXPECT_THROW(Host(FIXTURES "/pipeline.swx", options), std::runtime_error);
  EXPECT_STREQ(sw_error(),
               "the number of microbatches is -3, expected at least 1");
  for (int threads : {-1, 1025}) {
    options = Host::defaults();
    options.threads = threads;
    EXPECT_THROW(Host(FIXTURES "/pipeline.swx", options), std::runtime_error);
    EXPECT_EQ(std::string(sw_error()), "the number of threads per rank is " +
                                           std::to_string(threads) +
                                           ", expected 1 to 1024");
  }
  options = Host::defaults();
  options.size = 1;
  EXPECT_THROW(Host(FIXTURES "/pipeline.swx", options), std::runtime_error);
  options = Host::defaults();
  options.microbatches = int64_t(1) << 60;
  EXPECT_THROW(Host(FIXTURES "/pipeline.swx", options), std::runtime_error);
}

} // namespace
