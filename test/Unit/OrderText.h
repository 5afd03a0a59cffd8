//===- OrderText.h - orders of actions as text ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_ORDERTEXT_H
#define STAGEWRIGHT_TEST_UNIT_ORDERTEXT_H

#include "stagewright/Scheduling/Schedule.h"
#include <sstream>

namespace stagewright {

/// Actions separated by spaces; a pair as `(3F1;4B0)OVERLAP_F_B`.
inline std::string toString(const Order &order) {
  std::string text;
  for (size_t i = 0; i < order.size(); ++i) {
    bool opens = i + 1 < order.size() && order[i + 1].paired;
    text += i == 0 ? "" : order[i].paired ? ";" : " ";
    text += (opens ? "(" : "") + toString(order[i]) +
            (order[i].paired ? ")OVERLAP_F_B" : "");
  }
  return text;
}

/// Reads that text.
inline Order parseOrder(const std::string &text) {
  Order order;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t middle = word.find(';');
    if (middle == std::string::npos) {
      order.push_back(*parseAction(word));
      continue;
    }
    order.push_back(*parseAction(word.substr(1, middle - 1)));
    order.push_back(
        *parseAction(word.substr(middle + 1, word.find(')') - middle - 1)));
    order.back().paired = true;
  }
  return order;
}

} // namespace stagewright

#endif // STAGEWRIGHT_TEST_UNIT_ORDERTEXT_H
