//===- SaveResults.cpp - results to a file by pieces ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/SaveResults.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>

namespace stagewright::runtime {

void waitTogether(BackgroundWriter &writer, size_t pending) {
  for (int busy = 1; busy == 1;) {
    busy = sw_any(writer.isBusy(0.2, pending));
    if (busy < 0)
      throw Error(sw_error());
  }
  writer.settle(pending);
}

void saveResults(sw_step *step, const std::vector<WholeResult> &results,
                 bool writes, BackgroundWriter &writer,
                 const BackgroundWriter::Write &write) {
  int64_t whole = 0;
  for (const WholeResult &result : results)
    whole += result.bytes;
  whole = std::min(whole, int64_t(BackgroundWriter::pieceBytes));
  BackgroundWriter::Piece piece;
  int64_t used = 0;
  auto pass = [&] {
    if (writes)
      writer.run(std::move(piece), size_t(used), write);
    used = 0;
  };
  for (const WholeResult &result : results)
    for (int64_t at = 0; at < result.bytes;) {
      if (used == 0) {
        waitTogether(writer, BackgroundWriter::maxPieces - 1);
        if (writes)
          piece = writer.spare(size_t(whole));
      }
      int64_t size = std::min(result.bytes - at, whole - used);
      if (sw_step_read_output(step, result.position, at, size,
                              writes ? piece.data() + used : nullptr) != 0)
        throw Error(sw_error());
      at += size;
      used += size;
      if (used == whole)
        pass();
    }
  if (used > 0)
    pass();
}

void saveCheckpoint(sw_step *step, const std::vector<WholeResult> &results,
                    bool writes, BackgroundWriter &writer,
                    const std::shared_ptr<CheckpointDraft> &draft,
                    int64_t keep) {
  saveResults(
      step, results, writes, writer,
      [draft](std::span<const std::byte> bytes) { draft->append(bytes); });
  if (writes)
    writer.run({}, 0, [draft, keep](std::span<const std::byte>) {
      draft->commit(keep);
    });
}

} // namespace stagewright::runtime
