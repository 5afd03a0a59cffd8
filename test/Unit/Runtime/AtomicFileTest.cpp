//===- AtomicFileTest.cpp - a file that is written whole or not at all ----===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/AtomicFile.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace stagewright::runtime;
namespace fs = std::filesystem;

namespace {

struct AtomicFiles : testing::Test {
  fs::path folder =
      fs::path(testing::TempDir()) /
      ("atomic-" + std::to_string(getpid()) + "-" +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string path = (folder / "file").string();
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  std::string contents() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  int64_t entries() const {
    return std::distance(fs::directory_iterator(folder), {});
  }
};

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// The status of a process that runs `body` and is then killed, or exits with 1
/// if that throws.
int killedAfter(const std::function<void()> &body) {
  pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (...) {
      _exit(1);
    }
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/// From here on this process cannot make files without a name, as on a file
/// system that does not support O_TMPFILE.
void refuseFilesWithoutName() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog filter = {std::size(program), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 ||
      open(".", O_TMPFILE | O_WRONLY, 0600) >= 0 || errno != EOPNOTSUPP)
    _exit(2);
}

TEST_F(AtomicFiles, NothingRemainsOfAProcessThatIsKilled) {
  writeFileAtomically(path, bytesOf("before"));
  EXPECT_EQ(killedAfter([&] {
              AtomicFile file(path);
              file.write(bytesOf("after"));
              file.sync();
              raise(SIGKILL);
            }),
            SIGKILL);
  EXPECT_EQ(contents(), "before");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFiles, ReplacesAFileAsAWhole) {
  writeFileAtomically(path, bytesOf("before"));
  {
    AtomicFile file(path);
    file.write(bytesOf("dropped"));
  }
  EXPECT_EQ(contents(), "before");
  AtomicFile file(path);
  file.write(bytesOf("af"));
  file.write(bytesOf("ter"));
  EXPECT_EQ(contents(), "before");
  // Left by an earlier process with the same id.
  std::ofstream(path + ".tmp." + std::to_string(getpid())) << "old";
  file.commit();
  EXPECT_EQ(contents(), "after");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFiles, WorksWithoutFilesWithoutName) {
  writeFileAtomically(path, bytesOf("before"));
  EXPECT_EQ(killedAfter([&] {
              refuseFilesWithoutName();
              {
                AtomicFile(path).write(bytesOf("dropped"));
              }
              AtomicFile file(path);
              file.write(bytesOf("after"));
              file.sync();
              if (contents() != "before" || entries() != 2)
                _exit(3);
              file.commit();
            }),
            SIGKILL);
  EXPECT_EQ(contents(), "after");
  EXPECT_EQ(entries(), 1);
}

} // namespace
