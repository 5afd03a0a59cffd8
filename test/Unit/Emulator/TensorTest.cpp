//===- TensorTest.cpp - warp-level matrices and async copies --------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Machine.h"

#include <gtest/gtest.h>

using namespace emulator;

namespace {

/// Lane l copies words l and l + 32 of the input to shared memory: a matrix of
/// 16 x 16 elements of 16 bits.
const std::string fill = "ld.global.b64 %rd1, [%in];\n"
                         "ld.global.b64 %rd2, [%in+256];\n"
                         "mov.b64 %rd3, shared;\nadd.s64 %rd4, %rd3, %at;\n"
                         "st.shared.b64 [%rd4], %rd1;\n"
                         "st.shared.b64 [%rd4+256], %rd2;\nbar.sync 0;\n";
/// Addresses for ldmatrix in %rd5: rows of 32 bytes, left then right half.
const std::string rows = "and.b32 %r0, %t, 15;\nshl.b32 %r0, %r0, 5;\n"
                         "and.b32 %r1, %t, 16;\nadd.u32 %r0, %r0, %r1;\n"
                         "cvt.u64.u32 %rd5, %r0;\nadd.s64 %rd5, %rd5, %rd3;\n";

/// Multiplies the matrix by its first 8 columns if `transposed`, else by the
/// transpose of its first 8 rows, and adds 1.
std::string product(const std::string &type, bool transposed) {
  // Elements k = 8 to 15 of the right operand.
  std::string second = transposed ? "%r11" : "%r12";
  return fill + rows +
         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, "
         "[%rd5];\nldmatrix.sync.aligned.m8n8.x4" +
         (transposed ? ".trans" : "") +
         ".shared.b16 {%r10, %r11, %r12, %r13}, [%rd5];\n"
         "mov.b32 %r20, 0f3F800000;\n"
         "mma.sync.aligned.m16n8k16.row.col.f32." +
         type + "." + type +
         ".f32\n{%r6, %r7, %r8, %r9},\n{%r2, %r3, %r4, %r5},\n{%r10, " +
         second +
         "},\n{%r20, %r20, %r20, %r20};\n"
         "st.global.v2.b32 [%out], {%r6, %r7};\n"
         "st.global.v2.b32 [%out+256], {%r8, %r9};";
}

template <typename T> void expectProducts(const char *type) {
  for (bool transposed : {false, true}) {
    Machine machine(product(type, transposed));
    float matrix[16][16];
    T raw[16][16];
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 16; ++j)
        raw[i][j] = T(matrix[i][j] = float((i * 7 + j * 3) % 11 - 5));
    for (int word = 0; word < 64; ++word) {
      uint64_t value;
      std::memcpy(&value, reinterpret_cast<std::byte *>(raw) + word * 8, 8);
      machine.give(word, value);
    }
    machine.run(32);
    for (int lane = 0; lane < 32; ++lane)
      for (int number = 0; number < 4; ++number) {
        int i = lane / 4 + number / 2 * 8, j = lane % 4 * 2 + number % 2;
        float expected = 1;
        for (int k = 0; k < 16; ++k)
          expected += matrix[i][k] * (transposed ? matrix[k][j] : matrix[j][k]);
        uint64_t pair = machine.result(lane + number / 2 * 32);
        EXPECT_EQ(ptx::get<float>(pair >> (32 * (number % 2))), expected)
            << type << " " << transposed << " " << i << ", " << j;
      }
  }
}

TEST(Tensor, ProductsAreThoseOfMatrices) {
  expectProducts<Half>("f16");
  expectProducts<Bfloat16>("bf16");
}

/// Lane l copies 16 bytes, or as many as `bytes` states, in reverse order.
std::string copies(const std::string &bytes, const std::string &behind) {
  return "shl.b64 %rd1, %at, 1;\nld.param.b64 %rd2, [k_param_0];\n"
         "add.s64 %rd2, %rd2, %rd1;\nmov.b64 %rd3, shared;\n"
         "mov.b64 %rd4, 496;\nsub.s64 %rd4, %rd4, %rd1;\n"
         "add.s64 %rd4, %rd4, %rd3;\ncp.async.cg.shared.global [%rd4], "
         "[%rd2], 16" +
         bytes + ";\n" + behind +
         "\nadd.s64 %rd5, %rd3, %at;\n"
         "ld.shared.b64 %rd6, [%rd5];\nst.global.b64 [%out], %rd6;";
}
const std::string waited =
    "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;";

TEST(Tensor, CopiesArriveWhereTheyAreWaitedFor) {
  for (const std::string &bytes : {std::string(), std::string(", %r1")}) {
    Machine machine("and.b32 %r1, %t, 16;\n" + copies(bytes, waited));
    for (int word = 0; word < 64; ++word)
      machine.give(word, uint64_t(word + 1));
    machine.run(32);
    // Lane 31 - w / 2 copies word w; with %r1, lanes below 16 copy nothing.
    for (int word = 0; word < 32; ++word) {
      auto there = uint64_t(62 - word / 2 * 2 + word % 2 + 1);
      EXPECT_EQ(machine.result(word), there) << bytes << word;
    }
  }
  Machine none("mov.b32 %r1, 0;\n" + copies(", %r1", waited));
  none.run(32);
  EXPECT_EQ(none.result(5), 0u); // Copies 0 bytes of unwritten input.
}

std::string refused(const std::string &body, unsigned threads = 32) {
  Machine machine(body);
  for (int word = 0; word < 64; ++word)
    machine.give(word, 1);
  return machine.refusal(threads);
}

void expectRefused(const std::string &body, const char *why,
                   unsigned threads = 32) {
  std::string found = refused(body, threads);
  EXPECT_NE(found.find(why), std::string::npos) << found;
}

TEST(Tensor, CopiesThatNobodyWaitsForAreMissed) {
  EXPECT_EQ(refused(copies("", waited)), "");
  EXPECT_EQ(refused(copies("", "cp.async.wait_all;\nbar.sync 0;")), "");
  expectRefused(copies("", "cp.async.commit_group;\nbar.sync 0;"),
                "which no thread has written");
  expectRefused(copies("", "cp.async.commit_group;\ncp.async.wait_group 1;\n"
                           "bar.sync 0;"),
                "which no thread has written");
  // The copy belongs to no committed group yet.
  expectRefused(copies("", "cp.async.wait_group 0;\nbar.sync 0;"),
                "which no thread has written");
  expectRefused(copies("", "cp.async.commit_group;\ncp.async.wait_group 0;"),
                "race on shared memory");
}

TEST(Tensor, CopiesDoNotOvertakeReaders) {
  expectRefused(fill + "ld.shared.b64 %rd6, [%rd4];\n" + copies("", waited),
                "race on shared memory");
  EXPECT_EQ(refused(fill + "ld.shared.b64 %rd6, [%rd4];\nbar.sync 0;\n" +
                    copies("", waited)),
            "");
}

TEST(Tensor, RefusesWhatTheDeviceRefuses) {
  std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, "
                     "%r4, %r5}, [%rd5";
  expectRefused(fill + rows + load + "+8];", "begins at no multiple of 16");
  expectRefused(fill + rows + load + "+1024];", "of shared memory from 1024");
  expectRefused(fill + rows + "setp.lt.u32 %p1, %t, 31;\n@%p1 " + load + "];",
                "thread 31 is not there for an instruction of the whole warp");
  expectRefused("mov.b64 %rd4, shared;\ncp.async.cg.shared.global [%rd4+8], "
                "[%in], 16;",
                "that is not a multiple of 16", 1);
  expectRefused("mov.b32 %r1, 17;\n" + copies(", %r1", waited),
                "copies more than 16 bytes");
  expectRefused("mov.b64 %rd4, shared;\ncp.async.cg.shared.global [%rd4], "
                "[%in+8], 16;",
                "that is not a multiple of 16");
  expectRefused("mov.b64 %rd4, shared;\ncp.async.cg.shared.global "
                "[%rd4+1024], [%in], 16;",
                "of shared memory from 1024");
  expectRefused("mov.b64 %rd4, shared;\nmov.b64 %rd1, 1048576;\n"
                "cp.async.cg.shared.global [%rd4], [%rd1], 16;",
                "reads 16 bytes at 0x100000, which are not allocated");
  std::string part = product("f16", false);
  part.insert(part.find("mma"), "setp.lt.u32 %p1, %t, 31;\n@%p1 ");
  expectRefused(part, "thread 31 is not there for an instruction of the whole");
}

TEST(Tensor, CopiesReadWhatIsThereWhenTheyEnd) {
  // Another thread writes the source before the copy ends.
  expectRefused("shl.b64 %rd1, %at, 1;\nld.param.b64 %rd2, [k_param_0];\n"
                "add.s64 %rd2, %rd2, %rd1;\nmov.b64 %rd3, shared;\n"
                "add.s64 %rd4, %rd3, %rd1;\n"
                "cp.async.cg.shared.global [%rd4], [%rd2], 16;\n"
                "xor.b64 %rd2, %rd2, 16;\nst.global.b64 [%rd2], %at;\n" +
                    waited,
                "race on the device's memory");
}

} // namespace
