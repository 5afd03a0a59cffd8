//===- StepTime.cpp - estimated times of a step's calls -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/StepTime.h"
#include "stagewright/Cost/JsonFields.h"
#include "stagewright/Cost/Network.h"
#include "stagewright/Cost/Roofline.h"
#include <algorithm>

namespace stagewright {

using nlohmann::json;

namespace {

StepCall parseCall(const json &object) {
  auto integer = [&](const char *key) { return object.value(key, int64_t(0)); };
  StepCall call;
  call.kind = object.at("class");
  call.name = object.at("name");
  call.node = object.value("node", "");
  for (const auto &[node, count] : object.at("nodes").items())
    call.count += call.nodes[node] = count;
  call.read = Bytes(object.at("read"));
  call.written = Bytes(object.at("written"));
  call.flops = Flops(object.at("flops"));
  call.blocks = integer("blocks");
  call.threads = integer("threads");
  call.product = {object.value("type", ""), integer("batch"), integer("m"),
                  integer("n"), integer("k")};
  call.scores = Bytes(integer("scores"));
  return call;
}

/// The device's rate for a type of elements.
FlopRate rateOf(const Device &device, const std::string &type) {
  auto rate = device.rates.find(type);
  return rate == device.rates.end() ? device.flops : rate->second;
}

bool isProduct(const StepCall &call) {
  return call.kind == "product" || call.kind == "convolution";
}

/// Whether `call` is our attention kernel with products on tensor cores (16
/// bits).
bool isTensorAttention(const StepCall &call) {
  return call.kind == "tensor attention";
}

bool isLibraryAttention(const StepCall &call) {
  return call.kind == "attention" && !call.isOurs();
}

/// Seconds of one call on `device`; messages are sent over `link`.
Seconds secondsOf(const StepCall &call, const Device &device, Bandwidth link) {
  Bytes bytes = call.read + call.written;
  if (call.kind == "stash")
    return bytes / device.hostBandwidth.value_or(link);
  if (call.isBeside())
    return bytes / link;
  if (isProduct(call))
    return rooflineSeconds(
        {call.flops, call.read, call.written, {{call.product, call.flops}}},
        device);
  auto atShare = [&](const std::string &type, double share) {
    return std::max(bytes / device.bandwidth,
                    call.flops / FlopRate(rateOf(device, type).value * share));
  };
  if (isLibraryAttention(call))
    return atShare(call.product.type, kAttentionShare);
  if (isTensorAttention(call)) // f16 has bf16's rate.
    return atShare("bf16", kOwnAttentionShare);
  Device busy = device;
  if (call.isOurs()) {
    auto threads = double(call.threads);
    busy.bandwidth =
        std::min(device.bandwidth,
                 Bandwidth(threads * double(kThreadBytes) / kLatency.value));
    auto lanes = double(device.contractions.processors * kLanes);
    if (lanes > threads)
      busy.flops = FlopRate(device.flops.value * threads / lanes);
  }
  return rooflineSeconds({call.flops, call.read, call.written}, busy);
}

/// An extra entry for the array of scores: it is not part of attention's
/// arithmetic, and --any-order avoids it.
StepCall scoresOf(const StepCall &gradient, const Device &device) {
  StepCall call = gradient;
  call.kind = "scores";
  call.flops = {};
  call.read = call.written = gradient.scores;
  call.scores = {};
  call.seconds = (call.read + call.written) / device.bandwidth;
  return call;
}

RankTime estimate(const json &rank, const Device &device, Bandwidth link,
                  bool anyOrder) {
  RankTime time;
  time.device = rank.at("device");
  time.deviceClass = device.deviceClass;
  for (const json &object : rank.at("calls")) {
    StepCall call = parseCall(object);
    call.seconds = secondsOf(call, device, link);
    if (!call.isBeside()) {
      time.nodes += call.count;
      time.sum += call.total();
    }
    if (call.isOurs())
      time.ours += call.bytes();
    auto arithmetic = [&](double share) {
      return call.flops * double(call.count) /
             FlopRate(rateOf(device, call.product.type).value * share);
    };
    if (isProduct(call)) {
      time.products += arithmetic(kProductShare);
      time.expected += call.total();
    }
    if (isLibraryAttention(call))
      time.attention += arithmetic(kAttentionShare);
    if (call.scores > Bytes(0) && !anyOrder) {
      time.calls.push_back(scoresOf(call, device));
      time.scores += time.calls.back().bytes();
      time.scoreTime += time.calls.back().total();
    }
    time.calls.push_back(std::move(call));
  }
  time.sum += time.scoreTime + kNodeSeconds * double(time.nodes);
  std::stable_sort(time.calls.begin(), time.calls.end(),
                   [](const StepCall &a, const StepCall &b) {
                     return a.total() > b.total();
                   });
  return time;
}

} // namespace

Result<std::vector<RankTime>>
estimateStep(const std::string &text, const Cluster &cluster, bool anyOrder) {
  Result<Network> network = Network::create(cluster);
  if (!network)
    return network.error();
  Result<json> parsed = parseJson(text, "the counts of the step");
  if (!parsed)
    return parsed.error();
  std::vector<RankTime> ranks;
  for (const json &rank : parsed->at("ranks")) {
    std::string name = rank.at("device");
    size_t number = ranks.size() % cluster.devices.size();
    for (size_t d = 0; d < cluster.devices.size(); ++d)
      if (cluster.devices[d].name == name)
        number = d;
    const Device &device = cluster.devices[number];
    if (device.deviceClass == "cpu-core")
      return Error{"the devices of the cluster '" + cluster.name +
                   "' are CPU cores, and the step is for GPUs: name a cluster "
                   "of GPUs, for example --cluster=h100, or run pp-run "
                   "--explain-time=h100 on the artifact"};
    // The slowest link to another device, or the memory if that is slower.
    double link = device.bandwidth.value;
    for (size_t d = 0; d < network->size(); ++d)
      link = std::min(link, network->bandwidth(number, d));
    ranks.push_back(estimate(rank, device, Bandwidth(link), anyOrder));
  }
  return ranks;
}

Result<std::string> explainStep(const std::string &counts,
                                const std::string &cluster, bool json,
                                bool anyOrder) {
  Result<Cluster> devices = loadCluster(cluster);
  if (!devices)
    return devices.error();
  Result<std::vector<RankTime>> ranks =
      estimateStep(counts, *devices, anyOrder);
  if (!ranks)
    return ranks.error();
  return json ? toJson(*ranks) : toText(*ranks);
}

} // namespace stagewright
