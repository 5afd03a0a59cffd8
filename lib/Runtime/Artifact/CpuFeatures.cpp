//===- CpuFeatures.cpp - instruction sets of this processor ---------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/CpuFeatures.h"

#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <string_view>

namespace stagewright::runtime {

#if defined(__x86_64__)

namespace {

struct Feature {
  std::string_view name; ///< as in LLVM
  bool present;
};

/// Features that every x86-64 processor has, that come with AVX or AVX-512
/// (vzeroupper, evex512), or that compilers use only if asked by name:
/// instructions for operating systems, hints, crc32.
constexpr std::string_view baseline[] = {
    "64bit", "cmov",   "cx8",        "cx16",    "fxsr",   "mmx",     "x87",
    "sse",   "sse2",   "sahf",       "crc32",   "prfchw", "invpcid", "shstk",
    "rdpru", "mwaitx", "vzeroupper", "evex512", "pku",    "wbnoinvd"};

// The builtin also checks that the operating system saves AVX registers
// (xgetbv), which cpuid does not report. Otherwise AVX code would fault.
#define SUPPORTS(name)                                                         \
  Feature { name, bool(__builtin_cpu_supports(name)) }

bool supports(std::string_view name) {
  static const Feature table[] = {SUPPORTS("sse3"),
                                  SUPPORTS("ssse3"),
                                  SUPPORTS("sse4.1"),
                                  SUPPORTS("sse4.2"),
                                  SUPPORTS("sse4a"),
                                  SUPPORTS("popcnt"),
                                  SUPPORTS("lzcnt"),
                                  SUPPORTS("bmi"),
                                  SUPPORTS("bmi2"),
                                  SUPPORTS("adx"),
                                  SUPPORTS("movbe"),
                                  SUPPORTS("aes"),
                                  SUPPORTS("pclmul"),
                                  SUPPORTS("sha"),
                                  SUPPORTS("rdrnd"),
                                  SUPPORTS("rdseed"),
                                  SUPPORTS("rdpid"),
                                  SUPPORTS("fsgsbase"),
                                  SUPPORTS("clflushopt"),
                                  SUPPORTS("clwb"),
                                  SUPPORTS("clzero"),
                                  SUPPORTS("xsave"),
                                  SUPPORTS("xsavec"),
                                  SUPPORTS("xsaveopt"),
                                  SUPPORTS("xsaves"),
                                  SUPPORTS("avx"),
                                  SUPPORTS("f16c"),
                                  SUPPORTS("fma"),
                                  SUPPORTS("avx2"),
                                  SUPPORTS("vaes"),
                                  SUPPORTS("vpclmulqdq"),
                                  SUPPORTS("gfni"),
                                  SUPPORTS("avxvnni"),
                                  SUPPORTS("avx512f"),
                                  SUPPORTS("avx512bw"),
                                  SUPPORTS("avx512cd"),
                                  SUPPORTS("avx512dq"),
                                  SUPPORTS("avx512vl"),
                                  SUPPORTS("avx512ifma"),
                                  SUPPORTS("avx512vbmi"),
                                  SUPPORTS("avx512vbmi2"),
                                  SUPPORTS("avx512vnni"),
                                  SUPPORTS("avx512bitalg"),
                                  SUPPORTS("avx512vpopcntdq"),
                                  SUPPORTS("avx512bf16"),
                                  SUPPORTS("avx512fp16"),
                                  SUPPORTS("avx512vp2intersect")};
  for (const Feature &feature : table)
    if (feature.name == name)
      return feature.present;
  return std::find(std::begin(baseline), std::end(baseline), name) !=
         std::end(baseline);
}

} // namespace

#else

namespace {
bool supports(std::string_view) { return false; }
} // namespace

#endif

bool hasCpuFeatures(const std::vector<std::string> &features) {
  return std::all_of(features.begin(), features.end(), supports);
}

void requireCpuFeatures(const std::vector<std::string> &features) {
  std::string missing;
  for (const std::string &name : features)
    if (!supports(name))
      missing += (missing.empty() ? "" : ", ") + name;
  if (!missing.empty())
    raise("artifact needs processor features that this machine lacks: ",
          missing, "; compile it for this processor");
}

} // namespace stagewright::runtime
