//===- BackgroundWriter.cpp - writing beside the steps --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/BackgroundWriter.h"

#include <chrono>
#include <utility>

namespace stagewright::runtime {

BackgroundWriter::Piece BackgroundWriter::spare(size_t bytes) {
  Piece piece;
  if (!spares.empty()) {
    piece = std::move(spares.back());
    spares.pop_back();
  }
  if (piece.size() < bytes)
    piece.resize(bytes);
  return piece;
}

void BackgroundWriter::run(Piece piece, size_t size, Write write) {
  calls.push_back(worker.run([this, piece = std::move(piece), size,
                              write = std::move(write)]() mutable {
    if (failed)
      return std::move(piece);
    try {
      write(std::span(piece).first(size));
    } catch (...) {
      failed = true;
      throw;
    }
    return std::move(piece);
  }));
}

bool BackgroundWriter::isBusy(double seconds, size_t pending) const {
  return calls.size() > pending &&
         calls[calls.size() - 1 - pending].wait_for(
             std::chrono::duration<double>(seconds)) !=
             std::future_status::ready;
}

void BackgroundWriter::settle(size_t pending) {
  while (calls.size() > pending) {
    std::future<Piece> call = std::move(calls.front());
    calls.pop_front();
    try {
      Piece piece = call.get();
      if (!piece.empty())
        spares.push_back(std::move(piece));
    } catch (...) {
      if (!failure)
        failure = std::current_exception();
    }
  }
}

void BackgroundWriter::finish() {
  settle(0);
  spares.clear();
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace stagewright::runtime
