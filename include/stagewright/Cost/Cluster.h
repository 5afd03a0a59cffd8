//===- Cluster.h - devices and links as plain data --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The devices on which stages may run. A cluster comes from a preset
// (`local:4`) or from a JSON file:
//
//   {"name": "lab",
//    "devices": [{"name": "d0", "class": "cpu-core", "node": 0,
//                 "flops": 7.8e10, "bandwidth": 2.0e10,
//                 "memory": 17179869184}, ...],
//    "links": [{"from": "d0", "to": "d1",
//               "bandwidth": 1.0e10, "latency": 2.0e-6}, ...]}
//
// Instead of links between pairs, or in addition, `fabric` connects all devices
// of a host, and all hosts:
//
//    "fabric": {"inside": {"bandwidth": 2.5e10, "latency": 0},
//               "between": {"bandwidth": 3.125e9, "latency": 0},
//               "port": 2.5e10, "nic": 3.125e9}
//
// A link of a pair takes precedence. `nic` is the bandwidth that all channels
// between a host and others share, in each direction, and `port` the one that
// all channels of a device inside its host share (an NVSwitch). A device may
// state its speed relative to the one on which a profile was measured, and, for
// contractions, its operations a second by element type, where they differ from
// `flops`, and the share of these that it reaches:
//
//    {"name": "g0", "class": "H100", ..., "speed": 3.1,
//     "rates": {"bf16": 9.9e14, "f8": 1.98e15},
//     "contractions": {"processors": 132, "bf16": {"most": 0.8, "depth": 64}}}
//
// It may also state the bandwidth of copies to and from the memory of its host,
// per direction: `"host_bandwidth": 6.4e10`. Without it nothing is offloaded.
//
// Memory is in bytes, flops in operations a second, bandwidths in bytes a
// second, latency in seconds. A link works in both directions. Devices of one
// class are equally fast.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_COST_CLUSTER_H
#define STAGEWRIGHT_COST_CLUSTER_H

#include "stagewright/Cost/Contraction.h"
#include "stagewright/Support/Units.h"
#include <map>
#include <vector>

namespace stagewright {

/// A device that can run stages.
struct Device {
  std::string name;
  std::string deviceClass; ///< Devices of one class run a node equally fast.
  int64_t node = 0;        ///< The host that it is part of.
  /// Of contractions in types without a rate, and of all other operations.
  FlopRate flops;
  Bandwidth bandwidth; ///< Of its memory.
  Bytes memory;
  /// Speed relative to the device of a profile ("profiled" seconds).
  double speed = 1;
  /// Operations a second of contractions by element type ("bf16", "f16", "f8",
  /// "tf32" and others).
  std::map<std::string, FlopRate> rates = {};
  ContractionModel contractions = {}; ///< Share of the rates that is reached.
  /// Of copies to the memory of its host, and of copies back at the same time;
  /// none: unknown.
  std::optional<Bandwidth> hostBandwidth = {};
};

/// A connection between two devices, in both directions.
struct Link {
  size_t from = 0, to = 0; ///< Numbers of devices.
  Bandwidth bandwidth;
  Seconds latency;
};

/// The speed of the connections of all pairs of a kind.
struct Joint {
  Bandwidth bandwidth;
  Seconds latency;
};

/// The connections of a cluster, by level of the hierarchy.
struct Fabric {
  std::optional<Joint> inside = {};  ///< Between devices of one host.
  std::optional<Joint> between = {}; ///< Between devices of two hosts.
  std::optional<Bandwidth> nic = {}; ///< Shared by a host's channels to others.
  /// Shared by all channels of a device inside its host.
  std::optional<Bandwidth> port = {};
};

struct Cluster {
  std::string name;
  std::vector<Device> devices;
  std::vector<Link> links;
  Fabric fabric = {};

  /// The link between two devices, or null.
  const Link *find(size_t a, size_t b) const;
  /// The names of the device classes, each once, in the order of the devices.
  std::vector<std::string> classes() const;
  /// The number of each device's class in that list.
  std::vector<size_t> classOfDevices() const;
  /// Checks for at least one device, unique names, positive and finite
  /// quantities, at most one link between two different devices, equal speed
  /// within a class, and a path of links to every device.
  Status check() const;
};

/// `count` cores of this host, each pair linked; the figures and their sources
/// are in LoadCluster.cpp.
Result<Cluster> localCluster(int64_t count);

/// Reads the JSON form above; `file` names it in errors, which name the field
/// and the device too.
Result<Cluster> parseCluster(const std::string &json, const std::string &file);

/// A cluster that can be loaded by name.
struct ClusterPreset {
  std::string name; ///< As in `--cluster=`; [:HOSTS] may be left out.
  std::string summary;
};

/// All presets, for --help.
std::vector<ClusterPreset> clusterPresets();

/// The preset of that name, or else the JSON file at that path. With the suffix
/// ",peak" contractions of every size reach the devices' rates.
Result<Cluster> loadCluster(const std::string &presetOrPath);

} // namespace stagewright

#endif // STAGEWRIGHT_COST_CLUSTER_H
