//===- Checks.cpp - checks for contradicting flags ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include "stagewright/Simulation/Pipeline.h"
#include "stagewright/Target/DeviceTarget.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace stagewright;

namespace {

/// Whether `path` exists and is not a regular file.
bool isSpecial(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status) &&
         status.type() != llvm::sys::fs::file_type::regular_file;
}

/// Reports an error for an unknown target, and for flags that only apply to
/// devices if the target is the host.
LogicalResult checkTarget(const Options &options) {
  const CompileOptions &how = options.compile;
  const char *flag = options.emit == Emit::Assembly          ? "--emit=assembly"
                     : options.emit == Emit::Kernels         ? "--emit=kernels"
                     : how.float32 != Float32Products::Exact ? "--tf32"
                     : !how.ptx.empty()                      ? "--ptx"
                     : options.givesScoreBytes               ? "--score-bytes"
                                                             : nullptr;
  if (how.target != "host") {
    auto known = createDeviceTarget(how.target, /*cacheFolder=*/"", how.ptx);
    if (known)
      return success();
    llvm::errs() << "error: " << llvm::toString(known.takeError()) << "\n";
    return failure();
  }
  if (!flag)
    return success();
  llvm::errs() << "error: " << flag
               << " is about kernels of a device, but the target is 'host'; "
                  "give another target, such as --target=cuda:sm_90a\n";
  return failure();
}

/// Reports an error if --explain-time cannot work, before compilation begins.
LogicalResult checkExplainTime(const Options &options) {
  const char *problem =
      !options.explainTime ? nullptr
      : options.compile.target == "host"
          ? "is about kernels of a device, but the target is 'host'; give "
            "another target, such as --target=cuda:sm_90a"
      : options.emit != Emit::Artifact
          ? "counts the calls of an artifact, but --emit stops before it; "
            "leave --emit out"
      : options.compile.cluster.empty()
          ? "needs the rates of devices, but there is no "
            "--cluster; give one, such as --cluster=h100"
          : nullptr;
  if (!problem)
    return success();
  llvm::errs() << "error: --explain-time " << problem << "\n";
  return failure();
}

/// Reports contradicting flags of sharding: those of shards without
/// --tensor-parallel, and --tensor-parallel with a plan.
LogicalResult checkShards(const CompileOptions &options) {
  const char *problem =
      !options.shards && !options.shardHints.empty()
          ? "--shard says what --tensor-parallel splits; give that too, such "
            "as --tensor-parallel=2"
      : options.dataParallel && options.shards.value_or(1) == 1
          ? "--data-parallel says how many copies of the shards of "
            "--tensor-parallel there are; without shards give --max-replicas "
            "or --plan"
      : options.recomputeLayers && options.shards.value_or(1) == 1 &&
              options.annotate.empty()
          ? "--recompute-layers is about layers that are split over shards; "
            "give --tensor-parallel too, or without shards --recompute-level"
      : options.shards.value_or(1) != 1 && !options.plan.empty()
          ? "--tensor-parallel places its stages itself; leave --plan out"
          : nullptr;
  if (!problem)
    return success();
  llvm::errs() << "error: " << problem << "\n";
  return failure();
}

/// Reports an error for --spare-credits without --execution=ready.
LogicalResult checkExecution(const CompileOptions &options) {
  bool ready = options.execution == Execution::Ready;
  if (options.spareCredits && !ready) {
    llvm::errs() << "error: --spare-credits is for --execution=ready; give "
                    "both or none\n";
    return failure();
  }
  return success();
}

/// Reports an error for an unknown --policy, and for --policy if --emit stops
/// before the pass that reads it.
LogicalResult checkPolicy(const Options &options) {
  if (options.compile.policy.empty())
    return success();
  Result<LinkSharing> policy = parseLinkSharing(options.compile.policy);
  std::string problem;
  if (!policy)
    problem = policy.error().message;
  else if (options.emit == Emit::Graph || options.emit == Emit::Program)
    problem = "--policy is about the messages of a schedule; give "
              "--emit=schedule or a later level, or leave --policy out";
  if (problem.empty())
    return success();
  llvm::errs() << "error: " << problem << "\n";
  return failure();
}

} // namespace

LogicalResult check(const Options &options) {
  const CompileOptions &how = options.compile;
  if (failed(checkTarget(options)) || failed(checkExplainTime(options)))
    return failure();
  if (!how.plan.empty() && !how.planner.empty()) {
    llvm::errs() << "error: --plan gives the stages and --planner="
                 << how.planner << " searches for them; give one of the two\n";
    return failure();
  }
  if (failed(checkShards(how)) || failed(checkExecution(how)) ||
      failed(checkPolicy(options)))
    return failure();
  if (options.emit == Emit::Artifact &&
      (options.output.empty() || options.output == "-")) {
    llvm::errs() << "error: an artifact needs a file; give -o step.swx, or "
                    "--emit= for text\n";
    return failure();
  }
  if (options.emit == Emit::Artifact && isSpecial(options.output)) {
    llvm::errs() << "error: cannot write an artifact to '" << options.output
                 << "', which is not a regular file\n";
    return failure();
  }
  return success();
}
