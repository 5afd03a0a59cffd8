//===- ExecutionOrder.cpp - names of the execution orders -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Simulation/Pipeline.h"

namespace stagewright {

std::vector<ExecutionOrder> allExecutionOrders() {
  return {ExecutionOrder::Window, ExecutionOrder::Greedy,
          ExecutionOrder::CapA,   ExecutionOrder::CapB,
          ExecutionOrder::GPipe,  ExecutionOrder::OneFOneB};
}

const char *toString(ExecutionOrder order) {
  switch (order) {
  case ExecutionOrder::Window:
    return "window";
  case ExecutionOrder::Greedy:
    return "greedy";
  case ExecutionOrder::CapA:
    return "cap-a";
  case ExecutionOrder::CapB:
    return "cap-b";
  case ExecutionOrder::GPipe:
    return "gpipe";
  case ExecutionOrder::OneFOneB:
    return "1f1b";
  }
  return "";
}

Result<ExecutionOrder> parseExecutionOrder(std::string_view name) {
  std::string known;
  for (ExecutionOrder order : allExecutionOrders()) {
    if (name == toString(order))
      return order;
    known += (known.empty() ? "" : ", ") + std::string(toString(order));
  }
  return Error{"unknown order '" + std::string(name) + "'; there are " + known};
}

} // namespace stagewright
