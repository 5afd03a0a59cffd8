//===- PublishedRatesTest.cpp - bubble rates of the papers ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bubble rates of the span for profiled times: of Qi et al., Zero Bubble
// Pipeline Parallelism (ICLR 2024), and of the settings of the V-schedules
// (PublishedRows.h, ZbvCells.h). Rates of interleaved schedules are not the
// published ones, which count the hop from the last rank to the first only for
// every p-th microbatch; they are from a simulator that counts it for all.
// ZB-1p is the best that the paper's search finds in the memory of 1F1B; on all
// rows it equals the rate of ZB-H1.
//
//===----------------------------------------------------------------------===//

#include "UnitProblem.h"
#include "stagewright/Scheduling/Timing.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cstdio>

using namespace stagewright;

namespace {
/// Times of all stages of a rank together, and the number of chunks of the
/// interleaved schedule.
struct Setting {
  int64_t p, m;
  double forward, inputGradient, weightGradient, hop;
  int64_t chunks;
};

struct PaperRow {
  Setting setting;
  const char *oneFOneB, *interleaved, *zbH1, *zbH2;
};

struct ChunkRow {
  PaperRow row; ///< times of one of two chunks of a rank
  const char *zbV;
};
} // namespace

/// The bubble rate of the span of generator `name`, as "0.2431". Each chunk
/// takes 1 / chunks of the times in `setting`.
static std::string rateOf(const char *name, const Setting &setting,
                          int64_t chunks) {
  Generator generator = *findGenerator(name);
  ScheduleShape shape{setting.p, setting.m, false, chunks};
  double share = 1. / double(chunks);
  ScheduleProblem problem =
      equalStages(generator.placement, shape,
                  {setting.forward * share, setting.inputGradient * share,
                   setting.weightGradient * share, setting.hop});
  Timeline timing = *timeSchedule(*generator.generate(shape), problem);
  char text[16];
  Seconds work = *std::ranges::max_element(timing.work);
  snprintf(text, sizeof(text), "%.4f", 1 - work.value / timing.span.value);
  return text;
}

static void checkRow(const PaperRow &row) {
  const Setting &setting = row.setting;
  SCOPED_TRACE("p=" + std::to_string(setting.p) +
               " m=" + std::to_string(setting.m));
  EXPECT_EQ(rateOf("1f1b", setting, 1), row.oneFOneB);
  EXPECT_EQ(rateOf("interleaved", setting, setting.chunks), row.interleaved);
  EXPECT_EQ(rateOf("zb-h1", setting, 1), row.zbH1);
  EXPECT_EQ(rateOf("zb-h2", setting, 1), row.zbH2);
}

TEST(PublishedRates, ZeroBubblePaper) {
  const PaperRow rows[] = {{{8, 24, 18.522, 18.086, 9.337, 0.601, 3},
                            "0.2431",
                            "0.1090",
                            "0.1585",
                            "0.1083"},
                           {{8, 32, 18.513, 18.086, 9.331, 0.626, 3},
                            "0.1985",
                            "0.0847",
                            "0.1242",
                            "0.0837"},
                           {{8, 64, 18.546, 18.097, 9.321, 0.762, 3},
                            "0.1240",
                            "0.0461",
                            "0.0674",
                            "0.0444"},
                           {{8, 24, 29.718, 29.444, 19.927, 0.527, 4},
                            "0.2347",
                            "0.0827",
                            "0.1323",
                            "0.0698"},
                           {{8, 32, 29.802, 29.428, 19.530, 0.577, 4},
                            "0.1898",
                            "0.0644",
                            "0.1045",
                            "0.0559"},
                           {{8, 64, 29.935, 29.621, 19.388, 0.535, 4},
                            "0.1091",
                            "0.0328",
                            "0.0554",
                            "0.0294"},
                           {{32, 96, 10.419, 10.207, 7.715, 0.408, 2},
                            "0.2646",
                            "0.1528",
                            "0.1421",
                            "0.0641"},
                           {{32, 128, 10.408, 10.204, 7.703, 0.408, 2},
                            "0.2168",
                            "0.1192",
                            "0.1106",
                            "0.0490"},
                           {{32, 256, 10.402, 10.248, 7.698, 0.460, 2},
                            "0.1352",
                            "0.0641",
                            "0.0594",
                            "0.0257"}};
  for (const PaperRow &row : rows)
    checkRow(row);
}

// Times of one chunk in microseconds; a rank has two chunks.
TEST(PublishedRates, SettingsOfTheVSchedules) {
  const ChunkRow rows[] = {{{{16, 48, 14407, 14380, 9676, 1610, 2},
                             "0.2668",
                             "0.1549",
                             "0.1536",
                             "0.0823"},
                            "0.0712"},
                           {{{16, 64, 14412, 14393, 9688, 1621, 2},
                             "0.2206",
                             "0.1209",
                             "0.1198",
                             "0.0630"},
                            "0.0545"},
                           {{{16, 128, 14316, 14306, 9639, 1619, 2},
                             "0.1390",
                             "0.0644",
                             "0.0637",
                             "0.0325"},
                            "0.0280"},
                           {{{24, 72, 6763, 6969, 5251, 755, 2},
                             "0.2699",
                             "0.1566",
                             "0.1439",
                             "0.0628"},
                            "0.0623"},
                           {{{24, 96, 6783, 6984, 5259, 758, 2},
                             "0.2229",
                             "0.1223",
                             "0.1121",
                             "0.0480"},
                            "0.0476"},
                           {{{24, 192, 6785, 6990, 5260, 770, 2},
                             "0.1403",
                             "0.0652",
                             "0.0595",
                             "0.0247"},
                            "0.0246"},
                           {{{32, 96, 9458, 9748, 7288, 879, 2},
                             "0.2676",
                             "0.1549",
                             "0.1429",
                             "0.0629"},
                            "0.0582"},
                           {{{32, 128, 9469, 9744, 7306, 892, 2},
                             "0.2204",
                             "0.1210",
                             "0.1111",
                             "0.0478"},
                            "0.0444"},
                           {{{32, 256, 9447, 9644, 7193, 887, 2},
                             "0.1362",
                             "0.0644",
                             "0.0593",
                             "0.0251"},
                            "0.0229"}};
  for (const auto &[half, zbV] : rows) {
    PaperRow row = half;
    row.setting.forward *= 2;
    row.setting.inputGradient *= 2;
    row.setting.weightGradient *= 2;
    checkRow(row);
    EXPECT_EQ(rateOf("zb-v", row.setting, 2), zbV);
  }
}
