//===- TargetFlags.cpp - flags for the processor or GPUs that run a step --===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagGroups.h"

using namespace mlir;
using namespace stagewright;
namespace cl = llvm::cl;

namespace {
cl::opt<std::string>
    deviceTarget("target",
                 cl::desc("Where stages run: host (default), cuda, or cuda "
                          "with architectures, such as cuda:sm_80,sm_90a"),
                 cl::init("host"), cl::cat(category()));
cl::opt<std::string>
    ptx("ptx",
        cl::desc("Architectures for which a GPU artifact also contains PTX, "
                 "which newer GPUs and older drivers compile at load. Default: "
                 "the lowest architecture of --target; all: every architecture "
                 "of --target; none; or others, such as sm_80,sm_90"),
        cl::value_desc("arch|none|all"), cl::cat(category()));
cl::opt<Float32Products> tf32(
    "tf32",
    cl::desc("Let the GPU library multiply float32 on tensor cores, as TF32 "
             "(10 bits of mantissa). Default: full float32"),
    cl::ValueOptional, cl::init(Float32Products::Exact),
    cl::values(
        clEnumValN(Float32Products::Tf32, "", "the same as 1x"),
        clEnumValN(Float32Products::Tf32, "1x",
                   "operands of contractions and convolutions are "
                   "rounded: errors of 1e-3"),
        clEnumValN(Float32Products::Tf32x3, "3x",
                   "each contraction as three products of rounded "
                   "parts: errors of 1e-6; convolutions stay in full float32")),
    cl::cat(category()));
cl::opt<std::string>
    targetCpu("target-cpu",
              cl::desc("CPU to compile for: native (default) or an LLVM name "
                       "such as x86-64-v3 (AVX2) or x86-64-v4 (AVX-512). If "
                       "several are given, separated by commas, the artifact "
                       "has code for each and uses the best at run time"),
              cl::init("native"), cl::cat(category()));
cl::opt<std::string>
    cacheDir("cache-dir",
             cl::desc("Folder for the cache of native code (default: "
                      "$XDG_CACHE_HOME/stagewright, or ~/.cache/stagewright if "
                      "that is not set)"),
             cl::value_desc("folder"), cl::cat(category()));
cl::opt<bool> noCache("no-cache",
                      cl::desc("Do not read or write the cache of native code"),
                      cl::cat(category()));
cl::opt<std::string>
    cacheSize("cache-size",
              cl::desc("Max size of the cache, such as 200MiB (default: 1GiB)"),
              cl::value_desc("bytes"), cl::cat(category()));
cl::opt<std::string> scoreBytes(
    "score-bytes",
    cl::desc(
        "On GPUs, compile attention to one kernel that stores no scores if "
        "those of one microbatch in float32 exceed this size (default: 4MiB)"),
    cl::value_desc("bytes"), cl::cat(category()));

} // namespace

static LogicalResult readArtifactFlags(ArtifactOptions &target) {
  target.cpu = targetCpu;
  if (!noCache)
    target.cacheFolder =
        cacheDir.empty() ? defaultCacheFolder() : cacheDir.getValue();
  std::optional<int64_t> size;
  if (failed(readBytes(cacheSize, size, /*min=*/1)))
    return failure();
  if (size)
    target.cacheBytes = uint64_t(*size);
  return success();
}

LogicalResult readTargetFlags(Options &options) {
  CompileOptions &compile = options.compile;
  compile.target = deviceTarget;
  compile.ptx = ptx;
  compile.float32 = tf32;
  options.givesScoreBytes = scoreBytes.getNumOccurrences() > 0;
  if (failed(readBytes(scoreBytes, compile.scoreBytes)) ||
      failed(readArtifactFlags(options.artifact)))
    return failure();
  compile.cacheFolder = options.artifact.cacheFolder;
  return success();
}
