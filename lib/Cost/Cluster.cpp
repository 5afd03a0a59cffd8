//===- Cluster.cpp - devices and links as plain data ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Cluster.h"
#include "JsonFields.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

using nlohmann::json;

namespace stagewright {

/// One core: two 8-wide fused multiply-adds a cycle at 2.45 GHz (AMD EPYC 7003,
/// AVX2) are 78.4e9 operations a second; OpenBLAS reached 75 to 80e9 on one.
static constexpr FlopRate kCoreFlops{7.8e10};
/// A copy of 64 MiB on one EPYC core, counting each byte once: 19.5e9.
static constexpr Bandwidth kCoreBandwidth{2.0e10};
/// Between two cores a byte is written by one and read by the other: half of
/// that.
static constexpr Bandwidth kCoreLink{1.0e10};
/// Waking a waiting thread on Linux (futex) takes one to three microseconds.
static constexpr Seconds kCoreWake{2.0e-6};
/// A share of the host; `memory=` and cluster files say otherwise. One value on
/// every machine, so that one input gives one plan.
static constexpr Bytes kCoreMemory{int64_t(16) << 30};
/// More cores than any host has; a number above is a slip.
static constexpr int64_t kMostCores = 1024;

const Link *Cluster::find(size_t a, size_t b) const {
  for (const Link &link : links)
    if ((link.from == a && link.to == b) || (link.from == b && link.to == a))
      return &link;
  return nullptr;
}

std::vector<std::string> Cluster::classes() const {
  std::vector<std::string> names;
  for (const Device &device : devices)
    if (std::find(names.begin(), names.end(), device.deviceClass) ==
        names.end())
      names.push_back(device.deviceClass);
  return names;
}

std::vector<size_t> Cluster::classOfDevices() const {
  std::map<std::string_view, size_t> numbers;
  std::vector<size_t> result;
  for (const Device &device : devices)
    result.push_back(
        numbers.try_emplace(device.deviceClass, numbers.size()).first->second);
  return result;
}

static bool isPositive(double number) {
  return number > 0 && std::isfinite(number);
}

/// Checks one device; `firstOfClass` collects the first device of each class.
static Status checkDevice(const Device &device,
                          std::map<std::string, const Device *> &firstOfClass) {
  if (!isPositive(device.flops.value) || !isPositive(device.bandwidth.value) ||
      device.memory.value <= 0)
    return Error{"device '" + device.name +
                 "' needs positive flops, bandwidth and memory, got " +
                 json(device.flops.value).dump() + ", " +
                 json(device.bandwidth.value).dump() + " and " +
                 std::to_string(device.memory.value)};
  auto [first, isNew] = firstOfClass.try_emplace(device.deviceClass, &device);
  const Device &other = *first->second;
  if (other.flops != device.flops || other.bandwidth != device.bandwidth)
    return Error{"devices '" + other.name + "' and '" + device.name +
                 "' have the same class '" + device.deviceClass +
                 "' and other flops or bandwidth; give them two classes"};
  return {};
}

Status Cluster::check() const {
  if (devices.empty())
    return Error{"cluster '" + name + "' has no devices"};
  std::set<std::string> names;
  std::map<std::string, const Device *> firstOfClass;
  for (const Device &device : devices) {
    if (device.name.empty() || device.deviceClass.empty())
      return Error{"cluster '" + name +
                   "' has a device with an empty name or class"};
    if (!names.insert(device.name).second)
      return Error{"cluster '" + name + "' has two devices '" + device.name +
                   "'"};
    if (Status status = checkDevice(device, firstOfClass); !status)
      return status;
  }
  for (const Link &link : links) {
    if (link.from >= devices.size() || link.to >= devices.size() ||
        link.from == link.to)
      return Error{"cluster '" + name +
                   "' has a link that does not join two of its devices"};
    if (!isPositive(link.bandwidth.value) || !(link.latency.value >= 0) ||
        !std::isfinite(link.latency.value))
      return Error{"link between '" + devices[link.from].name + "' and '" +
                   devices[link.to].name +
                   "' needs a positive bandwidth and a latency of at least 0, "
                   "got " +
                   json(link.bandwidth.value).dump() + " and " +
                   json(link.latency.value).dump()};
  }
  return {};
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

/// Reads one entry of `devices`.
static Result<Device> parseDevice(const json &object, size_t index,
                                  const std::string &file) {
  std::string where = file + ": device " + std::to_string(index);
  if (object.is_object() && object.contains("name") &&
      object["name"].is_string())
    where = file + ": device '" + object["name"].get<std::string>() + "'";
  JsonFields fields(object, where);
  Device device;
  device.name = fields.text("name");
  device.deviceClass = fields.text("class");
  device.node = fields.integer("node");
  device.flops = FlopRate(fields.number("flops"));
  device.bandwidth = Bandwidth(fields.number("bandwidth"));
  device.memory = Bytes(fields.integer("memory"));
  if (fields.error())
    return *fields.error();
  return device;
}

/// Reads one entry of `links`.
static Result<Link> parseLink(const json &object, size_t index,
                              const std::string &file, const Cluster &cluster) {
  std::string where = file + ": link " + std::to_string(index);
  JsonFields fields(object, where);
  Link link;
  std::string ends[] = {fields.text("from"), fields.text("to")};
  link.bandwidth = Bandwidth(fields.number("bandwidth"));
  link.latency = Seconds(fields.number("latency"));
  if (fields.error())
    return *fields.error();
  for (bool to : {false, true}) {
    auto device =
        std::find_if(cluster.devices.begin(), cluster.devices.end(),
                     [&](const Device &d) { return d.name == ends[to]; });
    if (device == cluster.devices.end())
      return Error{where + ": '" + ends[to] + "' is not a device of the file"};
    (to ? link.to : link.from) = device - cluster.devices.begin();
  }
  return link;
}

Result<Cluster> parseCluster(const std::string &text, const std::string &file) {
  Result<json> parsed = parseJson(text, file);
  if (!parsed)
    return parsed.error();
  JsonFields fields(*parsed, file);
  Cluster cluster;
  cluster.name = fields.text("name");
  if (fields.error())
    return *fields.error();
  for (const char *list : {"devices", "links"})
    if (!parsed->contains(list) || !(*parsed)[list].is_array())
      return Error{file + " has no list '" + list + "'"};
  for (const json &entry : (*parsed)["devices"]) {
    Result<Device> device = parseDevice(entry, cluster.devices.size(), file);
    if (!device)
      return device.error();
    cluster.devices.push_back(std::move(*device));
  }
  for (const json &entry : (*parsed)["links"]) {
    Result<Link> link = parseLink(entry, cluster.links.size(), file, cluster);
    if (!link)
      return link.error();
    cluster.links.push_back(*link);
  }
  if (Status status = cluster.check(); !status)
    return Error{file + ": " + status.error().message};
  return cluster;
}

Result<Cluster> loadCluster(const std::string &presetOrPath) {
  constexpr std::string_view kLocal = "local:";
  if (presetOrPath.starts_with(kLocal)) {
    int64_t count = 0;
    const char *end = presetOrPath.data() + presetOrPath.size();
    auto [rest, code] =
        std::from_chars(presetOrPath.data() + kLocal.size(), end, count);
    if (code != std::errc() || rest != end)
      return Error{"cluster '" + presetOrPath +
                   "' needs a number of cores, as in local:4"};
    return localCluster(count);
  }
  if (!presetOrPath.ends_with(".json"))
    return Error{"unknown cluster '" + presetOrPath +
                 "'; write local:N for N cores of this host, or the path of a "
                 ".json file"};
  Result<std::string> text = readTextFile(presetOrPath);
  if (!text)
    return text.error();
  return parseCluster(*text, presetOrPath);
}

} // namespace stagewright
