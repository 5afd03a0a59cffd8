//===- Rank.h - the rank that generated code runs on ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_RANK_H
#define STAGEWRIGHT_LIB_RUNTIME_RANK_H

#include "Chooser.h"
#include "Faults/Injection.h"
#include "Memory/Checker.h"
#include "Memory/Layout.h"
#include "Recording/Recorder.h"
#include "Threads/Dilation.h"
#include "Threads/Pool.h"
#include "Transport.h"

#include "stagewright-rt/runtime.h"

/// The state of a rank on a CPU; passed to the functions of GeneratedApi.cpp.
struct sw_rank {
  const stagewright::runtime::RankManifest *described = nullptr;
  int64_t index = 0;
  int64_t microbatches = 0;
  const stagewright::runtime::Layout *layout = nullptr;
  std::byte *arena = nullptr;
  stagewright::runtime::Transport *transport = nullptr;
  stagewright::runtime::Checker *checker = nullptr;   ///< null unless checking
  stagewright::runtime::Recorder *recorder = nullptr; ///< null unless recording
  stagewright::runtime::Pool *pool = nullptr;         ///< null: one thread
  stagewright::runtime::Injection *injection = nullptr; ///< null: no faults
  stagewright::runtime::Dilation *dilation = nullptr;   ///< null: full speed
  stagewright::runtime::Chooser *chooser = nullptr;     ///< null: a fixed order
  /// Where the rank is in the step; owned by the transport.
  stagewright::runtime::RankPosition *where = nullptr;
  /// The manifest, if results must be finite; null: they are not checked.
  const stagewright::runtime::Manifest *finite = nullptr;
};

namespace stagewright::runtime {

/// Runs the rank's program once on the calling thread; failures are recorded by
/// the transport.
void runRank(sw_rank &rank, sw_entry entry);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_RANK_H
