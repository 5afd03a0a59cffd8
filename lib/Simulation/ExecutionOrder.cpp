//===- ExecutionOrder.cpp - names of the execution orders -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Pipeline.h"
#include "stagewright/Support/Names.h"

namespace stagewright {

static constexpr Named<ExecutionOrder> kOrders[] = {
    {ExecutionOrder::Window, "window"},
    {ExecutionOrder::Greedy, "greedy"},
    {ExecutionOrder::CapA, "cap-a"},
    {ExecutionOrder::EarlyBackward, "early-backward"},
    {ExecutionOrder::GPipe, "gpipe"},
    {ExecutionOrder::OneFOneB, "1f1b"}};

std::vector<ExecutionOrder> allExecutionOrders() {
  std::vector<ExecutionOrder> orders;
  for (const Named<ExecutionOrder> &it : kOrders)
    orders.push_back(it.value);
  return orders;
}

const char *toString(ExecutionOrder order) { return nameIn(kOrders, order); }

Result<ExecutionOrder> parseExecutionOrder(std::string_view name) {
  return valueIn(kOrders, "order", name);
}

} // namespace stagewright
