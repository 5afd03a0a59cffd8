//===- Batches.h - batch arguments from files -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds files of samples to the batch arguments of a step by name.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_BATCHES_H
#define STAGEWRIGHT_TOOLS_PP_RUN_BATCHES_H

#include "Training/Feed.h"

#include <nlohmann/json.hpp>
#include <set>

class Batches {
public:
  /// `sources` are in the format of parseSampleSource; errors begin with
  /// `option`. Throws if one does not fit the step.
  Batches(const std::vector<std::string> &sources, const char *option,
          std::optional<uint64_t> seed, const nlohmann::json &manifest,
          int64_t microbatches);

  /// Positions of the arguments that come from files.
  const std::set<int64_t> &positions() const { return places; }
  /// Sets the batch of step `number`.
  void set(sw_step *step, int64_t number);

  bool empty() const { return !feed; }
  /// Number of steps in which every sample is used at most once.
  int64_t steps() const { return feed ? feed->samples() / perStep : 0; }
  /// Samples per step.
  int64_t samples() const { return perStep; }
  /// Elements per step of the first argument if they are integers, else 0.
  int64_t tokens() const { return tokensPerStep; }

private:
  struct Argument {
    int64_t position = 0;
    sw_dtype dtype = SW_I32;
    std::vector<int64_t> shape;
  };
  void bind(const std::string &text, const char *option,
            const nlohmann::json &manifest, int64_t microbatches);

  std::set<int64_t> places;
  std::vector<Argument> arguments;
  std::vector<std::unique_ptr<stagewright::runtime::SampleFile>> files;
  std::optional<stagewright::runtime::Feed> feed;
  int64_t perStep = 0, tokensPerStep = 0;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_BATCHES_H
