//===- MemoryFlags.cpp - flags for kept values and summed gradients -------===//
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
cl::opt<std::string> repeatRatio(
    "repeat-ratio",
    cl::desc("Recompute a contraction in the backward if its result is at "
             "least this many times as large as its operands and recomputing "
             "is cheap enough (default: 4; 0: never). Implies --stash=least if "
             "--stash is not given"),
    cl::cat(category()));
cl::opt<std::string>
    stash("stash",
          cl::desc("What forwards keep for their backwards. least (default on "
                   "the host): the fewest bytes, by recomputing cheap work; "
                   "written (default on GPUs): also what they write to memory "
                   "anyway, so no contraction is recomputed"),
          cl::value_desc("least|written"), cl::cat(category()));
cl::opt<std::string> recomputeLevel(
    "recompute-level",
    cl::desc("How much every layer recomputes before its backward instead of "
             "keeping it. 0: only cheap work; 1 and up: more, as far as the "
             "layer can. Default: what fits in memory, see --explain-memory"),
    cl::value_desc("level"), cl::cat(category()));
cl::opt<std::string> offload(
    "offload",
    cl::desc("Whether to offload what forwards keep for backwards to host "
             "memory, on clusters with host_bandwidth. auto (default): if a "
             "stage does not fit and copying is faster than recomputing; none; "
             "all: wherever it saves device memory"),
    cl::value_desc("auto|none|all"), cl::cat(category()));
cl::opt<std::string> bucketBytes(
    "bucket-bytes",
    cl::desc("Replicas of a stage sum its gradients in buckets of this size "
             "while the rest of the backward runs (default: 1MiB, on GPUs "
             "25MiB). 0: one replica sums the gradients, updates the "
             "parameters, and sends them to the others"),
    cl::value_desc("bytes"), cl::cat(category()));
cl::opt<std::string> averageEvery(
    "average-every",
    cl::desc(
        "Do not sum gradients over replicas: each updates its own "
        "parameters, and they are averaged every so many steps. The result "
        "then differs from synchronous training (default: exact sums)"),
    cl::value_desc("steps"), cl::cat(category()));
cl::opt<std::string> averageDelay(
    "average-delay",
    cl::desc("With --average-every: number of steps between the start of an "
             "average and its merge; the sum runs during these steps. 0: the "
             "step waits for the sum; auto (default): as many as the "
             "predicted times require"),
    cl::value_desc("steps|auto"), cl::cat(category()));
cl::opt<std::string> averageMerge(
    "average-merge",
    cl::desc("corrected (default): add the average minus the parameters that "
             "the replica had when the average began, so no step is lost; "
             "convex: xi times the replica's parameters plus (1 - xi) times "
             "the average, with xi from --average-xi"),
    cl::value_desc("corrected|convex"), cl::cat(category()));
cl::opt<std::string>
    averageXi("average-xi",
              cl::desc("Share of its own parameters that a replica keeps in a "
                       "convex merge (default: 0.25)"),
              cl::value_desc("0..1"), cl::cat(category()));

} // namespace

/// Reads the options of averages over replicas, and checks how they are
/// combined; the pass checks their ranges.
static LogicalResult readAveraging(CompileOptions &options) {
  if (failed(readNumber(averageEvery, options.averageEvery)))
    return failure();
  for (const auto *option : {&averageDelay, &averageMerge, &averageXi})
    if (!option->empty() && averageEvery.empty()) {
      llvm::errs() << "error: --" << option->ArgStr
                   << " says how replicas average their parameters; give "
                      "--average-every=STEPS, too\n";
      return failure();
    }
  options.averageDelay = averageDelay;
  options.averageMerge = averageMerge;
  double xi = 0;
  if (averageXi.empty())
    return success();
  if (StringRef(averageXi).getAsDouble(xi)) {
    llvm::errs() << "error: --average-xi must be a number from 0 to 1, but is '"
                 << averageXi << "'\n";
    return failure();
  }
  if (averageMerge != "convex") {
    llvm::errs() << "error: --average-xi is the share that a replica keeps in "
                    "a convex merge; give --average-merge=convex, too\n";
    return failure();
  }
  options.averageXi = xi;
  return success();
}

LogicalResult readMemoryFlags(CompileOptions &options) {
  options.offload = offload;
  options.stash = stash;
  return success(
      succeeded(readNumber(repeatRatio, options.repeatRatio, 0)) &&
      succeeded(readNumber(recomputeLevel, options.recomputeLevel, 0)) &&
      succeeded(readBytes(bucketBytes, options.bucketBytes)) &&
      succeeded(readAveraging(options)));
}
