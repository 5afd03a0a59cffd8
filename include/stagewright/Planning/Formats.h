//===- Formats.h - profiles that others measured ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Readers of the text formats in which other planners publish their inputs.
// Each gives a problem whose layers have one time, that of the device class
// "profiled"; placeOn() puts it on a cluster. An error names file, line or
// entry, both values.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_FORMATS_H
#define STAGEWRIGHT_PLANNING_FORMATS_H

#include "stagewright/Planning/Problem.h"

namespace stagewright {

/// Class of the device that a profile was measured on.
inline constexpr const char *kProfiledClass = "profiled";
/// Class of a device whose memory all transfers go through, so that its load
/// counts none: the host of the accelerators of dnn-partitioning.
inline constexpr const char *kHostClass = "host";

/// Rows of forward seconds, backward seconds, bytes of the cut behind the layer
/// and parameter bytes; lines that start with # are comments.
Result<Problem> readChain(const std::string &text, const std::string &file);

/// PipeDream's graph.txt: nodes with times in milliseconds, edges after them.
/// Layers are numbered in topological order, first in the file first.
Result<Problem> readPipeDream(const std::string &text, const std::string &file);

/// The JSON of msr-fiddle/dnn-partitioning (throughput inputs), in the time
/// unit of the file; brings its own cluster of `maxFPGAs` accelerators of class
/// "profiled" and `maxCPUs` devices of class "host", with a second time for it.
Result<Problem> readDnnPartitioning(const std::string &text,
                                    const std::string &file);

/// The JSON of msr-fiddle/piper: layers with alternatives; brings its own
/// cluster and number of microbatches.
Result<Problem> readPiper(const std::string &text, const std::string &file);

/// A reader by name: "chain", "pipedream", "dnn-partitioning", "piper".
struct ProfileFormat {
  const char *name;
  Result<Problem> (*read)(const std::string &text, const std::string &file);
};

/// The format called `name`; the error lists those there are.
Result<ProfileFormat> findProfileFormat(std::string_view name);

/// Puts a problem from a reader on `cluster`: each device class takes the
/// profiled seconds divided by its speed.
Status placeOn(Problem &problem, const Cluster &cluster);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_FORMATS_H
