//===- RecorderBytes.cpp - serialised records -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For processes of the same build: numbers are copied as they are in memory.
//
//===----------------------------------------------------------------------===//

#include "Recording/Recorder.h"
#include "stagewright/Runtime/Error.h"

#include <cstring>

namespace stagewright::runtime {

namespace {

template <typename T>
void put(std::vector<std::byte> &bytes, const T *data, size_t count) {
  auto *first = reinterpret_cast<const std::byte *>(data);
  bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

/// Reads from the front of `bytes`.
struct Reader {
  template <typename T> void get(T *data, size_t count) {
    if (bytes.size() < count * sizeof(T))
      raise("the records of a rank are truncated");
    std::memcpy(data, bytes.data(), count * sizeof(T));
    bytes = bytes.subspan(count * sizeof(T));
  }
  std::span<const std::byte> bytes;
};

} // namespace

std::vector<std::byte> Recorder::pack() const {
  std::vector<std::byte> bytes;
  int64_t counts[] = {int64_t(used), dropped, int64_t(stepTimes.size()),
                      int64_t(starts.size())};
  put(bytes, counts, 4);
  put(bytes, log.data(), used);
  put(bytes, starts.data(), starts.size());
  put(bytes, stepTimes.data(), stepTimes.size());
  for (const std::vector<Samples> *each : {&nodes, &actions})
    for (const Samples &samples : *each) {
      put(bytes, &samples.calls, 1);
      put(bytes, samples.ring.data(), samples.ring.size());
    }
  return bytes;
}

void Recorder::unpack(std::span<const std::byte> bytes, int64_t shift) {
  Reader reader{bytes};
  int64_t counts[4];
  reader.get(counts, 4);
  used = size_t(counts[0]), dropped = counts[1];
  if (used > log.size() || size_t(counts[3]) > keep)
    raise("the records of a rank are of another program");
  reader.get(log.data(), used);
  for (Event &event : std::span(log).first(used))
    event.begin += shift, event.end += shift, event.chosenAt += shift;
  starts.resize(size_t(counts[3]));
  reader.get(starts.data(), starts.size());
  stepTimes.resize(size_t(counts[2]));
  reader.get(stepTimes.data(), stepTimes.size());
  for (StepTimes &times : stepTimes)
    for (int64_t *time : {&times.start, &times.first, &times.last, &times.end})
      *time += shift;
  for (std::vector<Samples> *each : {&nodes, &actions})
    for (Samples &samples : *each) {
      reader.get(&samples.calls, 1);
      reader.get(samples.ring.data(), samples.ring.size());
    }
}

} // namespace stagewright::runtime
