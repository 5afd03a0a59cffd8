//===- Samples.h - training samples in files --------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The samples of a batch argument, in a memory-mapped file.
//
// A file with one dimension is a stream: with a shift of s elements, sample i
// is the n elements [i n + s, i n + s + n). The tokens of a text and their next
// tokens are the same file with the shifts 0 and 1. In a file with more
// dimensions sample i is at index i of the first.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_SAMPLES_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_SAMPLES_H

#include "Files/MappedFile.h"

#include "stagewright-rt/runtime.h"

#include <cstdint>
#include <vector>

namespace stagewright::runtime {

/// `argument=file[:tensor][+shift]`; only safetensors files have tensors.
struct SampleSource {
  std::string argument, file, tensor;
  int64_t shift = 0; ///< In elements.
};

/// Parses the form above. Throws an `Error` that states the form.
SampleSource parseSampleSource(const std::string &text);

class SampleFile {
public:
  /// Opens `source.file`: .npy, .safetensors, or .bin with little-endian 16-bit
  /// unsigned tokens. `dtype` and `shape` are those of one sample in the step.
  /// Integers are widened to int32 or int64 if the step takes these. Throws an
  /// `Error` if the file cannot be read or does not fit.
  SampleFile(const SampleSource &source, sw_dtype dtype,
             std::vector<int64_t> shape);

  int64_t count() const { return samples; }
  /// Bytes of a sample in the step.
  int64_t bytes() const { return elements * toSize; }
  /// Writes sample `index` to `to`.
  void read(int64_t index, std::byte *to) const;

private:
  struct Contents {
    sw_dtype dtype = SW_U16;
    std::vector<int64_t> shape;
    const std::byte *data = nullptr;
  };
  Contents open(const SampleSource &source) const;

  MappedFile file;
  const std::byte *data = nullptr;
  sw_dtype from = SW_U16, to;
  int64_t elements = 1, samples = 0, shift = 0, fromSize = 2, toSize;
};

/// The sample at `place` in a permutation of [0, count) that the seed `order`
/// selects. Needs no memory: it is a Feistel network over the next power of
/// four, applied until the result is below `count` (cycle walking).
int64_t permuted(int64_t place, int64_t count, uint64_t order);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_SAMPLES_H
