//===- CublasLtTest.cpp - errors of the emulator's cuBLASLt ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each error is documented in "cuBLAS", section "cublasLtMatmul()", or found by
// the library's own checks of its arguments.
//
//===----------------------------------------------------------------------===//

#include "LtCall.h"

using namespace stagewright::runtime::cuda;

namespace {

enum : int { invalid = 7, executionFailed = 13, notSupported = 15 };

using Statuses = std::pair<int, int>;
constexpr Statuses taken = {0, 0}, rejected = {0, invalid};

Statuses statuses(const LtCall &call) {
  Bench bench;
  return call.run(bench, bench.stream());
}

struct Case {
  const char *name;
  void (*change)(LtCall &);
  Statuses expected;
};
void PrintTo(const Case &it, std::ostream *stream) { *stream << it.name; }

#define CHANGE(...) [](LtCall &it) { __VA_ARGS__; }

class EmulatedCublasLt : public testing::TestWithParam<Case> {};

TEST_P(EmulatedCublasLt, ReturnsTheLibrarysStatus) {
  LtCall call;
  GetParam().change(call);
  EXPECT_EQ(statuses(call), GetParam().expected);
}

void narrow(LtCall &it) { it.a.type = it.b.type = realF8E4M3; }
void wide(LtCall &it) {
  it.a.type = it.b.type = it.c.type = it.d.type = real64;
  it.compute = compute64;
}
void batched(LtCall &it) {
  for (LtArray *array : {&it.a, &it.b, &it.c, &it.d}) {
    array->batches = 2;
    array->stride = array->rows * array->columns;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Products, EmulatedCublasLt,
    testing::Values(
        Case{"plain", CHANGE(), taken},
        Case{"epilogue", CHANGE(it.epilogue = ltEpilogueGeluAuxBias), taken},
        Case{"8 bits", CHANGE(narrow(it), it.b.type = realF8E5M2), taken},
        Case{"64 bits", wide, taken}, Case{"batches", batched, taken},
        Case{"C apart", CHANGE(it.beta = 1), taken},
        Case{"C is D", CHANGE(it.beta = 1, it.cIsD = true), taken},
        // C and D overlap at different offsets. Without beta this is allowed,
        // because C is not read.
        Case{"no beta", CHANGE(it.cIsD = true, it.c.offset = 256), taken}));

constexpr Statuses malformed = {invalid, -1};

INSTANTIATE_TEST_SUITE_P(
    Malformed, EmulatedCublasLt,
    testing::Values(
        Case{"row of A", CHANGE(it.a.row = 63), malformed},
        Case{"type of A", CHANGE(it.a.type = 3), malformed},
        Case{"type of B", CHANGE(it.b.type = 3), malformed},
        Case{"type of C", CHANGE(it.c.type = 3), malformed},
        Case{"type of D", CHANGE(it.d.type = 3), malformed},
        Case{"type of bias", CHANGE(it.bias.type = 3), malformed},
        Case{"type of aux", CHANGE(it.aux.type = 3), malformed},
        Case{"depth", CHANGE(it.b.rows = 48), malformed},
        Case{"rows of D", CHANGE(it.d.rows = 17), malformed},
        Case{"columns of D", CHANGE(it.d.columns = 31), malformed},
        Case{"rows of C", CHANGE(it.c.rows = 17), malformed},
        Case{"columns of C", CHANGE(it.c.columns = 31), malformed},
        Case{"C and D", CHANGE(it.c.type = real16), malformed},
        Case{"batches of A", CHANGE(it.a.batches = 2), malformed},
        Case{"batches of B", CHANGE(it.b.batches = 2), malformed},
        Case{"batches of C", CHANGE(it.c.batches = 2), malformed},
        Case{"no bias",
             CHANGE(it.epilogue = ltEpilogueBias, it.bias.isNull = true),
             malformed},
        Case{"address of a bias",
             CHANGE(it.epilogue = ltEpilogueBias, it.bias.offset = 1),
             malformed},
        Case{"address of a written bias",
             CHANGE(it.epilogue = ltEpilogueSumA, it.bias.offset = 1),
             malformed},
        Case{"no aux",
             CHANGE(it.epilogue = ltEpilogueGeluAux, it.aux.isNull = true),
             malformed},
        Case{"aux that is read",
             CHANGE(it.epilogue = ltEpilogueDgelu, it.aux.isNull = true),
             malformed},
        Case{"row of aux, no multiple of 8",
             CHANGE(it.epilogue = ltEpilogueGeluAux, it.aux.row = 20),
             malformed},
        Case{"row of aux, too small",
             CHANGE(it.epilogue = ltEpilogueGeluAux, it.aux.row = 8),
             malformed}));

constexpr Statuses unsupported = {notSupported, -1};

INSTANTIATE_TEST_SUITE_P(
    Unsupported, EmulatedCublasLt,
    testing::Values(
        Case{"A and B", CHANGE(it.b.type = real16), unsupported},
        Case{"wide sums", CHANGE(it.compute = compute64), unsupported},
        Case{"narrow sums", CHANGE(wide(it), it.compute = compute32),
             unsupported},
        Case{"wide operands", CHANGE(it.a.type = it.b.type = real64),
             unsupported},
        Case{"epilogue of batches",
             CHANGE(batched(it), it.epilogue = ltEpilogueBias), unsupported},
        Case{"8 bits in A", CHANGE(it.a.type = realF8E4M3), unsupported},
        Case{"8 bits in B", CHANGE(it.b.type = realF8E4M3), unsupported},
        Case{"E5M2 twice", CHANGE(it.a.type = it.b.type = realF8E5M2),
             unsupported},
        Case {
          "8 bits, A as it is",
              CHANGE(narrow(it), it.transposesA = false;
                     std::swap(it.a.rows, it.a.columns)),
              unsupported
        },
        Case {
          "8 bits, B transposed",
              CHANGE(narrow(it), it.transposesB = true;
                     std::swap(it.b.rows, it.b.columns)),
              unsupported
        },
        Case{"8 bits, rounded sums",
             CHANGE(narrow(it), it.compute = compute32Tf32), unsupported},
        Case{"8 bits, m",
             CHANGE(narrow(it), it.a.columns = it.c.rows = it.d.rows = 24),
             unsupported},
        Case{
            "8 bits, n",
            CHANGE(narrow(it), it.b.columns = it.c.columns = it.d.columns = 24),
            unsupported},
        Case{"8 bits, k",
             CHANGE(narrow(it), it.a.rows = it.b.rows = 72,
                    it.a.row = it.b.row = 80),
             unsupported},
        Case{"8 bits, row of A", CHANGE(narrow(it), it.a.row = 72),
             unsupported},
        Case{"8 bits, row of B", CHANGE(narrow(it), it.b.row = 72),
             unsupported}));

INSTANTIATE_TEST_SUITE_P(
    Rejected, EmulatedCublasLt,
    testing::Values(
        Case{"address of the workspace", CHANGE(it.workspace.offset = 64),
             rejected},
        Case{"bytes of the workspace", CHANGE(it.workspaceBytes = 1 << 15),
             rejected},
        Case{"another product",
             CHANGE(it.later = ltDescEpilogue, it.laterValue = ltEpilogueGelu),
             rejected},
        Case{"another type of bias",
             CHANGE(it.later = ltDescBiasType, it.laterValue = 3), rejected},
        Case{"another bias",
             CHANGE(it.epilogue = ltEpilogueBias, it.later = ltDescBias),
             rejected},
        Case{"address of A", CHANGE(it.a.offset = 2), rejected},
        Case{"address of B", CHANGE(it.b.offset = 128), rejected},
        Case{"address of C", CHANGE(it.c.offset = 128), rejected},
        Case{"address of D", CHANGE(it.d.offset = 128), rejected},
        Case{"address that was promised",
             CHANGE(it.a.offset = it.a.alignment = 32), taken},
        Case{"stride of A", CHANGE(batched(it), it.a.stride += 8), rejected},
        Case{"8 bits, address of A",
             CHANGE(narrow(it), it.a.offset = it.a.alignment = 8), rejected},
        Case{"8 bits, address of B",
             CHANGE(narrow(it), it.b.offset = it.b.alignment = 8), rejected},
        Case{"C overlaps D",
             CHANGE(it.beta = 1, it.cIsD = true, it.c.offset = 256), rejected},
        Case{"rows of C that is D",
             CHANGE(it.beta = 1, it.cIsD = true, it.c.row = 24), rejected}));

TEST(EmulatedCublasLtStream, FailsIfItIsOfAnotherDevice) {
  Bench bench;
  bench.use(1);
  Stream stream = bench.stream();
  bench.use(0);
  EXPECT_EQ(LtCall().run(bench, stream), Statuses(0, executionFailed));
}

} // namespace
