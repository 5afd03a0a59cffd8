//===- Samples.h - batches in files -----------------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Samples of a batch argument in a file that is mapped, not read.
//
// A file of one dimension is a stream: with a shift of s elements, sample i of
// n elements is [i n + s, i n + s + n). The tokens of a text and the tokens
// that follow them are the same file with the shifts 0 and 1. A file of more
// dimensions holds sample i at place i of its first.
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

/// Throws an `Error` that says the form.
SampleSource parseSampleSource(const std::string &text);

class SampleFile {
public:
  /// Opens `source.file`: .npy, .safetensors, or .bin with little-endian 16-bit
  /// unsigned tokens. `dtype` and `shape` are of one sample as the step takes
  /// it. Integers of a narrower type are widened. Throws an `Error`.
  SampleFile(const SampleSource &source, sw_dtype dtype,
             std::vector<int64_t> shape);

  int64_t count() const { return samples; }
  /// Bytes of a sample as the step takes it.
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

/// Which of `count` samples is at place `place` of the order `order`: a
/// permutation that needs no memory, a Feistel network over the next power of
/// four whose cycles are walked until they are back below `count`.
int64_t permuted(int64_t place, int64_t count, uint64_t order);

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_SAMPLES_H
