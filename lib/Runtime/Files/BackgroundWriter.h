//===- BackgroundWriter.h - writing beside the steps ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes pieces of bytes to a thread that writes them, in order. The number of
// pieces that wait is bounded, so that files of any size need the same memory.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_FILES_BACKGROUNDWRITER_H
#define STAGEWRIGHT_LIB_RUNTIME_FILES_BACKGROUNDWRITER_H

#include "Threads/Worker.h"

#include <atomic>
#include <cstddef>
#include <exception>
#include <span>
#include <vector>

namespace stagewright::runtime {

class BackgroundWriter {
public:
  /// Max bytes of a piece, and max number of pieces. Together 64 MiB, like
  /// a block of `cuda::StagingBlocks`.
  static constexpr size_t pieceBytes = size_t(16) << 20;
  static constexpr size_t maxPieces = 4;

  using Piece = std::vector<std::byte>;
  using Write = std::function<void(std::span<const std::byte>)>;

  /// Memory for the next piece, of at least `bytes` bytes.
  Piece spare(size_t bytes);
  /// Calls `write` with the first `size` bytes of `piece` on the thread, after
  /// all earlier calls, unless one of them has thrown. Callers keep the bound:
  /// fewer than `maxPieces` may be pending (see `isBusy`).
  void run(Piece piece, size_t size, Write write);
  /// Waits up to `seconds` until at most `pending` calls are pending; whether
  /// there are more.
  bool isBusy(double seconds, size_t pending = 0) const;
  /// Waits until at most `pending` calls are pending. Does not throw.
  void settle(size_t pending);
  /// Waits for all calls and frees the memory; throws the first error of any.
  void finish();

private:
  std::deque<std::future<Piece>> calls;
  std::vector<Piece> spares;
  std::exception_ptr failure;
  std::atomic<bool> failed = false;
  Worker worker; ///< Last, because its calls use the others.
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_FILES_BACKGROUNDWRITER_H
