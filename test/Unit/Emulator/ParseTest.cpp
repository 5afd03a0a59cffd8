//===- ParseTest.cpp - PTX that the emulator does not know ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "Ptx/Module.h"

#include <gtest/gtest.h>

using namespace emulator;

namespace {

std::string refusal(const std::string &text) {
  try {
    Memory memory;
    ptx::parse(text, memory);
  } catch (const ptx::Unknown &unknown) {
    return unknown.what();
  }
  return "";
}

struct Case {
  const char *text, *why;
};
void PrintTo(const Case &it, std::ostream *stream) { *stream << it.text; }

class UnknownModule : public testing::TestWithParam<Case> {};

TEST_P(UnknownModule, IsRefused) {
  EXPECT_EQ(refusal(".version 8.0\n" + std::string(GetParam().text)),
            "line 2: " + std::string(GetParam().why));
}

INSTANTIATE_TEST_SUITE_P(
    Ptx, UnknownModule,
    testing::Values(
        Case{".tex .u32 x;", "a declaration that is not known: '.tex .u32 x'"},
        Case{".global .b32 x;", "an array that is not known: '.global .b32 x'"},
        Case{".global .b32 x[2];",
             "an array that is not known: '.global .b32 x[2]'"},
        Case{".global .b32 x[1] = {y};", "an element that is not known: 'y'"},
        Case{".global .b32 x[1] = {1, 2};",
             "an element that is not known: '2'"},
        Case{".entry k", "a statement without an end: '.entry k'"},
        Case{".entry k {}", "a kernel without parameters: 'k'"},
        Case{".extern .global .b8 x[];",
             "an external array that is not shared: '.extern .global .b8 x[]'"},
        Case{
            ".extern .shared .b8 x[4];",
            "an external array that is not shared: '.extern .shared .b8 x[4]'"},
        Case{".entry k(.param .u64) {}",
             "a parameter that is not known: '.param .u64'"},
        Case{".entry k(.param .b8 p[16]) {}",
             "a parameter that is not known: '.param .b8 p[16]'"},
        Case{".entry k() .cluster_dim 2 {}",
             "a directive that is not known: '.cluster_dim'"}));

TEST(Ptx, CommentsKeepLinesAndSeparateTokens) {
  EXPECT_EQ(refusal(".version 8.0\n/* two\nlines */.tex/**/.u32 x;"),
            "line 3: a declaration that is not known: '.tex .u32 x'");
}

class UnknownStatement : public testing::TestWithParam<Case> {};

TEST_P(UnknownStatement, IsRefused) {
  std::string found = refusal(kernelOf(GetParam().text));
  EXPECT_EQ(found.find("kernel 'k', line 2"), 0u);
  EXPECT_NE(found.find(GetParam().why), std::string::npos) << found;
}

#define UNKNOWN(text)                                                          \
  Case { text ";", "an instruction that is not known: '" text }

INSTANTIATE_TEST_SUITE_P(
    Ptx, UnknownStatement,
    testing::Values(
        UNKNOWN("tex.2d.v4.f32.f32 %r1, %r2"),
        UNKNOWN("add.rm.f32 %r1, %r2, %r3"),
        UNKNOWN("add.cc.u32 %r1, %r2, %r3"),
        UNKNOWN("cvt.rz.f32.f64 %r1, %rd1"), UNKNOWN("barrier.arrive 0, 64"),
        UNKNOWN("bar.red.popc.u32 %r1, 0, %p1"),
        UNKNOWN("shfl.bfly.b32 %r1, %r2, 1, 31"),
        UNKNOWN("shfl.sync.bfly.b64 %r1, %r2, 1, 31, -1"),
        UNKNOWN("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [%rd5]"),
        UNKNOWN(
            "ldmatrix.sync.aligned.m8n8.x4.b16 {%r2, %r3, %r4, %r5}, [%rd5]"),
        UNKNOWN("ldmatrix.sync.aligned.m8n8.x4.shared.b8 {%r2, %r3, %r4, %r5}, "
                "[%rd5]"),
        UNKNOWN("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%r6}, "
                "{%r2}, {%r10}, {%r20}"),
        UNKNOWN("cp.async.ca.shared.global [%rd4], [%in], 4"),
        UNKNOWN("cp.async.bulk.wait_group 0"),
        Case{"bra $nowhere;", "a label that is nowhere: '$nowhere'"},
        Case{"mov.b32 %nothing, 1;", "a register that is not declared"},
        Case{"@%nothing ret;", "a register that is not declared: '%nothing'"},
        Case{"mov.b32 %r1, nothing;", "a name that is not known: 'nothing'"},
        Case{"ld.global.b32 %r1, [nothing];", "a name that is not known"},
        Case{".align 8;", "a directive that is not known: '.align 8'"}));

TEST(UnknownPtx, StatementsNeedAnEnd) {
  std::string text = kernelOf("");
  text.erase(text.rfind(';'), 1);
  EXPECT_NE(refusal(text).find("a statement without an end: 'ret'"),
            std::string::npos);
}

} // namespace
