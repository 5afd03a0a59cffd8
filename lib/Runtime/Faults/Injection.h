//===- Injection.h - faults injected by tests -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// STAGEWRIGHT_INJECT=RANK:STEP:ACTION:KIND makes one rank fail when an action
// begins. Steps are counted in this process and actions in their step, from 0.
// Kinds: `raise` (an error), `hang` (an action that never ends), `kill` (the
// process dies), `nan` (a parameter of the rank becomes NaN). Without the
// variable a rank has no injection: an action then only tests a null pointer.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FAULTS_INJECTION_H
#define STAGEWRIGHT_LIB_RUNTIME_FAULTS_INJECTION_H

#include <cstdint>
#include <memory>
#include <string>

struct sw_rank;

namespace stagewright::runtime {

class Injection {
public:
  /// The injection of a rank; null if there is none. Throws an `Error` if the
  /// variable is malformed.
  static std::unique_ptr<Injection> of(int64_t rank);

  void beginStep() { ++step, action = 0; }
  void beginAction(const sw_rank &rank) {
    if (action++ == atAction && step == atStep)
      inject(rank);
  }

private:
  void inject(const sw_rank &rank) const;

  int64_t atStep = 0, atAction = 0, step = -1, action = 0;
  std::string kind;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_INJECTION_H
