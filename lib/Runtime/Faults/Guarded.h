//===- Guarded.h - failures under generated code ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code does not support exceptions: a failure in a function that it
// calls is reported to the transport, and the thread exits by longjmp. Private
// to the functions that generated code calls.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FAULTS_GUARDED_H
#define STAGEWRIGHT_LIB_RUNTIME_FAULTS_GUARDED_H

#include "Rank.h"

#include <exception>

namespace stagewright::runtime {

/// Runs `body`. An exception ends the step, and this thread jumps to where its
/// part of the step began: `runRank`, or a part of a loop. The exception is
/// destroyed before the jump, and the frames in between (generated code and
/// this one) own nothing.
template <typename Body> auto guarded(sw_rank *rank, Body body) {
  try {
    return body();
  } catch (const Stopped &) { // NOLINT(bugprone-empty-catch): already reported
  } catch (const std::exception &error) {
    rank->transport->fail(rank->index, error.what());
  } catch (...) {
    rank->transport->fail(rank->index, "unknown failure");
  }
  _longjmp(*threadContext().frame, 1);
}

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FAULTS_GUARDED_H
