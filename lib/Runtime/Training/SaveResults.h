//===- SaveResults.h - results to a file by pieces --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads results from a step and writes them to a file while the next ones are
// read, so that no more than a few pieces are in memory, however large the
// results are. If there are several processes, all of them make the same calls.
// Programs that use the runtime's C ABI share this file: pp-run and the Python
// module.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_SAVERESULTS_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_SAVERESULTS_H

#include "Files/BackgroundWriter.h"
#include "Training/Checkpoint.h"

#include "stagewright-rt/runtime.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace stagewright::runtime {

/// A result of a step, by its position, and its size.
struct WholeResult {
  int64_t position, bytes;
};

/// Waits in all processes until the one that writes has at most `pending`
/// calls pending. Calls sw_any() repeatedly, so that each process sees that the
/// others are alive.
void waitTogether(BackgroundWriter &writer, size_t pending = 0);

/// Reads results one after another and passes their bytes to `write`, on the
/// thread of `writer`; the last calls may be pending on return. Only the
/// process with `writes` gets bytes. `writer.finish()` throws the errors of
/// `write`.
void saveResults(sw_step *step, const std::vector<WholeResult> &results,
                 bool writes, BackgroundWriter &writer,
                 const BackgroundWriter::Write &write);

/// The same into `draft`, which is then committed on the thread; the results
/// are its tensors, in the order of its roles and names.
void saveCheckpoint(sw_step *step, const std::vector<WholeResult> &results,
                    bool writes, BackgroundWriter &writer,
                    const std::shared_ptr<CheckpointDraft> &draft,
                    int64_t keep);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_SAVERESULTS_H
