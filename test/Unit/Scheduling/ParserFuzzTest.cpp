//===- ParserFuzzTest.cpp - damaged schedule texts ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Changes random bytes in texts of orders, of lists with communication and of
// PyTorch's CSV. Each text is parsed or rejected; a parsed one is equal after
// printing and parsing again, and nothing that reads it crashes.
//
//===----------------------------------------------------------------------===//

#include "Naive.h"
#include "stagewright/Scheduling/InFlight.h"
#include "stagewright/Scheduling/TorchCsv.h"
#include "stagewright/Scheduling/Verify.h"
#include <gtest/gtest.h>

using namespace stagewright;
using namespace stagewright::testing;

static constexpr int kTexts = 20000 / kPart;

/// `text` with a few bytes changed, removed, duplicated or inserted.
static std::string spoil(std::string text, Draw &draw) {
  static const std::string kAlphabet =
      "0123456789FBIWRU_><;(),. \n\tSENDRCVALPO-\"\r\xff";
  auto any = [&] { return kAlphabet[draw.whole(0, kAlphabet.size() - 1)]; };
  for (int64_t changes = draw.whole(0, 4); changes > 0 && !text.empty();
       --changes) {
    size_t at = draw.whole(0, text.size() - 1);
    size_t length = std::min<size_t>(draw.whole(1, 6), text.size() - at);
    switch (draw.whole(0, 3)) {
    case 0:
      text[at] = any();
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
      text.insert(at, draw.whole(1, 20), any());
      break;
    }
  }
  return text;
}

static Schedule randomSample(const std::vector<Sample> &samples, Draw &draw) {
  return samples[draw.whole(0, samples.size() - 1)].schedule;
}

/// The verifier must not crash on any schedule.
static void use(const Schedule &schedule) {
  (void)verify(schedule, chainGraph(schedule.stages, false)).ok();
}

TEST(ParserFuzz, TorchCsv) {
  Draw draw(3);
  std::vector<Sample> samples = sampleSchedules();
  int read = 0;
  for (int i = 0; i < kTexts; ++i) {
    Schedule schedule = randomSample(samples, draw);
    Result<std::string> text = draw.chance(0.5)
                                   ? writeTorchCsv(schedule)
                                   : writeTorchCsv(*insertTransfers(schedule));
    if (!text) // The format has no twin placement.
      continue;
    Result<TorchCsv> csv = readTorchCsv(spoil(*text, draw));
    if (!csv)
      continue;
    ++read;
    use(csv->schedule);
    (void)writeTorchCsv(csv->schedule).ok();
    (void)verify(csv->lists).ok();
  }
  EXPECT_GT(read, kTexts / 10);
}
