//===- FilesTest.cpp - reading and writing whole files --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Support/Files.h"
#include <filesystem>
#include <gtest/gtest.h>

using namespace stagewright;
namespace fs = std::filesystem;

namespace {

struct Files : testing::Test {
  fs::path folder =
      fs::path(testing::TempDir()) /
      (std::string("stagewright-files-") +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  Files() { fs::create_directories(folder); }
  ~Files() override { fs::remove_all(folder); }
};

TEST_F(Files, AreReplacedAsAWhole) {
  std::string path = folder / "f";
  ASSERT_TRUE(writeTextFile(path, "long before"));
  ASSERT_TRUE(writeTextFile(path, "after\n"));
  Result<std::string> text = readTextFile(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "after\n");
  // No temporary file remains.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST_F(Files, ErrorsNameFileAndReason) {
  std::string missing = folder / "none" / "f";
  EXPECT_EQ(readTextFile(missing).error().message,
            "cannot read '" + missing + "': No such file or directory");
  EXPECT_EQ(writeTextFile(missing, "").error().message,
            "cannot write '" + missing + "': No such file or directory");
  EXPECT_EQ(readTextFile(folder).error().message,
            "cannot read '" + folder.string() + "': it is a directory");
  EXPECT_EQ(writeTextFile(folder, "").error().message,
            "cannot write '" + folder.string() + "': Is a directory");
}

TEST_F(Files, LinksAndModesStay) {
  fs::path path = folder / "f", link = folder / "link";
  ASSERT_TRUE(writeTextFile(path, "before"));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("f", link);
  ASSERT_TRUE(writeTextFile(link, "after"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(*readTextFile(path), "after");
  EXPECT_EQ(fs::status(path).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, ALinkMayLeadToAFileThatDoesNotExist) {
  fs::path link = folder / "link";
  fs::create_symlink("f", link);
  ASSERT_TRUE(writeTextFile(link, "text"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(*readTextFile(folder / "f"), "text");
}

TEST_F(Files, AReadThatFailsIsNoEmptyFile) {
  // No memory is mapped at address 0.
  EXPECT_EQ(readTextFile("/proc/self/mem").error().message,
            "cannot read '/proc/self/mem': Input/output error");
}

TEST_F(Files, DevicesAreWrittenTo) {
  EXPECT_TRUE(writeTextFile("/dev/null", "text"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

} // namespace
