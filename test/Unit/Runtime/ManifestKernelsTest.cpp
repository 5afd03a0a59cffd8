//===- ManifestKernelsTest.cpp - kernels in a manifest --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PipelineManifest.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

json kernel() {
  return {{"name", "step.k0"},
          {"grid", {8, 2, 1}},
          {"block", {128, 1, 1}},
          {"shared", 1024},
          {"arguments", 3}};
}

/// The fixture's manifest, changed for a device with one kernel.
json deviceManifest() {
  json manifest = pipelineManifest();
  manifest["target"]["kind"] = "cuda";
  manifest["target"]["architectures"] = {"sm_90a"};
  manifest["kernels"] = json::array({kernel()});
  return manifest;
}

TEST(Manifest, ParsesTheWorkOfKernels) {
  json manifest = deviceManifest();
  // Without the optional fields, as in older artifacts.
  EXPECT_EQ(parseManifest(manifest.dump()).kernels[0].form, "");
  manifest["kernels"][0].update(
      {{"form", "rows"}, {"read", 4096}, {"written", 32}, {"flops", 1024}});
  Kernel kernel = parseManifest(manifest.dump()).kernels[0];
  EXPECT_EQ(kernel.form, "rows");
  EXPECT_EQ(kernel.read, 4096);
  EXPECT_EQ(kernel.written, 32);
  EXPECT_EQ(kernel.flops, 1024);
  manifest["kernels"][0]["read"] = -1;
  EXPECT_THROW(parseManifest(manifest.dump()), Error);
}

TEST(Manifest, ParsesKernelsOfADevice) {
  EXPECT_FALSE(parseManifest(pipelineManifest().dump()).cuda);
  Manifest manifest = parseManifest(deviceManifest().dump());
  EXPECT_TRUE(manifest.cuda);
  EXPECT_EQ(manifest.architectures, std::vector<std::string>{"sm_90a"});
  EXPECT_TRUE(manifest.ptx.empty()); // As older artifacts have none.
  ASSERT_EQ(manifest.kernels.size(), 1u);
  EXPECT_EQ(manifest.kernels[0].name, "step.k0");
  EXPECT_EQ(manifest.kernels[0].grid[1], 2);
  EXPECT_EQ(manifest.kernels[0].block[0], 128);
  EXPECT_EQ(manifest.kernels[0].shared, 1024);
  EXPECT_EQ(manifest.kernels[0].arguments, 3);
}

TEST(Manifest, KernelsHaveAsManyArgumentsAsALaunchTakes) {
  json manifest = deviceManifest();
  manifest["kernels"][0]["arguments"] = Kernel::maxArguments;
  EXPECT_EQ(parseManifest(manifest.dump()).kernels[0].arguments, 511);
  manifest["kernels"][0]["arguments"] = Kernel::maxArguments + 1;
  EXPECT_THROW(parseManifest(manifest.dump()), Error);
}

TEST(Manifest, KernelsThatNoDeviceRunsAreNamed) {
  auto errorOf = [](const char *key, const json &value) -> std::string {
    json manifest = deviceManifest();
    manifest["kernels"][0][key] = value;
    try {
      parseManifest(manifest.dump());
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(errorOf("grid", {1, 2}),
            "malformed manifest: 'grid' is not a list of 3 extents");
  EXPECT_EQ(errorOf("grid", {0, 1, 1}), "malformed manifest: 'grid' holds 0, "
                                        "expected 1 to 2147483647");
  EXPECT_EQ(errorOf("grid", {"a", 1, 1}),
            "malformed manifest: 'grid' holds \"a\"");
  EXPECT_EQ(errorOf("grid", {1, 65536, 1}),
            "malformed manifest: kernel 'step.k0' has a grid of [1, 65536, 1], "
            "expected at most 65535 after the first");
  EXPECT_EQ(errorOf("block", {64, 32, 1}),
            "malformed manifest: kernel 'step.k0' has a block of [64, 32, 1], "
            "expected at most 1024 threads");
  EXPECT_EQ(errorOf("shared", 1 << 20), "malformed manifest: 'shared' is "
                                        "1048576, expected 0 to 232448");
  json manifest = deviceManifest();
  json &kernel = manifest["kernels"][0];
  kernel["arguments"] = 19;
  kernel["bytes"] = std::vector<int64_t>(19, 4);
  kernel["sums"] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  kernel["adds"] = {10, 11, 12, 13, 14, 15, 16};
  EXPECT_EQ(parseManifest(manifest.dump()).kernels[0].adds.size(), 7u);
  kernel["adds"].push_back(17);
  try {
    parseManifest(manifest.dump());
    ADD_FAILURE() << "17 sums";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "malformed manifest: kernel 'step.k0' has 17 "
                               "sums, expected at most 16");
  }
  kernel["adds"] = json::array();
  kernel["mean"] = true;
  try {
    parseManifest(manifest.dump());
    ADD_FAILURE() << "a mean without a count";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "malformed manifest: kernel 'step.k0' makes a "
                               "mean of 19 arguments, expected arrays with "
                               "bytes and a count");
  }
  EXPECT_EQ(errorWith("/target/kind", "abacus"),
            "malformed manifest: target kind 'abacus' is unknown");
}

} // namespace
