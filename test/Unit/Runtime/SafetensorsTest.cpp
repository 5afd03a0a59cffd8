//===- SafetensorsTest.cpp - safetensors files ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/Safetensors.h"
#include "Files/AtomicFile.h"
#include "Files/MappedFile.h"
#include "stagewright/Runtime/Error.h"

#include <gtest/gtest.h>

using namespace stagewright::runtime;

namespace {

std::span<const std::byte> bytesOf(const std::string &text) {
  return std::as_bytes(std::span(text));
}

/// A file with `header` and `size` bytes of data.
std::string fileWith(const std::string &header, size_t size) {
  uint64_t length = header.size();
  return std::string(reinterpret_cast<char *>(&length), 8) + header +
         std::string(size, '\1');
}

std::string errorOf(const std::string &file) {
  try {
    parseSafetensors(bytesOf(file));
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Safetensors, WritesWhatItReads) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> b = {7};
  std::string path = testing::TempDir() + "round.safetensors";
  std::vector<std::byte> contents =
      safetensorsHeader({{"0", {SW_F32, {2, 3}}},
                         {"10", {SW_I64, {}}},
                         {"2", {SW_BF16, {0, 4}}}});
  for (auto data : {std::as_bytes(std::span(a)), std::as_bytes(std::span(b))})
    contents.insert(contents.end(), data.begin(), data.end());
  writeFileAtomically(path, contents);
  MappedFile file(path);
  auto tensors = parseSafetensors(file.bytes());
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors.at("0").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(memcmp(tensors.at("0").bytes.data(), a.data(), 24), 0);
  EXPECT_EQ(tensors.at("10").dtype, SW_I64);
  EXPECT_EQ(tensors.at("2").bytes.size(), 0u);

  // Every other length of the file is an error.
  std::string whole(reinterpret_cast<const char *>(file.bytes().data()),
                    file.bytes().size());
  for (size_t size = 0; size < whole.size(); ++size)
    ASSERT_NE(errorOf(whole.substr(0, size)), "") << size;
  EXPECT_NE(errorOf(whole + "x"), "");
}

TEST(Safetensors, EveryDamagedByteIsReadOrRefused) {
  std::string file =
      fileWith(R"({"0":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  ASSERT_EQ(errorOf(file), "");
  for (size_t at = 0; at < file.size(); ++at)
    for (char value : {'\0', '\1', '0', '9', '"', '}', '\x7f', '\xff'}) {
      std::string damaged = file;
      damaged[at] = char(value);
      errorOf(damaged); // any result; sanitizers check this
    }
}

TEST(Safetensors, ContradictionsAreNamed) {
  auto one = [](const char *fields) {
    return fileWith(std::string(R"({"0":{)") + fields + "}}", 8);
  };
  EXPECT_EQ(errorOf(one(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])")),
            "tensor '0' of shape [3] has 8 bytes");
  EXPECT_EQ(errorOf(one(R"("dtype":"F32","shape":[2],"data_offsets":[8,16])")),
            "tensor '0' lies at bytes 8 to 16, but the file holds 8 bytes of "
            "tensors");
  EXPECT_EQ(errorOf(one(R"("dtype":"Q3","shape":[2],"data_offsets":[0,8])")),
            "tensor '0' has the unknown type Q3");
  EXPECT_EQ(errorOf(one(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])")),
            "tensor '0' has an extent that is not a size");
  EXPECT_EQ(errorOf(one(R"("dtype":"U8","shape":[4611686018427387904,16],)"
                        R"("data_offsets":[0,8])")),
            "tensor '0' of shape [4611686018427387904, 16] has 8 bytes");
  EXPECT_EQ(errorOf(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])")),
            "tensors overlap or leave a hole at byte 0");
  EXPECT_EQ(errorOf(fileWith("[]", 0)),
            "not a safetensors file: its header is not a JSON object");
  EXPECT_EQ(errorOf(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)),
            "not a safetensors file, or a truncated one: its header should "
            "have 18446744073709551615 bytes, but 0 follow");
  EXPECT_EQ(errorOf(fileWith(std::string(100'000'001, ' '), 0)),
            "its header has 100000001 bytes, but safetensors allows 100000000");
}

} // namespace
