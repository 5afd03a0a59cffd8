//===- ModuleTest.cpp - modules of the emulator's driver ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which code a device runs is from "NVIDIA CUDA Compiler Driver", section "GPU
// Compilation".
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

using namespace stagewright::runtime::cuda;

namespace {

TEST(EmulatedModule, RefusesPtxAndKernelsThatItDoesNotHave) {
  Bench bench;
  Module module = nullptr;
  std::string unknown = kernelOf("tex.2d.v4.f32.f32 %r1, %r2;");
  EXPECT_EQ(driver().moduleLoad.status(
                &module, static_cast<const void *>(unknown.c_str())),
            invalidImage);
  std::string known = kernelOf("");
  driver().moduleLoad(&module, static_cast<const void *>(known.c_str()));
  KernelFunction function = nullptr;
  EXPECT_EQ(driver().moduleFunction.status(&function, module, "k"), 0);
  EXPECT_EQ(driver().moduleFunction.status(&function, module, "l"), notFound);
}

/// Code in an image: its architecture, and flags or kind.
struct Part {
  uint32_t architecture;
  char letter = ' '; ///< 'a' or 'f' after the architecture, 'm': machine code
  bool compressed = false;
};

/// A fatbinary whose PTX for architecture N has a kernel kN.
std::string imageOf(const std::vector<Part> &parts) {
  std::string image;
  auto add = [&](uint64_t value, int bytes) {
    image.append(reinterpret_cast<const char *>(&value), size_t(bytes));
  };
  for (const Part &it : parts) {
    std::string text = kernelOf(""), name = std::to_string(it.architecture);
    if (it.letter != ' ')
      name += it.letter;
    text.insert(text.find("k(") + 1, name);
    text.resize(text.size() + 8 - text.size() % 8);
    add(it.letter == 'm' ? 2 : 1, 2);
    add(0x101, 2);
    add(64, 4);
    add(text.size(), 8);
    for (int i = 0; i < 3; ++i)
      add(0, 4);
    add(it.architecture, 4);
    add(0, 8);
    add(it.letter == 'a' ? 1 << 20 : it.letter == 'f' ? 1 << 21 : 0, 8);
    add(0, 8);
    add(it.compressed ? 4096 : 0, 8);
    image += text;
  }
  std::string body = std::move(image);
  image.clear();
  add(0xba55ed50, 4);
  add(1, 2);
  add(16, 2);
  add(body.size(), 8);
  return image + body;
}

/// The kernel of the PTX that a device chooses; if loading fails, the status.
std::string taken(const char *architecture, const std::vector<Part> &parts) {
  Bench bench;
  Setting chosen("ARCHITECTURE", architecture);
  std::string image = imageOf(parts);
  Module module = nullptr;
  if (int status = driver().moduleLoad.status(
          &module, static_cast<const void *>(image.data())))
    return std::to_string(status);
  for (const char *name : {"k75", "k80", "k90", "k90a", "k100f", "k103"}) {
    KernelFunction function = nullptr;
    if (driver().moduleFunction.status(&function, module, name) == 0)
      return name;
  }
  return "none";
}

TEST(EmulatedModule, TakesTheHighestPtxThatTheDeviceRuns) {
  Bench().kernel(""); // Before a module has kernels, every name is accepted.
  std::vector<Part> all = {{90, 'a'}, {75}, {103}, {100, 'f'}, {80}};
  for (auto [architecture, kernel] : {std::pair("70", "209"),
                                      {"75", "k75"},
                                      {"80", "k80"},
                                      {"86", "k80"},
                                      {"89", "k80"},
                                      {"90", "k90a"},
                                      {"100", "k100f"},
                                      {"103", "k103"},
                                      {"120", "k103"}})
    EXPECT_EQ(taken(architecture, all), kernel) << architecture;
  EXPECT_EQ(taken("100", {{90, 'a'}}), "209");
  EXPECT_EQ(taken("110", {{100, 'f'}}), "209");
  EXPECT_EQ(taken("90", {{90}, {75}}), "k90");
  // The emulator can neither run machine code nor decompress. A module with
  // only machine code that the device could run is loaded without kernels.
  EXPECT_EQ(taken("89", {{80, 'm'}}), "none");
  EXPECT_EQ(taken("80", {{86, 'm'}}), "209");
  EXPECT_EQ(taken("90", {{80, 'm'}}), "209");
  EXPECT_EQ(taken("90", {{75}, {80, ' ', true}}), "k75");
}

TEST(EmulatedModule, RefusesImagesOfAnotherFormat) {
  Bench bench;
  Module module = nullptr;
  char image[64] = "MZ";
  EXPECT_EQ(driver().moduleLoad.status(&module, static_cast<void *>(image)),
            invalidImage);
}

} // namespace
