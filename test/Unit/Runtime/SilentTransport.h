//===- SilentTransport.h - a transport without messages ---------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transport of one rank, on which everything is ready at once. Tests override
// the functions whose calls they examine.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_UNIT_RUNTIME_SILENTTRANSPORT_H
#define STAGEWRIGHT_TEST_UNIT_RUNTIME_SILENTTRANSPORT_H

#include "Transport.h"

namespace stagewright::runtime {

class SilentTransport : public Transport {
public:
  SilentTransport() : Transport(1) {}
  void reset() override {}
  std::byte *claim(int64_t, int64_t, int64_t) override { return nullptr; }
  void send(int64_t, int64_t, int64_t) override {}
  std::byte *recv(int64_t, int64_t, int64_t) override { return nullptr; }
  std::byte *held(int64_t, int64_t, int64_t) override { return nullptr; }
  void release(int64_t, int64_t, int64_t) override {}
  bool isReady(int64_t, const Need &) override { return true; }
  void waitForAny(int64_t, std::span<const Need>) override {}
  void allReduce(int64_t, int64_t) override {}
  void awaitReduced(int64_t, int64_t) override {}
  void fail(int64_t, const std::string &) override {}
  void finish(int64_t) override {}
  std::string result() override { return ""; }
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_TEST_UNIT_RUNTIME_SILENTTRANSPORT_H
