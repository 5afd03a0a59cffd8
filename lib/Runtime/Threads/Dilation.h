//===- Dilation.h - ranks that run slower than their cores ------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes a rank compute as slowly as a slower device would, so that plans for
// unequal devices can be run on equal cores. A node that needs t seconds of the
// CPU ends f t seconds after it began, for a factor f: the rank's thread sleeps
// for the rest.
//
// The time that counts is the CPU time of the rank's own thread, not the time
// that passes. While ranks share a core, a node also waits for that core; this
// wait is not multiplied, but taken from the sleep. Messages and sums over
// ranks are not slowed down. A sleep that ends late shortens the next one of
// the same action. Reading the CPU time takes up to a microsecond, which
// counts: nodes of a few microseconds become slower than they should.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_THREADS_DILATION_H
#define STAGEWRIGHT_LIB_RUNTIME_THREADS_DILATION_H

#include "Transport.h"
#include "stagewright/Support/Jitter.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace stagewright::runtime {

/// Times that are set for experiments: of actions ("F:5ms,B:10ms": the first
/// node of an action takes this time, further nodes their own), and delays of
/// messages.
struct Pace {
  std::array<double, 256> seconds = {}; ///< by kind; 0: as long as it takes
  Jitter jitter;
  double hop = 0; ///< Seconds by which messages between threads arrive later.
  /// Messages between processes keep to the rates of the artifact.
  bool sends = false;

  /// Whether actions take other times than they need.
  bool changesActions() const;
  /// Reads entries KIND:TIME, `hop:TIME`, `jitter:MEAN`, `seed:NUMBER` and
  /// `sends` with commas between. Throws an `Error` if one is malformed.
  static Pace parse(const std::string &text);
};

class Dilation {
public:
  explicit Dilation(double factor) : factor(factor) {}
  Dilation(double factor, const Pace &pace, int64_t rank, int64_t ranks)
      : factor(factor), pace(pace), rank(rank), ranks(ranks) {}

  /// The dilation of `rank` in `text`, such as "2:1.48,3:1.48" (rank:factor);
  /// null if it has none, so that nodes only test a pointer. Throws an `Error`
  /// if the text is malformed, names a rank twice or one that is not below
  /// `ranks`, or if a factor is not in 1 to 1000000. If `pace` changes actions,
  /// every rank has a dilation.
  static std::unique_ptr<Dilation> of(const std::string &text,
                                      const std::string &pace, int64_t rank,
                                      int64_t ranks);

  // All calls come from the rank's thread.

  void beginAction(int32_t kind, int64_t m);
  void beginNode();
  /// Sleeps until the node has taken its time. Messages move meanwhile. Throws
  /// `Stopped` if the step fails.
  void endNode(Transport &transport);

private:
  double factor;
  Pace pace;
  int64_t rank = 0, ranks = 1;
  /// Seconds that the first node of the action is to take; 0: no time is set,
  /// or that node has ended.
  double planned = 0;
  /// Nanoseconds at the start of the node: time, and CPU time of the thread.
  int64_t begun = 0, used = 0;
  int64_t late = 0; ///< Nanoseconds by which the last node ended too late.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_THREADS_DILATION_H
