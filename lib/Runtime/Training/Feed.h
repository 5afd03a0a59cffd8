//===- Feed.h - the batches of a run ----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With n samples per step, step s takes samples s n to s n + n - 1 of an
// endless sequence: all samples in the order of the first epoch, then in that
// of the second, and so on.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_FEED_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_FEED_H

#include "Threads/Worker.h"
#include "Training/Samples.h"

#include <future>
#include <memory>
#include <optional>

namespace stagewright::runtime {

class Feed {
public:
  /// Position i of every file is sample i; the shortest file gives the number
  /// of samples. Without a seed, samples come in the order of the files. Throws
  /// an `Error` if there are fewer samples than a step takes.
  Feed(std::vector<std::unique_ptr<SampleFile>> files, int64_t samplesPerStep,
       std::optional<uint64_t> seed);

  /// The batch of step `step`, one vector of bytes per file, valid until the
  /// next call. Meanwhile a thread reads the next batch.
  const std::vector<std::vector<std::byte>> &take(int64_t step);

  int64_t samples() const { return count; }

private:
  using Batch = std::vector<std::vector<std::byte>>;
  Batch read(int64_t step) const;

  std::vector<std::unique_ptr<SampleFile>> files;
  int64_t perStep, count = 0;
  std::optional<uint64_t> seed;
  Batch current;
  std::future<Batch> ahead;
  int64_t aheadOf = -1; ///< Step of `ahead`.
  Worker worker;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_FEED_H
