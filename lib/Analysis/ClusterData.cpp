//===- ClusterData.cpp - clusters as plain data ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/ClusterData.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

namespace stagewright::pipeline {

static Device readDevice(DeviceOp op) {
  Device device{op.getSymName().str(),
                op.getDeviceClass().str(),
                static_cast<int64_t>(op.getNode()),
                FlopRate(op.getFlops().convertToDouble()),
                Bandwidth(op.getBandwidth().convertToDouble()),
                Bytes(op.getMemory())};
  if (auto speed = op.getSpeed())
    device.speed = speed->convertToDouble();
  if (auto bandwidth = op.getHostBandwidth())
    device.hostBandwidth = Bandwidth(bandwidth->convertToDouble());
  if (DictionaryAttr rates = op.getRatesAttr())
    for (NamedAttribute rate : rates)
      device.rates[rate.getName().str()] =
          FlopRate(cast<FloatAttr>(rate.getValue()).getValueAsDouble());
  if (DictionaryAttr contractions = op.getContractionsAttr())
    for (NamedAttribute entry : contractions) {
      if (auto share = dyn_cast<DenseF64ArrayAttr>(entry.getValue()))
        device.contractions.efficiency[entry.getName().str()] = {share[0],
                                                                 share[1]};
      else
        device.contractions.processors =
            cast<IntegerAttr>(entry.getValue()).getInt();
    }
  return device;
}

/// The joint of a fabric; none if it is not given.
static std::optional<Joint> readJoint(std::optional<APFloat> bandwidth,
                                      std::optional<APFloat> latency) {
  if (!bandwidth)
    return std::nullopt;
  return Joint{Bandwidth(bandwidth->convertToDouble()),
               Seconds(latency->convertToDouble())};
}

Cluster readCluster(ClusterOp cluster) {
  Cluster result;
  result.name = cluster.getSymName().str();
  llvm::StringMap<size_t> numbers;
  Block &body = cluster.getBody().front();
  for (DeviceOp device : body.getOps<DeviceOp>()) {
    numbers[device.getSymName()] = result.devices.size();
    result.devices.push_back(readDevice(device));
  }
  for (LinkOp link : body.getOps<LinkOp>())
    result.links.push_back({numbers.lookup(link.getFrom()),
                            numbers.lookup(link.getTo()),
                            Bandwidth(link.getBandwidth().convertToDouble()),
                            Seconds(link.getLatency().convertToDouble())});
  for (FabricOp op : body.getOps<FabricOp>()) {
    Fabric &fabric = result.fabric;
    fabric.inside = readJoint(op.getInsideBandwidth(), op.getInsideLatency());
    fabric.between =
        readJoint(op.getBetweenBandwidth(), op.getBetweenLatency());
    if (auto port = op.getPort())
      fabric.port = Bandwidth(port->convertToDouble());
    if (auto nic = op.getNic())
      fabric.nic = Bandwidth(nic->convertToDouble());
  }
  return result;
}

/// Writes `device`; optional attributes are left out if empty or default.
static void writeDevice(OpBuilder &builder, Location loc,
                        const Device &device) {
  SmallVector<NamedAttribute> rates;
  for (const auto &[type, rate] : device.rates)
    rates.push_back(
        builder.getNamedAttr(type, builder.getF64FloatAttr(rate.value)));
  SmallVector<NamedAttribute> contractions;
  if (int64_t processors = device.contractions.processors)
    contractions.push_back(builder.getNamedAttr(
        "processors", builder.getI64IntegerAttr(processors)));
  for (const auto &[type, share] : device.contractions.efficiency)
    contractions.push_back(builder.getNamedAttr(
        type, builder.getDenseF64ArrayAttr({share.most, share.depth})));
  auto dictionary = [&](ArrayRef<NamedAttribute> entries) {
    return entries.empty() ? DictionaryAttr()
                           : builder.getDictionaryAttr(entries);
  };
  DeviceOp::create(builder, loc, builder.getStringAttr(device.name),
                   builder.getStringAttr(device.deviceClass),
                   builder.getI64IntegerAttr(device.memory.value),
                   builder.getI64IntegerAttr(device.node),
                   builder.getF64FloatAttr(device.flops.value),
                   builder.getF64FloatAttr(device.bandwidth.value),
                   device.speed != 1 ? builder.getF64FloatAttr(device.speed)
                                     : FloatAttr(),
                   dictionary(rates), dictionary(contractions),
                   device.hostBandwidth
                       ? builder.getF64FloatAttr(device.hostBandwidth->value)
                       : FloatAttr());
}

static void writeFabric(OpBuilder &builder, Location loc,
                        const Fabric &fabric) {
  if (!fabric.inside && !fabric.between && !fabric.port && !fabric.nic)
    return;
  auto number = [&](bool isGiven, double value) {
    return isGiven ? builder.getF64FloatAttr(value) : FloatAttr();
  };
  Joint inside = fabric.inside.value_or(Joint());
  Joint between = fabric.between.value_or(Joint());
  FabricOp::create(
      builder, loc, number(fabric.inside.has_value(), inside.bandwidth.value),
      number(fabric.inside.has_value(), inside.latency.value),
      number(fabric.between.has_value(), between.bandwidth.value),
      number(fabric.between.has_value(), between.latency.value),
      number(fabric.port.has_value(), fabric.port.value_or(Bandwidth()).value),
      number(fabric.nic.has_value(), fabric.nic.value_or(Bandwidth()).value));
}

ClusterOp writeCluster(ModuleOp module, const Cluster &cluster) {
  OpBuilder builder(module.getContext());
  Location loc = module.getLoc();
  auto op =
      ClusterOp::create(builder, loc, builder.getStringAttr(cluster.name));
  builder.createBlock(&op.getBody());
  auto reference = [&](size_t device) {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  cluster.devices[device].name);
  };
  for (const Device &device : cluster.devices)
    writeDevice(builder, loc, device);
  for (const Link &link : cluster.links)
    LinkOp::create(builder, loc, reference(link.from), reference(link.to),
                   builder.getF64FloatAttr(link.bandwidth.value),
                   builder.getF64FloatAttr(link.latency.value));
  writeFabric(builder, loc, cluster.fabric);
  SymbolTable(module).insert(op);
  return op;
}

FailureOr<std::optional<Cluster>> findCluster(ModuleOp module,
                                              StringRef option) {
  if (option.empty()) {
    auto clusters = llvm::to_vector(module.getOps<ClusterOp>());
    if (clusters.size() > 1)
      return emitError(module.getLoc())
             << "module has " << clusters.size()
             << " clusters; give another with cluster=, or leave only one";
    if (!clusters.empty()) {
      Cluster cluster = readCluster(clusters.front());
      if (Status status = cluster.check(); !status)
        return emitError(clusters.front().getLoc(), status.error().message);
      return std::optional(std::move(cluster));
    }
    if (auto attribute =
            module->getAttrOfType<StringAttr>(PipelineDialect::kCluster))
      option = attribute.getValue();
  }
  if (option.empty())
    return std::optional<Cluster>();
  Result<Cluster> cluster = loadCluster(option.str());
  if (!cluster)
    return emitError(module.getLoc(), cluster.error().message);
  return std::optional(std::move(*cluster));
}

} // namespace stagewright::pipeline
