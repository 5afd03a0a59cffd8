//===- Guarded.h - failures under generated code ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code knows no exceptions: what fails below it is told to the
// transport, and the thread leaves by longjmp. Private to what it calls.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FAULTS_GUARDED_H
#define STAGEWRIGHT_LIB_RUNTIME_FAULTS_GUARDED_H

#include "Rank.h"

#include <exception>

namespace stagewright::runtime {

/// Runs `body`; whatever it throws ends the step, and this thread goes back to
/// where its share of the step began: `runRank`, or a part of a loop. The
/// exception is gone before the jump, and frames between (generated code and
/// this one) own nothing.
template <typename Body> auto guarded(sw_rank *rank, Body body) {
  try {
    return body();
  } catch (const Stopped &) { // NOLINT(bugprone-empty-catch): already told
  } catch (const std::exception &error) {
    rank->transport->fail(rank->index, error.what());
  } catch (...) {
    rank->transport->fail(rank->index, "unknown failure");
  }
  _longjmp(*here().frame, 1);
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_GUARDED_H
