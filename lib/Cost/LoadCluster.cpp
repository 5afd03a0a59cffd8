//===- LoadCluster.cpp - a cluster by its name or file --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Presets.h"
#include "stagewright/Cost/JsonFields.h"
#include "stagewright/Support/ParseNumber.h"

namespace stagewright {

/// One core: two 8-wide fused multiply-adds a cycle at 2.45 GHz (AMD EPYC 7003,
/// AVX2) are 78.4e9 operations a second; OpenBLAS reached 75 to 80e9 on one.
static constexpr FlopRate kCoreFlops{7.8e10};
/// A copy of 64 MiB on one EPYC core, counting each byte once: 19.5e9.
static constexpr Bandwidth kCoreBandwidth{2.0e10};
/// A byte sent between cores is written by one and read by the other: half of
/// that.
static constexpr Bandwidth kCoreLink{1.0e10};
/// Waking a waiting thread on Linux (futex) takes one to three microseconds.
static constexpr Seconds kCoreWake{2.0e-6};
/// Memory per core, which `memory=` and cluster files override. The same on
/// every machine, so that one input gives one plan.
static constexpr Bytes kCoreMemory{int64_t(16) << 30};
/// More cores than any host has; a larger number is a typing error.
static constexpr int64_t kMostCores = 1024;

/// Suffix of a cluster's name: contractions of any size reach the rates.
static constexpr std::string_view kPeak = ",peak";

/// Max hosts of a preset.
static constexpr int64_t kMostHosts = 512;

/// The cluster of `preset`.
static Cluster instantiate(const Preset &preset) {
  Cluster cluster;
  cluster.name = preset.name;
  cluster.fabric = preset.fabric;
  Device device = preset.device;
  for (size_t host = 0; host < preset.hosts.size(); ++host)
    for (int64_t i = 0; i < preset.hosts[host]; ++i) {
      device.name = "d" + std::to_string(cluster.devices.size());
      device.node = int64_t(host);
      cluster.devices.push_back(device);
    }
  return cluster;
}

Result<Cluster> localCluster(int64_t count) {
  if (count < 1 || count > kMostCores)
    return Error{"cluster 'local' has 1 to " + std::to_string(kMostCores) +
                 " cores, got " + std::to_string(count)};
  Cluster cluster;
  cluster.name = "local";
  for (int64_t i = 0; i < count; ++i) {
    cluster.devices.push_back({"d" + std::to_string(i), "cpu-core", 0,
                               kCoreFlops, kCoreBandwidth, kCoreMemory});
    for (int64_t other = i + 1; other < count; ++other)
      cluster.links.push_back({size_t(i), size_t(other), kCoreLink, kCoreWake});
  }
  return cluster;
}

std::vector<ClusterPreset> clusterPresets() {
  std::vector<ClusterPreset> list = {{"local:N", "N cores of this host"}};
  for (const Preset &preset : presets()) {
    bool isEven = preset.hosts.front() == preset.hosts.back();
    list.push_back(
        {preset.name + std::string(isEven ? "[:HOSTS]" : ""), preset.summary});
  }
  return list;
}

/// The cluster of `preset`, with `count` hosts if that is given.
static Result<Cluster> loadPreset(Preset preset,
                                  std::optional<std::string_view> count) {
  if (!count)
    return instantiate(preset);
  std::string name = preset.name;
  if (preset.hosts.front() != preset.hosts.back())
    return Error{"cluster '" + name + "' has a fixed list of hosts, got '" +
                 name + ":" + std::string(*count) + "'; leave the number out"};
  std::optional<int64_t> hosts = parseNumber(*count);
  if (!hosts)
    return Error{"cluster '" + name + ":" + std::string(*count) +
                 "' needs a number of hosts, as in " + name + ":4"};
  if (*hosts < 1 || *hosts > kMostHosts)
    return Error{"cluster '" + name + "' has 1 to " +
                 std::to_string(kMostHosts) + " hosts, got " +
                 std::to_string(*hosts)};
  preset.hosts.assign(size_t(*hosts), preset.hosts.front());
  return instantiate(preset);
}

/// The cluster named `presetOrPath`, which has no ",peak".
static Result<Cluster> loadSized(const std::string &presetOrPath) {
  std::string_view name = presetOrPath;
  if (name.ends_with(".json")) {
    Result<std::string> text = readTextFile(presetOrPath);
    if (!text)
      return text.error();
    return parseCluster(*text, presetOrPath);
  }
  std::optional<std::string_view> count;
  if (size_t colon = name.find(':'); colon != std::string_view::npos) {
    count = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  if (name == "local" && count) {
    std::optional<int64_t> cores = parseNumber(*count);
    if (!cores)
      return Error{"cluster '" + presetOrPath +
                   "' needs a number of cores, as in local:4"};
    return localCluster(*cores);
  }
  for (Preset &preset : presets())
    if (name == preset.name)
      return loadPreset(std::move(preset), count);
  std::string known;
  for (const ClusterPreset &preset : clusterPresets())
    known += preset.name + ", ";
  return Error{"unknown cluster '" + presetOrPath + "'; there are " + known +
               "and the path of a .json file, each with ',peak' for "
               "contractions at the devices' rates whatever their size"};
}

Result<Cluster> loadCluster(const std::string &presetOrPath) {
  std::string name = presetOrPath;
  bool isPeak = name.ends_with(kPeak);
  if (isPeak)
    name.resize(name.size() - kPeak.size());
  Result<Cluster> cluster = loadSized(name);
  if (cluster && isPeak)
    for (Device &device : cluster->devices)
      device.contractions = {};
  return cluster;
}

} // namespace stagewright
