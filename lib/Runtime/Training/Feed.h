//===- Feed.h - the batches of a run ----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that reads the batches of the next steps while a step runs, and the
// batches in files of samples. Batches of other kinds: BatchSource.h.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_FEED_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_FEED_H

#include "Threads/Worker.h"
#include "Training/Samples.h"

#include <deque>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>

namespace stagewright::runtime {

/// The bytes of each batch argument of a step.
using Batch = std::vector<std::vector<std::byte>>;

class Feed {
public:
  /// `read`: the batch of a step, called by the thread alone. `ahead`: the max
  /// number of batches read before their step begins. No step from `end` on is
  /// read ahead.
  Feed(std::function<Batch(int64_t)> read, int64_t ahead,
       int64_t end = std::numeric_limits<int64_t>::max())
      : read(std::move(read)), ahead(ahead), end(end) {}

  /// The batch of step `step`, valid until the next call; throws the error of
  /// `read`. Later batches are kept for calls that follow in order.
  const Batch &take(int64_t step);

private:
  std::function<Batch(int64_t)> read;
  int64_t ahead, end;
  Batch current;
  std::deque<std::future<Batch>> coming; ///< From step `next` on.
  int64_t next = 0;
  Worker worker;
};

/// With n samples per step, step s takes samples s n to s n + n - 1 of an
/// endless sequence: all samples in the order of the first epoch, then in that
/// of the second, and so on.
class FileBatches {
public:
  /// Position i of every file is sample i; the shortest file gives the number
  /// of samples. Without a seed, samples come in the order of the files. Throws
  /// an `Error` if there are fewer samples than a step takes.
  FileBatches(std::vector<std::unique_ptr<SampleFile>> files,
              int64_t samplesPerStep, std::optional<uint64_t> seed);

  /// One vector of bytes per file.
  Batch read(int64_t step) const;
  int64_t samples() const { return count; }

private:
  std::vector<std::unique_ptr<SampleFile>> files;
  int64_t perStep, count = 0;
  std::optional<uint64_t> seed;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_FEED_H
