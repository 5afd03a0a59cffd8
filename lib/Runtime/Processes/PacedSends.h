//===- PacedSends.h - sends that keep to a rate -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages from one rank to another, in parts that start when a token
// bucket allows it: in any time t at most rate * t + burst bytes start. Since a
// rank starts parts only when it calls the transport, the bucket holds what
// accumulates between two such calls. A part is small compared with the bucket,
// so that another connection of the NIC never waits long for a part.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PACEDSENDS_H
#define STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PACEDSENDS_H

#include <algorithm>
#include <cstdint>
#include <deque>

namespace stagewright::runtime {

/// `Message` identifies a message, of which each part is one entry.
template <typename Message> class PacedSends {
public:
  /// `rate`: bytes per second, more than 0.
  explicit PacedSends(double rate)
      : rate(rate), burst(4 * double(partBytes(rate))), tokens(burst) {}

  /// Bytes of each part of a message but the last: 2 ms at this rate, at most 1
  /// GiB, and not so few that MPI's overhead per part matters.
  static int64_t partBytes(double rate) {
    constexpr double seconds = 2e-3;
    constexpr int64_t least = 16 << 10, line = 64;
    int64_t most = int64_t(std::min(rate * seconds, 0x1p30));
    return std::max(least, most / line * line);
  }

  /// Appends the next part of a message, at most partBytes().
  void add(Message message, int64_t bytes) {
    waiting.push_back({message, bytes});
  }
  bool isEmpty() const { return waiting.empty(); }

  /// Calls `start` for each part that may start at `now`, in nanoseconds.
  template <typename Start> void advance(int64_t now, Start start) {
    if (waiting.empty())
      return;
    tokens = std::min(burst, tokens + rate * double(now - since) * 1e-9);
    since = now;
    for (; !waiting.empty() && double(waiting.front().bytes) <= tokens;
         waiting.pop_front()) {
      tokens -= double(waiting.front().bytes);
      start(waiting.front().message);
    }
  }

private:
  struct Part {
    Message message;
    int64_t bytes;
  };
  double rate, burst, tokens;
  int64_t since = 0;
  std::deque<Part> waiting;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_PROCESSES_PACEDSENDS_H
