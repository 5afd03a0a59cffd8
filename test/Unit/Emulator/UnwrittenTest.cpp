//===- UnwrittenTest.cpp - use of what nothing has written ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values that nothing wrote may be moved. Where one is used, the error names
// the instruction that loaded it.
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <gtest/gtest.h>

using namespace emulator;

namespace {

/// The error of a kernel that loads word 0 of the input, which is not written,
/// into %rd1, and word 1, which is 3, into %rd2, and then runs `body`.
std::string refusal(const std::string &body, unsigned threads = 1) {
  Machine machine("ld.param.b64 %in, [k_param_0];\n"
                  "ld.global.b64 %rd1, [%in];\nld.global.b64 %rd2, [%in+8];\n" +
                  body);
  machine.give(1, 3);
  return machine.refusal(threads);
}

/// Branches on a register.
std::string branchOn(const std::string &name) {
  return "\nsetp.eq.b64 %p7, " + name + ", 0;\n@%p7 ret;";
}

struct Case {
  const char *name;
  std::string body;
  std::string use = "a condition"; ///< none: no error
  unsigned threads = 1;
  const char *load =
      "line 23 'ld.global.b64 %rd1, [%in]' has loaded it from 0x";
};
void PrintTo(const Case &it, std::ostream *stream) { *stream << it.name; }

class Unwritten : public testing::TestWithParam<Case> {};

TEST_P(Unwritten, IsReportedWhereItIsUsed) {
  const Case &it = GetParam();
  std::string found = refusal(it.body, it.threads);
  if (it.use.empty())
    EXPECT_EQ(found, "");
  else
    EXPECT_NE(
        found.find("uses " + it.use + " that was never written: " + it.load),
        std::string::npos)
        << found;
}

const char *const none = "";
const char *const viaShared = "mov.b64 %rd3, shared;\n"
                              "st.shared.b64 [%rd3], %rd1;\n"
                              "st.shared.b64 [%rd3+8], %rd2;\n";
const char *const pairs = "mov.b32 %r1, %tid.x;\nmov.b64 {%r2, %r3}, %rd1;\n"
                          "mov.b64 %rd4, {%r1, %r2};\n"
                          "mov.b64 {%r4, %r5}, %rd4;\n";

INSTANTIATE_TEST_SUITE_P(
    Moves, Unwritten,
    testing::Values(
        Case{"store", "st.global.b64 [%out], %rd1;", none},
        Case{"sum", "add.s64 %rd1, %rd1, 1;\nst.global.b64 [%out], %rd1;",
             none},
        Case{"written", branchOn("%rd2"), none},
        Case{"written again", "mov.b64 %rd1, 0;" + branchOn("%rd1"), none},
        Case{"low half", pairs + ("cvt.u64.u32 %rd5, %r4;" + branchOn("%rd5")),
             none},
        Case{"written pairs",
             pairs + ("mov.b32 %r6, {%r4, %r4};\ncvt.u64.u16 %rd5, %r6;" +
                      branchOn("%rd5")),
             none},
        Case{"not selected",
             "setp.eq.b64 %p1, %rd2, 3;\nselp.b64 %rd3, %rd2, %rd1, %p1;" +
                 branchOn("%rd3"),
             none},
        Case{"half of sums",
             pairs + ("mov.b32 %r6, 0;\ncvt.rn.bf16x2.f32 %r7, %r5, %r6;\n"
                      "fma.rn.bf16x2 %r7, %r7, %r7, %r7;\n"
                      "mov.b32 {%r8, %r9}, %r7;\ncvt.u64.u16 %rd5, %r8;" +
                      branchOn("%rd5")),
             none},
        Case{"masked", "and.b64 %rd3, %rd1, 0;" + branchOn("%rd3"), none},
        Case{"decided",
             "setp.eq.b64 %p1, %rd1, 3;\nsetp.eq.b64 %p2, %rd2, 3;\n"
             "or.pred %p3, %p1, %p2;\n@%p3 ret;",
             none},
        Case{"shifted out",
             "mov.b64 %rd4, {%r1, %r1};\nshr.u64 %rd3, %rd4, 8;" +
                 branchOn("%rd3"),
             none},
        Case{"other word",
             viaShared + ("ld.shared.b64 %rd4, [%rd3+8];" + branchOn("%rd4")),
             none}));

INSTANTIATE_TEST_SUITE_P(
    Uses, Unwritten,
    testing::Values(
        Case{"condition", branchOn("%rd1")},
        Case{"inverted condition", "setp.eq.b64 %p1, %rd1, 0;\n@!%p1 ret;"},
        Case{"guard of a store",
             "setp.eq.b64 %p1, %rd1, 0;\n@%p1 st.global.b64 [%out], %at;"},
        Case{"address", "ld.global.b64 %rd4, [%rd1+8];", "an address"},
        Case{"address of a store", "st.global.b64 [%rd1], %at;", "an address"},
        Case{"copied address",
             "mov.b64 %rd4, shared;\n"
             "cp.async.cg.shared.global [%rd4], [%rd1], 16;",
             "an operand"},
        Case{"size of a copy",
             "mov.b64 %rd4, shared;\n"
             "cp.async.cg.shared.global [%rd4], [%in], 16, %rd1;",
             "an operand"},
        Case{"address of matrices",
             "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, "
             "[%rd1];",
             "an address", 32},
        Case{"lane of a shuffle", "shfl.sync.idx.b32 %r1, %t, %rd1, 31, -1;",
             "an operand", 32}));

INSTANTIATE_TEST_SUITE_P(
    Carried, Unwritten,
    testing::Values(
        Case{"by sums",
             "fma.rn.f64 %rd3, %rd2, %rd2, %rd1;" + branchOn("%rd3")},
        Case{"by a sum in place",
             "add.s64 %rd2, %rd2, %rd1;" + branchOn("%rd2")},
        Case{"by a conversion",
             "cvt.u32.u64 %r1, %rd1;\ncvt.u64.u32 %rd3, %r1;" +
                 branchOn("%rd3")},
        Case{"by a mask", "and.b64 %rd3, %rd1, 256;" + branchOn("%rd3")},
        Case{"by a shift", "shr.u64 %rd3, %rd1, 60;" + branchOn("%rd3")},
        Case{"by an amount", "shr.u64 %rd3, %rd2, %rd1;" + branchOn("%rd3")},
        Case{"by a selection",
             "setp.eq.b64 %p1, %rd2, 3;\nselp.b64 %rd3, %rd1, %rd2, %p1;" +
                 branchOn("%rd3")},
        Case{"by a choice",
             "setp.eq.b64 %p1, %rd1, 3;\nselp.b64 %rd3, %at, %rd2, %p1;" +
                 branchOn("%rd3")},
        Case{"by predicates",
             "setp.eq.b64 %p1, %rd1, 3;\nsetp.eq.b64 %p2, %rd2, 3;\n"
             "and.pred %p3, %p1, %p2;\nnot.pred %p3, %p3;\n@%p3 ret;"},
        Case{"by a pair",
             pairs + ("cvt.u64.u32 %rd5, %r5;" + branchOn("%rd5"))},
        Case{"by half of sums",
             pairs + ("mov.b32 %r6, 0;\ncvt.rn.bf16x2.f32 %r7, %r5, %r6;\n"
                      "fma.rn.bf16x2 %r7, %r7, %r7, %r7;\n"
                      "mov.b32 {%r8, %r9}, %r7;\ncvt.u64.u16 %rd5, %r9;" +
                      branchOn("%rd5"))},
        Case{"by 8-bit floats",
             pairs + ("cvt.rn.satfinite.e4m3x2.f32 %r7, %r5, %r4;\n"
                      "cvt.rn.f16x2.e4m3x2 %r8, %r7;\n"
                      "cvt.u64.u32 %rd5, %r8;" +
                      branchOn("%rd5"))},
        Case{"by a shuffle",
             "mov.b64 {%r1, %r2}, %rd1;\n"
             "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
             "cvt.u64.u32 %rd3, %r3;" +
                 branchOn("%rd3"),
             "a condition", 32}));

INSTANTIATE_TEST_SUITE_P(
    Memory, Unwritten,
    testing::Values(
        Case{"shared",
             viaShared + ("\nld.shared.b64 %rd4, [%rd3];" + branchOn("%rd4")),
             "a condition", 1, "line 29 'ld.shared"},
        Case{"shared that nothing writes",
             "mov.b64 %rd3, shared;\nld.shared.b64 %rd4, [%rd3+16];" +
                 branchOn("%rd4"),
             "a condition", 1,
             "line 26 'ld.shared.b64 %rd4, [%rd3+16]' has loaded it from "
             "shared memory at 0x10"},
        Case{"local",
             ".local .align 8 .b8 depot[16];\nmov.b64 %rd3, depot;\n"
             "ld.local.b64 %rd4, [%rd3+8];" +
                 branchOn("%rd4"),
             "a condition", 1,
             "line 27 'ld.local.b64 %rd4, [%rd3+8]' has loaded it from local "
             "memory at 0x8"},
        Case{"device",
             "st.global.b64 [%in+8], %rd1;\nld.global.b64 %rd4, [%in+8];" +
                 branchOn("%rd4"),
             "a condition", 1, "line 26 'ld.global.b64 %rd4, [%in+8]'"},
        Case{"part of a vector",
             "ld.global.v2.b64 {%rd4, %rd5}, [%in];" + branchOn("%rd5"), none},
        Case{"other part of a vector",
             "ld.global.v2.b64 {%rd4, %rd5}, [%in];" + branchOn("%rd4"),
             "a condition", 1, "line 25 'ld.global.v2.b64"},
        Case{"asynchronous copy",
             "mov.b64 %rd3, shared;\n"
             "cp.async.cg.shared.global [%rd3], [%in], 16;\n"
             "cp.async.wait_all;\nld.shared.v2.b64 {%rd4, %rd5}, [%rd3];" +
                 branchOn("%rd4"),
             "a condition", 1, "line 28 'ld.shared.v2.b64"}));

/// A product whose operands are row 0 of a matrix, which is not written, and
/// other rows, which are zeros; branches on elements of a row of the result.
std::string product(const char *operands, const char *element) {
  return "mov.b64 %rd3, shared;\nadd.s64 %rd4, %rd3, %at;\nmov.b32 %r0, 0;\n"
         "setp.ge.u32 %p1, %t, 2;\n@%p1 st.shared.b64 [%rd4], 0;\n"
         "bar.sync 0;\nand.b32 %r1, %t, 7;\nmul.wide.u32 %rd5, %r1, 16;\n"
         "add.s64 %rd5, %rd5, %rd3;\n"
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, "
         "[%rd5];\n"
         "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
         "{%r6, %r7, %r8, %r9}, " +
         std::string(operands) + ", {%r0, %r0, %r0, %r0};\nsetp.lt.u32 %p2, " +
         element +
         ", 4;\ncvt.u64.u32 %rd6, %r6;\nselp.b64 %rd6, %rd6, 1, %p2;" +
         branchOn("%rd6");
}
constexpr char left[] = "{%r2, %r2, %r2, %r2}, {%r0, %r0}";
constexpr char right[] = "{%r0, %r0, %r0, %r0}, {%r2, %r2}";
constexpr char byMatrices[] = "line 34 'ldmatrix.sync";

INSTANTIATE_TEST_SUITE_P(
    Matrices, Unwritten,
    testing::Values(
        // Threads 0 to 3 have row 0 of the result.
        Case{"its row", product(left, "%t"), "a condition", 32, byMatrices},
        Case{"other rows",
             product(left, "%t")
                 .replace(product(left, "%t").find("lt.u32"), 6, "ge.u32"),
             none, 32},
        Case{"its column", product(right, "%t"), "a condition", 32,
             byMatrices}));

} // namespace
