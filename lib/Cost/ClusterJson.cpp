//===- ClusterJson.cpp - cluster files ------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Cost/Cluster.h"
#include "stagewright/Cost/JsonFields.h"

using nlohmann::json;

namespace stagewright {

/// Reads `contractions` of a device: which share of its rates they reach.
static Result<ContractionModel> parseContractions(const json &object,
                                                  const std::string &where) {
  ContractionModel model;
  JsonFields fields(object, where);
  for (const auto &[name, value] : object.items()) {
    if (name == "processors") {
      model.processors = fields.integer("processors");
      continue;
    }
    JsonFields share(value, where + ": '" + name + "'");
    share.allowOnly({"most", "depth"});
    model.efficiency[name] = {share.number("most"), share.number("depth")};
    if (share.error())
      return *share.error();
  }
  if (fields.error())
    return *fields.error();
  return model;
}

/// Reads one entry of `devices`.
static Result<Device> parseDevice(const json &object, size_t index,
                                  const std::string &file) {
  std::string where = file + ": device " + std::to_string(index);
  if (object.is_object() && object.contains("name") &&
      object["name"].is_string())
    where = file + ": device '" + object["name"].get<std::string>() + "'";
  JsonFields fields(object, where);
  fields.allowOnly({"name", "class", "node", "flops", "bandwidth", "memory",
                    "speed", "rates", "contractions", "host_bandwidth"});
  Device device;
  device.name = fields.text("name");
  device.deviceClass = fields.text("class");
  device.node = fields.integer("node");
  device.flops = FlopRate(fields.number("flops"));
  device.bandwidth = Bandwidth(fields.number("bandwidth"));
  device.memory = Bytes(fields.integer("memory"));
  if (fields.has("speed"))
    device.speed = fields.number("speed");
  if (fields.has("host_bandwidth"))
    device.hostBandwidth = Bandwidth(fields.number("host_bandwidth"));
  if (fields.has("rates")) {
    const json &rates = fields.object("rates");
    JsonFields types(rates, where + ": rates");
    for (const auto &[type, rate] : rates.items())
      device.rates[type] = FlopRate(types.number(type.c_str()));
    if (types.error())
      return *types.error();
  }
  if (fields.has("contractions")) {
    Result<ContractionModel> model = parseContractions(
        fields.object("contractions"), where + ": contractions");
    if (!model)
      return model.error();
    device.contractions = *model;
  }
  if (fields.error())
    return *fields.error();
  return device;
}

/// Reads one entry of `links`.
static Result<Link> parseLink(const json &object, size_t index,
                              const std::string &file,
                              const std::map<std::string, size_t> &devices) {
  std::string where = file + ": link " + std::to_string(index);
  JsonFields fields(object, where);
  fields.allowOnly({"from", "to", "bandwidth", "latency"});
  Link link;
  std::string ends[] = {fields.text("from"), fields.text("to")};
  link.bandwidth = Bandwidth(fields.number("bandwidth"));
  link.latency = Seconds(fields.number("latency"));
  if (fields.error())
    return *fields.error();
  for (bool to : {false, true}) {
    auto device = devices.find(ends[to]);
    if (device == devices.end())
      return Error{where + ": '" + ends[to] + "' is not a device of the file"};
    (to ? link.to : link.from) = device->second;
  }
  return link;
}

/// Reads `fabric`.
static Result<Fabric> parseFabric(const json &object, const std::string &file) {
  std::string where = file + ": fabric";
  JsonFields fields(object, where);
  fields.allowOnly({"inside", "between", "port", "nic"});
  Fabric fabric;
  for (auto [name, joint] : {std::pair("inside", &fabric.inside),
                             std::pair("between", &fabric.between)}) {
    if (!fields.has(name))
      continue;
    JsonFields way(fields.object(name), where + " " + name + " hosts");
    way.allowOnly({"bandwidth", "latency"});
    if (fields.error())
      return *fields.error();
    *joint = Joint{Bandwidth(way.number("bandwidth")),
                   Seconds(way.number("latency"))};
    if (way.error())
      return *way.error();
  }
  for (auto [name, shared] :
       {std::pair("port", &fabric.port), std::pair("nic", &fabric.nic)})
    if (fields.has(name))
      *shared = Bandwidth(fields.number(name));
  if (fields.error())
    return *fields.error();
  return fabric;
}

Result<Cluster> parseCluster(const std::string &text, const std::string &file) {
  Result<json> parsed = parseJson(text, file);
  if (!parsed)
    return parsed.error();
  JsonFields fields(*parsed, file);
  fields.allowOnly({"name", "devices", "links", "fabric"});
  Cluster cluster;
  cluster.name = fields.text("name");
  std::map<std::string, size_t> numbers;
  for (const json &entry : fields.list("devices")) {
    Result<Device> device = parseDevice(entry, cluster.devices.size(), file);
    if (!device)
      return device.error();
    numbers.try_emplace(device->name, cluster.devices.size());
    cluster.devices.push_back(std::move(*device));
  }
  if (fields.has("fabric")) {
    Result<Fabric> fabric = parseFabric(fields.object("fabric"), file);
    if (!fabric)
      return fields.error() ? *fields.error() : fabric.error();
    cluster.fabric = *fabric;
  }
  if (!fields.has("fabric") || fields.has("links"))
    for (const json &entry : fields.list("links")) {
      Result<Link> link = parseLink(entry, cluster.links.size(), file, numbers);
      if (!link)
        return link.error();
      cluster.links.push_back(*link);
    }
  if (fields.error())
    return *fields.error();
  if (Status status = cluster.check(); !status)
    return Error{file + ": " + status.error().message};
  return cluster;
}

} // namespace stagewright
