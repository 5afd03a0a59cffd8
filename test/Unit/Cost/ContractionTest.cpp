//===- ContractionTest.cpp - share of its rate that a device reaches ------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Roofline.h"
#include <gtest/gtest.h>

using namespace stagewright;

TEST(Contraction, WithoutAModelEverySizeReachesTheRate) {
  EXPECT_EQ(shareOfRate({"bf16", 1, 100, 7, 3}, {}), 1);
}

TEST(Contraction, CountsTheTilesOfAWave) {
  ContractionModel model{108, {}};
  // NVIDIA's guide, section 3.2: an A100 runs 108 tiles at a time; 1792 by 1792
  // are 98 tiles of 256 by 128. With k = 1 no sum can be split.
  EXPECT_DOUBLE_EQ(shareOfRate({"bf16", 1, 1792, 1792, 1}, model), 98.0 / 108);
  // A whole number of waves of whole tiles loses nothing.
  EXPECT_EQ(shareOfRate({"bf16", 1, 108 * 256, 128, 1}, model), 1);
  EXPECT_EQ(shareOfRate({"bf16", 108, 256, 128, 1}, model), 1);
  // One more row needs another row of tiles, at least half of it empty.
  EXPECT_LT(shareOfRate({"bf16", 1, 108 * 256 + 1, 128, 1}, model), 0.98);
}

TEST(Contraction, ReachesHalfAtItsDepth) {
  ContractionModel model{0, {{"bf16", {0.8, 64}}}};
  EXPECT_DOUBLE_EQ(shareOfRate({"bf16", 1, 128, 128, 64}, model), 0.4);
  EXPECT_DOUBLE_EQ(shareOfRate({"bf16", 1, 128, 128, 192}, model), 0.6);
  EXPECT_EQ(shareOfRate({"f16", 1, 128, 128, 64}, model), 1);
  // If the sizes are unknown, only the max share (0.8) applies.
  EXPECT_EQ(shareOfRate({"bf16"}, model), 0.8);
}

TEST(Contraction, FewTilesCutTheirSum) {
  ContractionModel model{128, {}};
  // Unless sums are split, 16 tiles of 128 by 128 leave 7 of 8 processors idle.
  EXPECT_EQ(shareOfRate({"bf16", 1, 512, 512, 8192}, model), 1);
}

/// A published measurement.
struct Measured {
  const char *cluster, *type;
  int64_t batch, m, n, k;
  double teraflops, within; ///< Tolerance, as a share of that rate.
};

class Published : public testing::TestWithParam<Measured> {};

// Both sources use boards like the presets' (an H800 has the H100's processors
// and rates, a B300 has a B200's 16-bit rate), but other libraries than ours.
TEST_P(Published, IsNearWhatWasMeasured) {
  auto [cluster, type, batch, m, n, k, teraflops, within] = GetParam();
  Result<Cluster> found = loadCluster(cluster);
  ASSERT_TRUE(found) << found.error().message;
  const Device &device = found->devices.front();
  Flops flops(2.0 * double(batch) * double(m) * double(n) * double(k));
  int64_t bytes = std::string_view(type) == "f8" ? 1 : 2;
  NodeWork work = {flops,
                   Bytes(batch * (m + n) * k * bytes),
                   Bytes(batch * m * n * 2),
                   {{{type, batch, m, n, k}, flops}}};
  double reached = flops.value / rooflineSeconds(work, device).value / 1e12;
  EXPECT_NEAR(reached / teraflops, 1, within) << m << " x " << n << " x " << k;
}

// S. Bekman, Machine Learning Engineering, compute/accelerator, "Maximum
// Achievable Matmul FLOPS comparison table": the best rate over all sizes, in
// the newest version and an older one.
INSTANTIATE_TEST_SUITE_P(
    BestOfAllSizes, Published,
    testing::Values(Measured{"a100", "bf16", 1, 1024, 10240, 5120, 271.2, .07},
                    Measured{"a100", "bf16", 1, 6912, 16384, 2048, 267.9, .07},
                    Measured{"h100", "bf16", 1, 2048, 2048, 13312, 794.5, .07},
                    Measured{"h100", "bf16", 1, 6144, 17920, 2816, 792.1, .07},
                    Measured{"h100", "f8", 1, 1024, 9216, 14336, 1402.6, .07},
                    Measured{"b200", "bf16", 1, 1792, 16128, 3072, 1745, .07},
                    Measured{"b200", "bf16", 1, 12288, 18432, 1024, 1769, .07},
                    Measured{"b200", "f8", 1, 15360, 4096, 3072, 3432.5, .07},
                    Measured{"b200", "f8", 1, 3072, 6144, 7168, 3353.3, .07}));

// The first README of DeepGEMM (February 2025), H800, f8: all products that are
// compute-bound, dense ones and grouped ones (here batches).
INSTANTIATE_TEST_SUITE_P(
    BySize, Published,
    testing::Values(Measured{"h100", "f8", 1, 4096, 2112, 7168, 1058, .16},
                    Measured{"h100", "f8", 1, 4096, 7168, 16384, 1358, .08},
                    Measured{"h100", "f8", 1, 4096, 4096, 7168, 1304, .08},
                    Measured{"h100", "f8", 1, 4096, 7168, 2048, 1025, .11},
                    Measured{"h100", "f8", 4, 8192, 4096, 7168, 1297, .08},
                    Measured{"h100", "f8", 4, 8192, 7168, 2048, 1099, .08},
                    Measured{"h100", "f8", 8, 4096, 4096, 7168, 1288, .08},
                    Measured{"h100", "f8", 8, 4096, 7168, 2048, 1093, .08}));

TEST(Contraction, PeakLeavesItOut) {
  Result<Cluster> peak = loadCluster("h100:2,peak");
  ASSERT_TRUE(peak) << peak.error().message;
  EXPECT_EQ(peak->devices.size(), 16u);
  EXPECT_EQ(peak->devices[0].contractions, ContractionModel());
  EXPECT_EQ(peak->devices[0].rates, loadCluster("h100")->devices[0].rates);
  EXPECT_FALSE(loadCluster(",peak"));
}

TEST(Contraction, WrongFieldsOfAFileAreNamed) {
  auto errorOf = [](const std::string &contractions) {
    std::string text =
        R"({"name": "lab", "devices": [{"name": "g0", "class": "c",
            "node": 0, "flops": 1.0, "bandwidth": 1.0, "memory": 1,
            "contractions": )" +
        contractions + R"(}], "links": []})";
    Result<Cluster> read = parseCluster(text, "lab.json");
    return read ? std::string() : read.error().message;
  };
  EXPECT_EQ(errorOf(R"({"processors": 8, "bf16": {"most": 1, "depth": 0}})"),
            "");
  EXPECT_EQ(errorOf(R"({"bf17": {"most": 1, "depth": 0}})"),
            "lab.json: device 'g0' has an efficiency for 'bf17', which is not "
            "one of the element types bf16, f16, f32, f4, f64, f8, i4, i8, "
            "tf32");
  EXPECT_EQ(errorOf(R"({"bf16": {"most": 1.5, "depth": 0}})"),
            "lab.json: device 'g0' needs for 'bf16' a 'most' above 0 and at "
            "most 1, and a 'depth' of at least 0, got 1.5 and 0.0");
  EXPECT_EQ(errorOf(R"({"processors": -1})"),
            "lab.json: device 'g0' cannot have a negative number of "
            "processors, got -1");
  EXPECT_EQ(errorOf(R"({"bf16": {"most": 1}})"),
            "lab.json: device 'g0': contractions: 'bf16' has no field "
            "'depth'");
  EXPECT_EQ(errorOf("7"), "lab.json: device 'g0': field 'contractions' must "
                          "be an object, got 7");
}
