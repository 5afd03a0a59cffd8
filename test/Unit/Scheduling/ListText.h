//===- ListText.h - a list with messages as text ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_SCHEDULING_LISTTEXT_H
#define STAGEWRIGHT_TEST_UNIT_SCHEDULING_LISTTEXT_H

#include "../OrderText.h"
#include "stagewright/Scheduling/TorchCsv.h"

namespace stagewright::testing {

/// The entries of `list`, separated by spaces.
inline std::string toString(const TorchOrder &list) {
  std::string text;
  for (const TorchEntry &entry : list)
    text += (text.empty() ? "" : " ") + stagewright::toString(entry);
  return text;
}

} // namespace stagewright::testing

#endif // STAGEWRIGHT_TEST_UNIT_SCHEDULING_LISTTEXT_H
