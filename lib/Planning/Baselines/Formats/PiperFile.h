//===- PiperFile.h - the JSON of msr-fiddle/piper ---------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the contents of a file, checked.
//
//   {"maxMemoryPerDevice": bytes, "maxDevices": k, "bandwidth": bytes a second,
//    "mbsInBatch": N,
//    "nodes": [{"id": 0, "name": "Embedding", "TMPCs": {"1": [
//      {"id": "vanilla", "timePerSample": p, "parameterSize": w,
//       "memoryUsageA": a, "memoryUsageB": b,
//       "syncTimeFw": {"predecessor": bytes}, "syncTimeBw": {"successor":
//       bytes}}]}}],
//    "edges": [{"sourceId": 0, "destId": 1, "communicationCost": bytes}]}
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_FORMATS_PIPERFILE_H
#define STAGEWRIGHT_PLANNING_FORMATS_PIPERFILE_H

#include "stagewright/Planning/Problem.h"

namespace stagewright {

struct PiperNode {
  int64_t id = 0;
  std::string name; ///< Empty if the file has none.
  /// Sorted by `ways`. The keys of syncIn and syncOut are positions of nodes.
  std::vector<Alternative> alternatives;
};

struct PiperEdge {
  size_t from = 0, to = 0; ///< Positions of nodes.
  Bytes bytes;
};

struct PiperFile {
  Bytes memory;
  int64_t devices = 0, microbatches = 0;
  Bandwidth bandwidth;
  std::vector<PiperNode> nodes;
  std::vector<PiperEdge> edges;
};

/// Reads `text`; errors name `file`, the entry and the field.
Result<PiperFile> parsePiperFile(const std::string &text,
                                 const std::string &file);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_FORMATS_PIPERFILE_H
