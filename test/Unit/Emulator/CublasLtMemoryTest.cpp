//===- CublasLtMemoryTest.cpp - memory of the emulator's products ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product whose arrays are not allocated or not written fails when it runs.
//
//===----------------------------------------------------------------------===//

#include "LtCall.h"

using namespace stagewright::runtime::cuda;

namespace {

struct Fault {
  const char *name;
  void (*change)(LtCall &);
  const char *why;
};
void PrintTo(const Fault &it, std::ostream *stream) { *stream << it.name; }

class ProductDeathTest : public testing::TestWithParam<Fault> {};

TEST_P(ProductDeathTest, FailsWhenItRuns) {
  expectFailure(
      [](Bench &bench, Stream stream) {
        bench.kernel(""); // Without kernels calls are only recorded.
        LtCall call;
        GetParam().change(call);
        EXPECT_EQ(call.run(bench, stream), std::pair(0, 0));
      },
      GetParam().why);
}

const char *const unwrittenFactor = "719: multiplies 2 bytes .*never written";

INSTANTIATE_TEST_SUITE_P(
    Arrays, ProductDeathTest,
    testing::Values(
        Fault{"A", [](LtCall &it) { it.a.room = 2047; },
              "719: multiplies 2048 bytes .*not allocated"},
        Fault{"A unwritten", [](LtCall &it) { it.a.isWritten = false; },
              unwrittenFactor},
        Fault{"B", [](LtCall &it) { it.b.room = 4095; },
              "719: multiplies 4096 bytes .*not allocated"},
        Fault{"B unwritten", [](LtCall &it) { it.b.isWritten = false; },
              unwrittenFactor},
        Fault{"C", [](LtCall &it) { it.beta = 1, it.c.room = 1023; },
              "719: adds a product to 1024 bytes .*not allocated"},
        Fault{"C unwritten",
              [](LtCall &it) { it.beta = 1, it.c.isWritten = false; },
              "719: adds a product to 2 bytes .*never written"},
        Fault{"D", [](LtCall &it) { it.d.room = 1023; },
              "719: writes a product to 1024 bytes .*not allocated"},
        Fault{"workspace", [](LtCall &it) { it.workspace.room = 1 << 15; },
              "719: uses a workspace of 65536 bytes .*not allocated"}));

INSTANTIATE_TEST_SUITE_P(
    Epilogues, ProductDeathTest,
    testing::Values(Fault{"bias",
                          [](LtCall &it) {
                            it.epilogue = ltEpilogueBias, it.bias.room = 31;
                          },
                          "719: uses a bias of 32 bytes .*not allocated"},
                    Fault{"bias unwritten",
                          [](LtCall &it) {
                            it.epilogue = ltEpilogueBias,
                            it.bias.isWritten = false;
                          },
                          "719: uses a bias of 2 bytes .*never written"},
                    Fault{"bias of columns",
                          [](LtCall &it) {
                            it.epilogue = ltEpilogueSumB, it.bias.room = 32;
                          },
                          "719: uses a bias of 64 bytes .*not allocated"},
                    Fault{"aux",
                          [](LtCall &it) {
                            it.epilogue = ltEpilogueGeluAux, it.aux.room = 1023;
                          },
                          "719: uses aux of 1024 bytes .*not allocated"},
                    Fault{"aux unwritten",
                          [](LtCall &it) {
                            it.epilogue = ltEpilogueDgelu,
                            it.aux.isWritten = false;
                          },
                          "719: uses aux of 2 bytes .*never written"}));

/// A workspace whose first or last bytes are read after the product.
TEST(ProductWorkspaceDeathTest, LosesItsContent) {
  for (bool last : {false, true})
    expectFailure(
        [&](Bench &bench, Stream stream) {
          bench.kernel("");
          LtCall call;
          call.workspace.isWritten = true;
          call.workspace.room = call.workspaceBytes;
          call.run(bench, stream);
          uint64_t word;
          driver().copyToHost(static_cast<void *>(&word),
                              bench.latest() + (last ? (1 << 16) - 8 : 0), 8,
                              stream);
        },
        "719: copies to the host 1 bytes .*never written");
}

} // namespace
