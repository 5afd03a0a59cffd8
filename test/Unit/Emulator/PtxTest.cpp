//===- PtxTest.cpp - instructions against NVIDIA's text -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <gtest/gtest.h>

using namespace emulator;

namespace {

/// The result of one instruction on one to three words.
uint64_t computed(const std::string &instruction, uint64_t a, uint64_t b = 0,
                  uint64_t c = 0) {
  Machine machine("ld.global.b64 %rd1, [%in];\nld.global.b64 %rd2, [%in+8];\n"
                  "ld.global.b64 %rd3, [%in+16];\nmov.b64 %rd0, 0;\n" +
                  instruction + ";\nst.global.b64 [%out], %rd0;");
  machine.give(0, a);
  machine.give(1, b);
  machine.give(2, c);
  machine.run();
  return machine.result(0);
}

uint64_t f(float value) { return std::bit_cast<uint32_t>(value); }
constexpr uint64_t minus1 = 0xffffffff, nan32 = 0x7fffffff;

struct Case {
  const char *instruction;
  uint64_t a, b, c, expected;
};

void PrintTo(const Case &it, std::ostream *stream) {
  *stream << it.instruction;
}

class Instruction : public testing::TestWithParam<Case> {};

TEST_P(Instruction, GivesWhatTheIsaSays) {
  const Case &it = GetParam();
  EXPECT_EQ(computed(it.instruction, it.a, it.b, it.c), it.expected);
}

// Computed by hand from the pseudocode of "PTX ISA", section 9.7.
INSTANTIATE_TEST_SUITE_P(
    Integers, Instruction,
    testing::Values(
        Case{"add.s32 %rd0, %rd1, %rd2", minus1, 2, 0, 1},
        Case{"sub.s16 %rd0, %rd1, %rd2", 1, 2, 0, 0xffff},
        Case{"mul.lo.s32 %rd0, %rd1, %rd2", minus1, 3, 0, 0xfffffffd},
        Case{"mul.hi.u32 %rd0, %rd1, %rd2", minus1, minus1, 0, 0xfffffffe},
        Case{"mul.hi.s32 %rd0, %rd1, %rd2", minus1, minus1, 0, 0},
        Case{"mul.hi.u16 %rd0, %rd1, %rd2", 0x8000, 6, 0, 3},
        Case{"mul.wide.u32 %rd0, %rd1, %rd2", minus1, 2, 0, 0x1fffffffe},
        Case{"mul.wide.s32 %rd0, %rd1, %rd2", minus1, 2, 0, ~uint64_t(1)},
        Case{"mul.wide.u16 %rd0, %rd1, %rd2", 0xffff, 0xffff, 0, 0xfffe0001},
        Case{"mad.lo.s32 %rd0, %rd1, %rd2, %rd3", 7, 6, 5, 47},
        Case{"div.s32 %rd0, %rd1, %rd2", minus1 - 6, 2, 0, 0xfffffffd},
        Case{"rem.u32 %rd0, %rd1, %rd2", 17, 5, 0, 2},
        Case{"shl.b32 %rd0, %rd1, %rd2", 3, 31, 0, 0x80000000},
        Case{"shl.b32 %rd0, %rd1, %rd2", 3, 32, 0, 0},
        Case{"shr.s32 %rd0, %rd1, %rd2", 0x80000000, 40, 0, minus1},
        Case{"shr.u64 %rd0, %rd1, %rd2", ~uint64_t(0), 60, 0, 15},
        Case{"bfe.u32 %rd0, %rd1, %rd2, %rd3", 0xabcd1234, 8, 12, 0xd12},
        Case{"bfe.s32 %rd0, %rd1, %rd2, %rd3", 0xf00, 8, 4, minus1},
        Case{"prmt.b32 %rd0, %rd1, %rd2, %rd3", 0x03020100, 0x07060504, 0x7531,
             0x07050301},
        Case{"shf.l.wrap.b32 %rd0, %rd1, %rd2, %rd3", 0x80000001, 0x1, 4, 0x18},
        Case{"max.s32 %rd0, %rd1, %rd2", minus1, 3, 0, 3},
        Case{"min.u32 %rd0, %rd1, %rd2", minus1, 3, 0, 3},
        Case{"popc.b32 %rd0, %rd1", 0xf0f0, 0, 0, 8},
        Case{"neg.s32 %rd0, %rd1", 5, 0, 0, 0xfffffffb},
        Case{"xor.b32 %rd0, %rd1, %rd2", 0xff00, 0x0ff0, 0, 0xf0f0}));

INSTANTIATE_TEST_SUITE_P(
    Floats, Instruction,
    testing::Values(
        Case{"add.rn.f32 %rd0, %rd1, %rd2", f(1.5f), f(2.25f), 0, f(3.75f)},
        Case{"add.rn.f32 %rd0, %rd1, %rd2", f(1.f), f(0x1.8p-24f), 0,
             f(1 + 0x1p-23f)},
        Case{"add.rz.f32 %rd0, %rd1, %rd2", f(1.f), f(0x1.8p-24f), 0, f(1.f)},
        Case{"mul.rz.f32 %rd0, %rd1, %rd2", f(1 + 0x1p-23f), f(1.5f), 0,
             f(1.5f + 0x1p-23f)},
        Case{"fma.rz.f32 %rd0, %rd1, %rd2, %rd3", f(-1.f), f(1.f),
             f(-0x1.8p-24f), f(-1.f)},
        Case{"fma.rn.f32 %rd0, %rd1, %rd2, %rd3", f(1 + 0x1p-23f),
             f(1 - 0x1p-23f), f(-1.f), f(-0x1p-46f)},
        Case{"div.rn.f32 %rd0, %rd1, %rd2", f(1.f), f(3.f), 0, f(1.f / 3)},
        Case{"max.f32 %rd0, %rd1, %rd2", nan32, f(2.f), 0, f(2.f)},
        Case{"max.NaN.f32 %rd0, %rd1, %rd2", nan32, f(2.f), 0, 0x7fc00000},
        Case{"max.f32 %rd0, %rd1, %rd2", f(-0.f), f(0.f), 0, f(0.f)},
        Case{"copysign.f32 %rd0, %rd1, %rd2", f(-1.f), f(3.f), 0, f(-3.f)},
        Case{"ex2.approx.f32 %rd0, %rd1", f(-3.f), 0, 0, f(0.125f)},
        Case{"rcp.rn.f32 %rd0, %rd1", f(8.f), 0, 0, f(0.125f)},
        // 1 + 1/256 is halfway between two bf16 numbers: ties go to even.
        Case{"add.rn.bf16 %rd0, %rd1, %rd2", 0x3f80, 0x3b80, 0, 0x3f80},
        Case{"mul.rn.bf16 %rd0, %rd1, %rd2", 0x4040, 0x4000, 0, 0x40c0},
        Case{"fma.rn.bf16x2 %rd0, %rd1, %rd2, %rd3", 0x40003f80, 0x40004000,
             0x3f803f80, 0x40a04040}));

INSTANTIATE_TEST_SUITE_P(
    Conversions, Instruction,
    testing::Values(
        Case{"cvt.rn.bf16.f32 %rd0, %rd1", 0x3f808000, 0, 0, 0x3f80},
        Case{"cvt.rn.bf16.f32 %rd0, %rd1", 0x3f818000, 0, 0, 0x3f82},
        Case{"cvt.rn.bf16.f32 %rd0, %rd1", 0xffc00001, 0, 0, 0x7fff},
        Case{"cvt.rn.bf16x2.f32 %rd0, %rd1, %rd2", f(1.f), f(2.f), 0,
             0x3f804000},
        Case{"cvt.f32.bf16 %rd0, %rd1", 0xc000, 0, 0, f(-2.f)},
        Case{"cvt.rzi.s32.f32 %rd0, %rd1", f(-2.75f), 0, 0, 0xfffffffe},
        Case{"cvt.rzi.s32.f32 %rd0, %rd1", f(3e9f), 0, 0, 0x7fffffff},
        Case{"cvt.rzi.u32.f32 %rd0, %rd1", f(-1.f), 0, 0, 0},
        Case{"cvt.rni.f32.f32 %rd0, %rd1", f(2.5f), 0, 0, f(2.f)},
        Case{"cvt.rn.f32.s32 %rd0, %rd1", minus1, 0, 0, f(-1.f)},
        Case{"cvt.rn.f32.u64 %rd0, %rd1", 1u << 30, 0, 0, f(0x1p30f)},
        Case{"cvt.s64.s32 %rd0, %rd1", minus1, 0, 0, ~uint64_t(0)},
        Case{"cvt.u16.u32 %rd0, %rd1", 0x12345678, 0, 0, 0x5678},
        // "OCP 8-bit floating point": the max of E4M3 is 448.
        Case{"cvt.rn.satfinite.e4m3x2.f32 %rd0, %rd1, %rd2", f(1000.f), f(1.f),
             0, 0x7e38},
        Case{"cvt.rn.satfinite.e5m2x2.f32 %rd0, %rd1, %rd2", f(-1.5f),
             f(0x1p-16f), 0, 0xbe01},
        Case{"cvt.rn.f16x2.e4m3x2 %rd0, %rd1", 0x3801, 0, 0, 0x3c001800}));

TEST(Ptx, ComparesAndSelects) {
  const char *select = "setp.gt.f32 %p1, %rd1, %rd2;\n"
                       "selp.b32 %rd0, 1, 2, %p1";
  EXPECT_EQ(computed(select, f(2.f), f(1.f)), 1u);
  EXPECT_EQ(computed(select, nan32, f(1.f)), 2u);
  const char *unordered = "setp.leu.f32 %p1, %rd1, %rd2;\n"
                          "selp.b32 %rd0, 1, 2, %p1";
  EXPECT_EQ(computed(unordered, nan32, f(1.f)), 1u);
}

TEST(Ptx, PassesOverAdviceForTheAssembler) {
  EXPECT_EQ(computed(".pragma \"nounroll\";\nmov.b64 %rd0, %rd1", 5), 5u);
}

TEST(Ptx, MovesPartsOfRegisters) {
  EXPECT_EQ(computed("mov.b32 {%r1, %r2}, %rd1;\nmov.b32 %rd0, {%r2, %r1}",
                     0x11112222),
            0x22221111u);
}

TEST(Ptx, LanesPartAndMeet) {
  Machine machine("and.b32 %r1, %t, 1;\nsetp.eq.b32 %p1, %r1, 0;\n"
                  "mov.b64 %rd1, 5;\n@%p1 bra $even;\nmov.b64 %rd1, 7;\n"
                  "$even:\nst.global.b64 [%out], %rd1;");
  machine.run(40);
  EXPECT_EQ(machine.result(38), 5u);
  EXPECT_EQ(machine.result(39), 7u);
  EXPECT_EQ(machine.counters.stores.requests, 2); // One for each warp.
}

TEST(Ptx, ShufflesGiveValuesOfOtherLanes) {
  Machine machine("cvt.u32.u64 %r1, %at;\n"
                  "shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1;\n"
                  "cvt.u64.u32 %rd1, %r2;\nst.global.b64 [%out], %rd1;");
  machine.run(32);
  for (int lane = 0; lane < 32; ++lane)
    EXPECT_EQ(machine.result(lane), 8u * unsigned(lane ^ 4));
}

/// Each thread writes a word of shared memory twice and reads another's word.
std::string exchange(const char *between) {
  return std::string("mov.b64 %rd1, shared;\nadd.s64 %rd2, %rd1, %at;\n"
                     "st.shared.b64 [%rd2], %in;\nbar.sync 0;\n"
                     "st.shared.b64 [%rd2], %at;\n") +
         between +
         "\nxor.b64 %rd3, %at, 256;\nadd.s64 %rd2, %rd1, %rd3;\n"
         "ld.shared.b64 %rd4, [%rd2];\nst.global.b64 [%out], %rd4;";
}

TEST(Ptx, BarriersOrderSharedMemory) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    Machine machine(exchange("bar.sync 0;"));
    machine.run(64, seed);
    EXPECT_EQ(machine.result(1), 8u + 256u);
    EXPECT_EQ(machine.counters.barriers, 2);
  }
}

/// The same in global memory, with one write per thread.
std::string handOver(const char *between) {
  return std::string("st.global.b64 [%out], %at;\n") + between +
         "\nld.param.b64 %rd1, [k_param_1];\nxor.b64 %rd3, %at, 256;\n"
         "add.s64 %rd1, %rd1, %rd3;\nld.global.b64 %rd4, [%rd1];";
}

TEST(Ptx, BarriersOrderTheDevicesMemoryWithinABlock) {
  EXPECT_EQ(Machine(handOver("bar.sync 0;")).refusal(64), "");
  EXPECT_NE(Machine(handOver("")).refusal(64), "");
  // Both blocks write the same words, which the other block reads.
  std::string found = Machine(handOver("bar.sync 0;")).refusal(64, 2);
  EXPECT_NE(found.find("race on the device's memory"), std::string::npos)
      << found;
}

TEST(Ptx, BlocksDoNotWriteWhatOthersRead) {
  for (const char *writer : {"0", "1"}) { // The first or the last to run.
    Machine machine("mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, " +
                    std::string(writer) +
                    ";\nld.global.b64 %rd1, [%in];\nbar.sync 0;\n"
                    "@%p1 st.global.b64 [%in], %rd1;");
    machine.give(0, 1);
    EXPECT_NE(machine.refusal(1, 2).find("race on the device's memory"),
              std::string::npos);
  }
}

struct Wrong {
  const char *name;
  std::string body;
  unsigned threads;
  const char *why;
};
void PrintTo(const Wrong &it, std::ostream *stream) { *stream << it.name; }

class Refused : public testing::TestWithParam<Wrong> {};

TEST_P(Refused, WithTheReason) {
  std::string found = Machine(GetParam().body).refusal(GetParam().threads);
  EXPECT_NE(found.find(GetParam().why), std::string::npos) << found;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Refused,
    testing::Values(
        Wrong{"bounds", "mov.b64 %rd1, 1;\nst.global.b64 [%out+504], %rd1;", 2,
              "thread 1 writes 8 bytes at"},
        Wrong{"alignment", "ld.global.b64 %rd1, [%in+4];", 1,
              "which is not a multiple of 8; line 22: 'ld.global.b64"},
        Wrong{"local bounds",
              ".local .align 8 .b8 depot[16];\nmov.b64 %rd1, depot;\n"
              "st.local.b64 [%rd1+16], %rd1;",
              1,
              "uses 8 bytes of local memory from 16 on, of which there are 16"},
        Wrong{"parameter bounds", "ld.param.b64 %rd1, [k_param_1+8];", 1,
              "uses 8 bytes of its parameter from 0 on, of which there are 0"},
        Wrong{"parameter bounds in part", "ld.param.b64 %rd1, [k_param_0+4];",
              1,
              "uses 8 bytes of its parameter from 4 on, of which there are 8"},
        Wrong{"local bounds below",
              ".local .align 8 .b8 depot[16];\nmov.b64 %rd1, depot;\n"
              "ld.local.b64 %rd2, [%rd1+-8];",
              1, "thread 0 uses 8 bytes of local memory from "},
        Wrong{"shared bounds",
              "mov.b64 %rd1, shared;\n"
              "st.shared.b64 [%rd1+1024], %rd1;",
              1, "of shared memory from 1024 on, of which there are 1024"},
        Wrong{"race", exchange(""), 64, "race on shared memory"},
        Wrong{"race of writers",
              "mov.b64 %rd1, shared;\n"
              "st.shared.b64 [%rd1], %at;",
              2, "thread 1 writes byte 0, which thread 0 has written"},
        Wrong{"race on the device's memory",
              "st.global.b64 [%out], %at;\nbar.sync 0;\n" +
                  handOver("").insert(0, "st.global.b64 [%out], %in;\n"),
              64, "race on the device's memory"},
        // The last reader is the writer itself, but other threads read it too.
        Wrong{"race with readers",
              "ld.param.b64 %rd1, [k_param_1];\nsetp.eq.b32 %p1, %t, 0;\n"
              "@%p1 st.global.b64 [%rd1], %at;\nbar.sync 0;\n"
              "ld.global.b64 %rd2, [%rd1];\nsetp.eq.b32 %p1, %t, 31;\n"
              "@%p1 st.global.b64 [%rd1], %at;",
              32, "race on the device's memory"},
        Wrong{"left", "setp.eq.b32 %p1, %t, 3;\n@%p1 ret;\nbar.sync 0;", 32,
              "thread 3 has left before a barrier"},
        Wrong{"two barriers",
              "setp.lt.u32 %p1, %t, 32;\n@%p1 bra $a;\n"
              "bar.sync 0;\nret;\n$a:\nbar.sync 0;",
              64, "waits at another barrier"},
        Wrong{"mask", "shfl.sync.bfly.b32 %r1, %t, 1, 31, 1;", 32,
              "thread 1 is not in the mask of its own shuffle"},
        Wrong{"absent lane", "shfl.sync.down.b32 %r1, %t, 1, 31, -1;", 5,
              "takes the value of lane 5, which is not there"},
        Wrong{"lanes that do not come",
              "setp.eq.b32 %p1, %t, 0;\n@%p1 bra $b;\n"
              "shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\nret;\n$b:\nbar.sync 0;",
              32, "waits for lanes of its mask that never come"}));

/// Word %t of a table, if `offset` is 0.
std::string entry(const std::string &offset) {
  return "mov.b64 %rd1, table;\nadd.s64 %rd1, %rd1, %at;\n"
         "ld.global.nc.b64 %rd2, [%rd1+" +
         offset + "];\nst.global.b64 [%out], %rd2;";
}

TEST(Ptx, TablesAreReadAndHaveBounds) {
  const char *table = ".global .align 8 .b64 table[3] = {7, -1};\n"
                      ".global .align 4 .b8 bytes[4] = {1, 2, 3, 255};\n";
  Machine words(entry("0"), table);
  words.run(3);
  EXPECT_EQ(words.result(0), 7u);
  EXPECT_EQ(words.result(1), ~uint64_t(0));
  EXPECT_EQ(words.result(2), 0u);
  for (const char *offset : {"8", "-8"}) {
    std::string found = Machine(entry(offset), table).refusal(3);
    EXPECT_NE(found.find("which are not allocated"), std::string::npos);
  }
  Machine bytes("mov.b64 %rd1, bytes;\nld.global.b32 %r1, [%rd1];\n"
                "cvt.u64.u32 %rd2, %r1;\nst.global.b64 [%out], %rd2;",
                table);
  bytes.run();
  EXPECT_EQ(bytes.result(0), 0xff030201u);
}

TEST(Ptx, LocalMemoryIsOfAThread) {
  const char *depot = ".local .align 8 .b8 depot[16];\n"
                      "mov.b64 %rd1, depot;\ncvta.local.u64 %rd2, %rd1;\n"
                      "st.local.b64 [%rd1+8], %at;\nbar.sync 0;\n"
                      "ld.b64 %rd3, [%rd2+8];\nst.global.b64 [%out], %rd3;";
  Machine machine(depot);
  machine.run(40);
  for (int thread = 0; thread < 40; ++thread)
    EXPECT_EQ(machine.result(thread), 8u * unsigned(thread));
}

TEST(Ptx, CarriesPassToTheNextInstruction) {
  const char *product = "{\nmad.lo.cc.u32 %rd0, %rd1, %rd2, %rd3;\n"
                        "madc.hi.u32 %rd4, %rd1, %rd2, 5;\n}\n"
                        "shl.b64 %rd4, %rd4, 32;\nor.b64 %rd0, %rd0, %rd4";
  EXPECT_EQ(computed(product, minus1, minus1, minus1),
            minus1 * minus1 + minus1 + (uint64_t(5) << 32));
  EXPECT_EQ(computed(product, 3, 4, 5), 17 + (uint64_t(5) << 32));
}

TEST(Ptx, CountsSectorsAndWaves) {
  // 32 lanes, 8 bytes each, side by side: 8 sectors of 32 bytes.
  Machine dense("st.global.b64 [%out], %at;");
  dense.run(32);
  EXPECT_EQ(dense.counters.stores.sectors, 8);
  EXPECT_EQ(dense.counters.stores.bytes, 256);
  // Words 32 banks apart conflict, so they are accessed one after another.
  Machine conflicts("mov.b64 %rd1, shared;\nmul.wide.u32 %rd2, %t, 128;\n"
                    "add.s64 %rd1, %rd1, %rd2;\nst.shared.b32 [%rd1], %t;");
  conflicts.run(8);
  EXPECT_EQ(conflicts.counters.shared.waves, 8);
}

} // namespace
