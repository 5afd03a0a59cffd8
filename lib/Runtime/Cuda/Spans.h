//===- Spans.h - facts about spans of memory --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes over a recorded program keep facts about spans of memory, such as that
// a span is unused since it was filled, until a command accesses the span.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_SPANS_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_SPANS_H

#include "Program.h"

#include <map>

namespace stagewright::runtime::cuda {

/// Facts by address, of spans that do not overlap. A `Fact` has `bytes`.
template <typename Fact> class Spans {
public:
  /// The fact about the span that begins at `address`, or null.
  Fact *find(Address address) {
    auto found = facts.find(address);
    return found == facts.end() ? nullptr : &found->second;
  }

  void insert(Address address, Fact fact) {
    forget(address, fact.bytes);
    facts[address] = std::move(fact);
  }

  /// Drops the facts about spans that share a byte with this one.
  void forget(Address address, int64_t bytes) {
    if (bytes == 0) // Not an address.
      return;
    auto next = facts.lower_bound(address + Address(bytes));
    while (next != facts.begin()) {
      auto it = std::prev(next);
      if (it->first + Address(it->second.bytes) <= address)
        return;
      next = facts.erase(it);
    }
  }

  /// Calls `change` with the address of each fact about a span that shares a
  /// byte with this one; drops those for which it returns false.
  template <typename Function>
  void change(Address address, int64_t bytes, Function change) {
    auto next = facts.lower_bound(address);
    if (next != facts.begin() &&
        std::prev(next)->first + Address(std::prev(next)->second.bytes) >
            address)
      --next;
    while (next != facts.end() && next->first < address + Address(bytes))
      next = change(next->first, next->second) ? std::next(next)
                                               : facts.erase(next);
  }

  void clear() { facts.clear(); }

private:
  std::map<Address, Fact> facts;
};

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_SPANS_H
