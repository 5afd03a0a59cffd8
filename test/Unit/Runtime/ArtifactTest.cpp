//===- ArtifactTest.cpp - loading and refusing artifacts ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace {

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string errorOf(const std::string &bytes) {
  sw_program *program = sw_load_bytes(bytes.data(), bytes.size());
  std::string error = program ? "" : sw_error();
  sw_unload(program);
  return error;
}

std::string errorOfFile(const char *name) {
  sw_program *program = sw_load((std::string(FIXTURES "/") + name).c_str());
  std::string error = program ? "" : sw_error();
  sw_unload(program);
  return error;
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(Artifact, LoadsFromBytesAndFromTheFile) {
  std::string bytes = readFile(FIXTURES "/pipeline.swx");
  sw_program *program = sw_load_bytes(bytes.data(), bytes.size());
  ASSERT_NE(program, nullptr) << sw_error();
  EXPECT_TRUE(contains(sw_manifest(program), "\"stagewright\": 1"));
  EXPECT_EQ(sw_argument_count(program), 4);
  int64_t position = -1;
  sw_tensor tensor;
  ASSERT_EQ(sw_argument(program, 1, 8, &position, &tensor), 0);
  EXPECT_EQ(position, 1);
  EXPECT_EQ(tensor.rank, 2);
  EXPECT_EQ(tensor.shape[0], 8);
  ASSERT_EQ(sw_result(program, 2, 8, &position, &tensor), 0);
  EXPECT_EQ(tensor.rank, 1);
  EXPECT_EQ(tensor.shape[0], 32);
  EXPECT_EQ(sw_result(program, 3, 8, &position, &tensor), -1);
  sw_unload(program);
  EXPECT_EQ(errorOfFile("pipeline.swx"), "");
}

TEST(Artifact, TruncatedAtEveryLengthIsRefused) {
  std::string bytes = readFile(FIXTURES "/pipeline.swx");
  ASSERT_GT(bytes.size(), 0u);
  // Every length near both ends, and every 61st in between.
  for (size_t size = 0; size < bytes.size();
       size += (size < 2048 || size + 2048 > bytes.size()) ? 1 : 61)
    ASSERT_NE(errorOf(bytes.substr(0, size)), "") << size;
}

TEST(Artifact, DamagedHeadersNeverCrash) {
  std::string bytes = readFile(FIXTURES "/no-section.swx");
  for (size_t at = 0; at < 64; ++at)
    for (int value : {0x00, 0x7f, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = char(value);
      EXPECT_NE(errorOf(damaged), "") << at;
    }
  // The section table, which is read before anything is mapped.
  for (size_t at = bytes.size() - std::min<size_t>(bytes.size(), 2048);
       at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = char(0xff);
    EXPECT_NE(errorOf(damaged), "") << at;
  }
}

TEST(Artifact, ForeignFilesAreNamed) {
  EXPECT_EQ(errorOf("hello, world"),
            "not an artifact: the file does not start as an ELF file");
  EXPECT_EQ(errorOfFile("no-section.swx"),
            "not an artifact: the shared object has no section "
            "'.stagewright'; was it written by pp-compile?");
  EXPECT_TRUE(contains(errorOfFile("nowhere.swx"),
                       "nowhere.swx': No such file or directory"));
  EXPECT_TRUE(contains(errorOfFile(""), "not a regular file"));
}

TEST(Artifact, WhatItNeedsIsCheckedBeforeItIsOpened) {
  EXPECT_EQ(errorOfFile("newer.swx"),
            "artifact has version 99, this runtime reads " +
                std::to_string(SW_ABI_VERSION) + "; compile it again");
  EXPECT_EQ(errorOfFile("features.swx"),
            "artifact needs processor features that this machine lacks: "
            "warp-drive; compile it for this processor");
  EXPECT_TRUE(contains(errorOfFile("libraries.swx"),
                       "artifact needs library 'libnowhere.so.7'"));
  EXPECT_TRUE(contains(errorOfFile("damaged.swx"),
                       "damaged artifact: the manifest's hash is"));
}

TEST(Artifact, TheBestProcessorThatIsThereRuns) {
  Host host = Host::pipeline(Host::defaults(), Fault::None,
                             FIXTURES "/second-processor.swx");
  host.run();
  EXPECT_EQ(host.get(0, {}), std::vector<float>{550});
}

TEST(Artifact, InspectingNeedsNoMatchingProcessor) {
  sw_program *program = sw_inspect(FIXTURES "/features.swx");
  ASSERT_NE(program, nullptr) << sw_error();
  sw_options options = Host::defaults();
  EXPECT_EQ(sw_step_create(program, &options), nullptr);
  EXPECT_STREQ(sw_error(), "the artifact was opened for its manifest only");
  sw_unload(program);
}

TEST(Artifact, AChangedManifestIsRefused) {
  std::string bytes = readFile(FIXTURES "/pipeline.swx");
  size_t at = bytes.find("\"microbatches\": 4");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 16] = '5';
  EXPECT_TRUE(contains(errorOf(bytes), "damaged artifact"));
}

} // namespace
