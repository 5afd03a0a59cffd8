//===- Feed.cpp - the batches of a run ------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Feed.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>

namespace stagewright::runtime {

FileBatches::FileBatches(std::vector<std::unique_ptr<SampleFile>> given,
                         int64_t samplesPerStep, std::optional<uint64_t> seed)
    : files(std::move(given)), perStep(samplesPerStep), seed(seed) {
  for (const auto &file : files)
    count = count ? std::min(count, file->count()) : file->count();
  if (count < perStep)
    raise("the data has ", count, " samples, a step takes ", perStep,
          "; give more data or fewer microbatches");
}

Batch FileBatches::read(int64_t step) const {
  Batch batch;
  for (const auto &file : files)
    batch.emplace_back(size_t(file->bytes() * perStep));
  for (int64_t i = 0; i < perStep; ++i) {
    int64_t place = step * perStep + i, epoch = place / count;
    int64_t sample = place % count;
    if (seed)
      sample = permuted(sample, count, *seed + uint64_t(epoch) * 0x9e3779b9);
    for (size_t f = 0; f < files.size(); ++f)
      files[f]->read(sample, batch[f].data() + i * files[f]->bytes());
  }
  return batch;
}

const Batch &Feed::take(int64_t step) {
  // If a run was resumed, or reads from the first sample again:
  if (step != next)
    coming.clear();
  next = step;
  int64_t last = std::max(step + 1, std::min(end, step + 1 + ahead));
  for (int64_t s = step + int64_t(coming.size()); s < last; ++s)
    coming.push_back(worker.run([this, s] { return read(s); }));
  std::future<Batch> now = std::move(coming.front());
  coming.pop_front();
  ++next;
  current = now.get();
  return current;
}

} // namespace stagewright::runtime
