//===- ClusterData.cpp - clusters as plain data ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/ClusterData.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace stagewright::pipeline {

Cluster readCluster(ClusterOp cluster) {
  Cluster result;
  result.name = cluster.getSymName().str();
  llvm::StringMap<size_t> numbers;
  for (DeviceOp device : cluster.getBody().front().getOps<DeviceOp>()) {
    numbers[device.getSymName()] = result.devices.size();
    result.devices.push_back(
        {device.getSymName().str(), device.getDeviceClass().str(),
         static_cast<int64_t>(device.getNode()),
         FlopRate(device.getFlops().convertToDouble()),
         Bandwidth(device.getBandwidth().convertToDouble()),
         Bytes(device.getMemory())});
  }
  for (LinkOp link : cluster.getBody().front().getOps<LinkOp>())
    result.links.push_back({numbers.lookup(link.getFrom()),
                            numbers.lookup(link.getTo()),
                            Bandwidth(link.getBandwidth().convertToDouble()),
                            Seconds(link.getLatency().convertToDouble())});
  return result;
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
    DeviceOp::create(builder, loc, builder.getStringAttr(device.name),
                     builder.getStringAttr(device.deviceClass),
                     builder.getI64IntegerAttr(device.memory.value),
                     builder.getI64IntegerAttr(device.node),
                     builder.getF64FloatAttr(device.flops.value),
                     builder.getF64FloatAttr(device.bandwidth.value));
  for (const Link &link : cluster.links)
    LinkOp::create(builder, loc, reference(link.from), reference(link.to),
                   builder.getF64FloatAttr(link.bandwidth.value),
                   builder.getF64FloatAttr(link.latency.value));
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
             << " clusters; say with cluster= which one to take, or leave one";
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
