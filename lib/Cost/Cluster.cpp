//===- Cluster.cpp - devices and links as plain data ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Cluster.h"
#include "Reach.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace stagewright {

/// The keys of rates and efficiencies: element types as MLIR spells them, and
/// "f8" and "f4" for all types of that width.
static constexpr const char *kRateTypes[] = {"bf16", "f16", "f32", "f4",  "f64",
                                             "f8",   "i4",  "i8",  "tf32"};

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

/// Checks that `type` may have a rate or an efficiency; errors name it `what`.
static Status checkType(const Device &device, const char *what,
                        const std::string &type) {
  if (std::find(std::begin(kRateTypes), std::end(kRateTypes), type) !=
      std::end(kRateTypes))
    return {};
  std::string known;
  for (const char *name : kRateTypes)
    known += known.empty() ? name : std::string(", ") + name;
  return Error{"device '" + device.name + "' has " + what + " for '" + type +
               "', which is not one of the element types " + known};
}

static Status checkContractions(const Device &device) {
  const ContractionModel &model = device.contractions;
  if (model.processors < 0)
    return Error{"device '" + device.name +
                 "' cannot have a negative number of processors, got " +
                 std::to_string(model.processors)};
  for (const auto &[type, share] : model.efficiency) {
    if (Status status = checkType(device, "an efficiency", type); !status)
      return status;
    if (!isPositive(share.most) || share.most > 1 || !(share.depth >= 0) ||
        !std::isfinite(share.depth))
      return Error{"device '" + device.name + "' needs for '" + type +
                   "' a 'most' above 0 and at most 1, and a 'depth' of at "
                   "least 0, got " +
                   toText(share.most) + " and " + toText(share.depth)};
  }
  return {};
}

/// Checks the speed, the rates and other optional values of a device.
static Status checkRates(const Device &device) {
  if (!isPositive(device.speed))
    return Error{"device '" + device.name + "' needs a positive speed, got " +
                 toText(device.speed)};
  for (const auto &[type, rate] : device.rates) {
    if (Status status = checkType(device, "a rate", type); !status)
      return status;
    if (!isPositive(rate.value))
      return Error{"device '" + device.name + "' needs a positive rate for '" +
                   type + "', got " + toText(rate.value)};
  }
  if (device.hostBandwidth && !isPositive(device.hostBandwidth->value))
    return Error{"device '" + device.name +
                 "' needs a positive bandwidth to its host, got " +
                 toText(device.hostBandwidth->value)};
  return checkContractions(device);
}

/// Checks one device; `firstOfClass` collects the first device of each class.
static Status checkDevice(const Device &device,
                          std::map<std::string, const Device *> &firstOfClass) {
  if (!isPositive(device.flops.value) || !isPositive(device.bandwidth.value) ||
      device.memory.value <= 0)
    return Error{"device '" + device.name +
                 "' needs positive flops, bandwidth and memory, got " +
                 toText(device.flops.value) + ", " +
                 toText(device.bandwidth.value) + " and " +
                 std::to_string(device.memory.value)};
  if (Status status = checkRates(device); !status)
    return status;
  auto [first, isNew] = firstOfClass.try_emplace(device.deviceClass, &device);
  const Device &other = *first->second;
  if (other.flops != device.flops || other.bandwidth != device.bandwidth ||
      other.speed != device.speed || other.rates != device.rates ||
      other.contractions != device.contractions ||
      other.hostBandwidth != device.hostBandwidth)
    return Error{
        "devices '" + other.name + "' and '" + device.name +
        "' have the same class '" + device.deviceClass +
        "', but different flops, bandwidth, speed, rates, contractions "
        "or bandwidth to the host; give them two classes"};
  return {};
}

/// Checks for a positive bandwidth and a latency of at least 0; errors begin
/// with `what`.
static Status checkWay(const std::string &what, Bandwidth bandwidth,
                       Seconds latency) {
  if (isPositive(bandwidth.value) && latency.value >= 0 &&
      std::isfinite(latency.value))
    return {};
  return Error{what +
               " needs a positive bandwidth and a latency of at least 0, got " +
               toText(bandwidth.value) + " and " + toText(latency.value)};
}

static Status checkLinks(const Cluster &cluster) {
  std::set<std::pair<size_t, size_t>> pairs;
  for (const Link &link : cluster.links) {
    size_t count = cluster.devices.size();
    if (link.from >= count || link.to >= count || link.from == link.to)
      return Error{"cluster '" + cluster.name +
                   "' has a link that does not join two of its devices"};
    std::string ends = "between '" + cluster.devices[link.from].name +
                       "' and '" + cluster.devices[link.to].name + "'";
    if (Status status = checkWay("link " + ends, link.bandwidth, link.latency);
        !status)
      return status;
    if (!pairs.insert(std::minmax(link.from, link.to)).second)
      return Error{"cluster '" + cluster.name + "' has two links " + ends +
                   "; give one with the bandwidth of both"};
  }
  return {};
}

static Status checkFabric(const Fabric &fabric) {
  for (auto [joint, where] : {std::pair(&fabric.inside, "inside"),
                              std::pair(&fabric.between, "between")})
    if (*joint)
      if (Status status = checkWay(std::string("fabric ") + where + " hosts",
                                   (*joint)->bandwidth, (*joint)->latency);
          !status)
        return status;
  for (auto [shared, name] :
       {std::pair(&fabric.port, "port"), std::pair(&fabric.nic, "nic")})
    if (*shared && !isPositive((*shared)->value))
      return Error{std::string(name) +
                   " of the fabric needs a positive bandwidth, got " +
                   toText((*shared)->value)};
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
  if (Status status = checkLinks(*this); !status)
    return status;
  if (Status status = checkFabric(fabric); !status)
    return status;
  return checkReach(*this);
}

} // namespace stagewright
