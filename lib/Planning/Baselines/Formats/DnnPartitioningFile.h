//===- DnnPartitioningFile.h - JSON of dnn-partitioning ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the checked contents of a file.
//
//   {"maxSizePerFPGA": bytes, "maxFPGAs": k, "maxCPUs": cores,
//    "nodes": [{"id": 1, "name": "node1", "supportedOnFpga": 1,
//               "cpuLatency": t, "fpgaLatency": t, "isBackwardNode": 0,
//               "colorClass": 1, "size": bytes}],
//    "edges": [{"sourceId": 1, "destId": 3, "cost": t, "size": bytes}]}
//
// "FPGA" means any accelerator, "maxCPUs" counts the cores of the one host.
// `colorClass`, `name` and both sizes are optional; a node without a class is a
// class of its own.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_PLANNING_FORMATS_DNNPARTITIONINGFILE_H
#define STAGEWRIGHT_PLANNING_FORMATS_DNNPARTITIONINGFILE_H

#include "stagewright/Support/Units.h"
#include <map>

namespace stagewright {

struct DnnNode {
  int64_t id = 0;
  std::string name; ///< "node <id>" where the file gives none.
  Seconds time;     ///< On an accelerator, in the file's unit of time.
  Seconds hostTime; ///< On a core of the host.
  Bytes size;
  bool backward = false;
  size_t color = 0; ///< 0, 1, ...: nodes of one color must be on one device.
  /// Time to move its output between an accelerator and the host; paid once by
  /// every accelerator that sends or receives it.
  Seconds cost;
  Bytes bytes;            ///< Of its output; 0 if the file does not state it.
  std::vector<size_t> to; ///< Positions of the nodes that use its output.
};

struct DnnFile {
  int64_t devices = 0, hosts = 0; ///< Accelerators, cores of the host.
  Bytes memory;
  std::vector<DnnNode> nodes; ///< By increasing id.
  size_t numColors = 0;
};

/// Reads `text`; errors name `file`, the node or edge and the field.
Result<DnnFile> parseDnnFile(const std::string &text, const std::string &file);

} // namespace stagewright

#endif // STAGEWRIGHT_PLANNING_FORMATS_DNNPARTITIONINGFILE_H
