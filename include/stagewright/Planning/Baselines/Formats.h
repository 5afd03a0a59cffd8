//===- Formats.h - readers of published profiles ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers of the text formats in which other planners publish their inputs.
// Each returns a problem whose layers have times of the device class
// "profiled"; placeOn() converts them to the device classes of a cluster.
// Errors name the file, the line or entry, what was expected, and what was
// found.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_FORMATS_H
#define STAGEWRIGHT_PLANNING_FORMATS_H

#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// Rows of forward seconds, backward seconds, bytes sent to the next layer and
/// parameter bytes; lines that start with # are comments.
Result<Problem> readChain(const std::string &text, const std::string &file);

/// PipeDream's graph.txt: nodes with times in milliseconds, then edges. Layers
/// are numbered in topological order, ties by their place in the file.
Result<Problem> readPipeDream(const std::string &text, const std::string &file);

/// The JSON of msr-fiddle/dnn-partitioning (throughput inputs), in the time
/// unit of the file. The problem has a cluster of `maxFPGAs` accelerators of
/// class "profiled" and `maxCPUs` devices of class "host", and times for both.
Result<Problem> readDnnPartitioning(const std::string &text,
                                    const std::string &file);

/// The JSON of msr-fiddle/piper: layers with alternatives. The problem has a
/// cluster and the number of microbatches.
Result<Problem> readPiper(const std::string &text, const std::string &file);

/// A reader by name: "chain", "pipedream", "dnn-partitioning", "piper".
struct ProfileFormat {
  const char *name;
  Result<Problem> (*read)(const std::string &text, const std::string &file);
};

/// The format called `name`; the error lists the known ones.
Result<ProfileFormat> findProfileFormat(std::string_view name);

/// Sets the cluster of a problem from a reader: each device class takes the
/// profiled seconds divided by its speed.
Status placeOn(Problem &problem, const Cluster &cluster);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_FORMATS_H
