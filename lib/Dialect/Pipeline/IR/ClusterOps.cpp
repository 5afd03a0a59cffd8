//===- ClusterOps.cpp - verifiers of cluster ops --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The labels (device_c1, …) are those of the constraints in PipelineOps.td and
// of the tests.
//
//===----------------------------------------------------------------------===//

#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"

namespace stagewright::pipeline {

/// Checks device_c4 for one entry.
static LogicalResult verifyContractions(DeviceOp device, NamedAttribute entry) {
  if (entry.getName() == "processors") {
    auto number = dyn_cast<IntegerAttr>(entry.getValue());
    if (number && number.getType().isInteger(64) && number.getInt() >= 0)
      return success();
    return device.emitOpError() << "processors of contractions must be an i64 "
                                << "of at least 0, got " << entry.getValue();
  }
  auto numbers = dyn_cast<DenseF64ArrayAttr>(entry.getValue());
  if (numbers && numbers.size() == 2 && numbers[0] > 0 && numbers[0] <= 1 &&
      numbers[1] >= 0)
    return success();
  return device.emitOpError()
         << "contractions of '" << entry.getName().getValue()
         << "' must be an array<f64> with two numbers, a share above 0 and at "
         << "most 1, then a depth of at least 0, got " << entry.getValue();
}

LogicalResult DeviceOp::verify() {
  if (int64_t(getMemory()) <= 0 || !(getFlops().convertToDouble() > 0) ||
      !(getBandwidth().convertToDouble() > 0)) // device_c1
    return emitOpError() << "memory, flops and bandwidth must be positive, got "
                         << int64_t(getMemory()) << ", "
                         << getFlops().convertToDouble() << " and "
                         << getBandwidth().convertToDouble();
  if (getSpeed() && !(getSpeed()->convertToDouble() > 0)) // device_c2
    return emitOpError() << "speed must be positive, got "
                         << getSpeed()->convertToDouble();
  if (getHostBandwidth() &&
      !(getHostBandwidth()->convertToDouble() > 0)) // device_c5
    return emitOpError() << "bandwidth to the host must be positive, got "
                         << getHostBandwidth()->convertToDouble();
  for (NamedAttribute rate : getRatesAttr() ? getRatesAttr().getValue()
                                            : ArrayRef<NamedAttribute>()) {
    auto number = dyn_cast<FloatAttr>(rate.getValue());
    if (!number || !number.getType().isF64() ||
        !(number.getValueAsDouble() > 0)) // device_c3
      return emitOpError() << "rate of '" << rate.getName().getValue()
                           << "' must be a positive f64, got "
                           << rate.getValue();
  }
  for (NamedAttribute entry : getContractionsAttr()
                                  ? getContractionsAttr().getValue()
                                  : ArrayRef<NamedAttribute>())
    if (failed(verifyContractions(*this, entry)))
      return failure();
  return success();
}

LogicalResult LinkOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getFrom() == getTo()) // link_c1
    return emitOpError() << "must join two devices, got @" << getFrom()
                         << " twice";
  for (FlatSymbolRefAttr end : {getFromAttr(), getToAttr()})
    if (!symbols.lookupNearestSymbolFrom<DeviceOp>(*this, end)) // link_c1
      return emitOpError() << end << " is not a device of the cluster";
  double bandwidth = getBandwidth().convertToDouble();
  double latency = getLatency().convertToDouble();
  if (!(bandwidth > 0) || !(latency >= 0)) // link_c2
    return emitOpError() << "needs a positive bandwidth and a latency of at "
                         << "least 0, got " << bandwidth << " and " << latency;
  return success();
}

LogicalResult FabricOp::verify() {
  auto cluster = cast<ClusterOp>((*this)->getParentOp());
  FabricOp first = *cluster.getBody().front().getOps<FabricOp>().begin();
  if (first != *this) // fabric_c1
    return (emitOpError() << "is the second one of @" << cluster.getSymName()
                          << ", a cluster has one at most")
               .attachNote(first.getLoc())
           << "the first one is declared here";
  if (!getInsideBandwidth() && !getBetweenBandwidth() && !getPort() &&
      !getNic()) // fabric_c2
    return emitOpError() << "needs 'inside', 'between', 'port' or 'nic'";
  for (auto [where, bandwidth, latency] :
       {std::tuple("inside", getInsideBandwidth(), getInsideLatency()),
        std::tuple("between", getBetweenBandwidth(), getBetweenLatency())}) {
    if (bool(bandwidth) != bool(latency)) // fabric_c2
      return emitOpError() << "needs both a bandwidth and a latency for '"
                           << where << "', got one of them";
    if (bandwidth && (!(bandwidth->convertToDouble() > 0) ||
                      !(latency->convertToDouble() >= 0))) // fabric_c3
      return emitOpError() << "needs a positive bandwidth and a latency of at "
                           << "least 0 for '" << where << "', got "
                           << bandwidth->convertToDouble() << " and "
                           << latency->convertToDouble();
  }
  for (auto [name, bandwidth] :
       {std::pair("port", getPort()), std::pair("nic", getNic())})
    if (bandwidth && !(bandwidth->convertToDouble() > 0)) // fabric_c3
      return emitOpError() << "needs a positive bandwidth for '" << name
                           << "', got " << bandwidth->convertToDouble();
  return success();
}

} // namespace stagewright::pipeline
