//===- Chooser.h - what a rank runs next ---------------------- -*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For ranks that run their actions as they become ready. The rows of a rank,
// and what each waits for, are in the manifest: messages that it receives,
// slots of other ranks that it claims, and earlier rows of the same rank, which
// make what it reads or free the stash slots that it acquires. A row that is
// chosen never waits, so ranks can deadlock only for lack of slots in rings.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CHOOSER_H
#define STAGEWRIGHT_LIB_RUNTIME_CHOOSER_H

#include "Artifact/Manifest.h"
#include "Transport.h"

namespace stagewright::runtime {

class Chooser {
public:
  Chooser(const RankManifest &rank, int64_t index);

  /// Begins a step: no row has run.
  void begin();
  /// Waits until a row can run, and returns its number. The row that it
  /// returned before counts as done.
  int64_t choose(Transport &transport);

  /// What the last choice was between, for the trace.
  struct Choice {
    int64_t row = -1;
    uint64_t lanes = 0; ///< Bit l: lane l, below 64, could run its next row.
    Need awaited = {};  ///< If it waited: what the first lane lacked.
    bool waited = false;
  };
  const Choice &last() const { return choice; }

private:
  bool isNext(size_t lane) const { return next[lane] < ends[lane]; }
  bool follows(const ReadyRow &row) const;
  const Need *missing(Transport &transport, const ReadyRow &row) const;
  bool look(Transport &transport);

  const RankManifest &rank;
  int64_t index;
  std::vector<int64_t> starts, ends; ///< Rows, by lane.
  std::vector<int64_t> next;         ///< By lane.
  std::vector<char> done;            ///< By row.
  std::vector<Need> needs;           ///< One for each waiting lane.
  Choice choice;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_CHOOSER_H
