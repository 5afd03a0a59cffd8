//===- Counters.cpp - cost of a kernel's accesses -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Counters.h"

#include <algorithm>
#include <array>
#include <vector>

namespace emulator::ptx {

namespace {
/// The number of distinct values.
int64_t different(std::vector<uint64_t> &numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
}
} // namespace

void Traffic::add(const Request &request) {
  static thread_local std::vector<uint64_t> touched;
  touched.clear();
  for (int i = 0; i < request.lanes; ++i) {
    uint64_t first = request.address[i] / sector;
    uint64_t last = (request.address[i] + unsigned(request.bytes) - 1) / sector;
    for (uint64_t it = first; it <= last; ++it)
      touched.push_back(it);
  }
  ++requests;
  sectors += different(touched);
  bytes += int64_t(request.lanes) * request.bytes;
}

void Banks::add(const Request &request) {
  constexpr unsigned banks = 32, word = 4;
  int together = std::min(32, 128 / std::max(request.bytes, 4));
  ++requests;
  for (int first = 0; first < request.lanes; first += together) {
    std::array<std::vector<uint64_t>, banks> words;
    int last = std::min(first + together, request.lanes);
    for (int i = first; i < last; ++i)
      for (int byte = 0; byte < request.bytes; byte += word) {
        uint64_t it = (request.address[i] + unsigned(byte)) / word;
        words[it % banks].push_back(it);
      }
    int64_t fullest = 1;
    for (std::vector<uint64_t> &bank : words)
      fullest = std::max(fullest, different(bank));
    waves += fullest;
  }
}

} // namespace emulator::ptx
