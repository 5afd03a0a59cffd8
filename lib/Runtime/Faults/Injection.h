//===- Injection.h - faults that a test asks for ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// STAGEWRIGHT_INJECT=RANK:STEP:ACTION:KIND lets one rank fail when an action
// begins; steps are counted in this process and actions in their step, from 0.
// Kinds: `raise` (an error), `hang` (a body that never ends), `kill` (the
// process dies), `nan` (a parameter of the rank is no number any more). Without
// the variable a rank has no injection, and an action asks for a null pointer.
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
  /// That of a rank; null where nothing is asked of it. Throws an `Error` for
  /// a text of another form.
  static std::unique_ptr<Injection> of(int64_t rank);

  void beginStep() { ++step, action = 0; }
  void beginAction(const sw_rank &rank) {
    if (action++ == atAction && step == atStep)
      strike(rank);
  }

private:
  void strike(const sw_rank &rank) const;

  int64_t atStep = 0, atAction = 0, step = -1, action = 0;
  std::string kind;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_INJECTION_H
