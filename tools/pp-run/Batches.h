//===- Batches.h - batch arguments from files or a source -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds files of samples, or what a source gives, to the batch arguments of a
// step by name.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_BATCHES_H
#define STAGEWRIGHT_TOOLS_PP_RUN_BATCHES_H

#include "Fetches.h"
#include "Training/BatchSource.h"

#include <nlohmann/json.hpp>
#include <set>

/// A process that computes the batches (Training/BatchSource.h).
struct SourceOptions {
  std::string what; ///< FILE.py:NAME or LIBRARY.so[:TEXT]; empty: none
  uint64_t seed = 0;
  int64_t ahead = 2; ///< Batches computed before their step begins.
};

class Batches {
public:
  /// `sources` are in the format of parseSampleSource; errors begin with
  /// `option`. Throws if one does not fit the step.
  Batches(const std::vector<std::string> &sources, const char *option,
          std::optional<uint64_t> seed, const nlohmann::json &manifest,
          int64_t microbatches);
  /// All batch arguments from a source, which start() starts.
  Batches(const SourceOptions &source, const nlohmann::json &manifest,
          int64_t microbatches);
  Batches(const Batches &) = delete;
  Batches &operator=(const Batches &) = delete;
  ~Batches();

  /// Starts the source, if there is one, for the steps before `end`. Throws if
  /// that fails or takes more than `seconds`. If not `read`, no rank of this
  /// process reads a batch argument, and zeros are set.
  void start(int64_t end, double seconds, bool read);

  /// Positions of the arguments that are set.
  const std::set<int64_t> &positions() const { return places; }
  /// Sets the batch of step `number`.
  void set(sw_step *step, int64_t number);
  /// Counts rows in the batches that are set from now on.
  void count(Fetches of) { fetches = std::move(of); }
  const Fetches &fetched() const { return fetches; }

  /// Number of steps in which every sample of the files is used at most once.
  int64_t steps() const { return perStep ? inFiles / perStep : 0; }
  /// Samples per step.
  int64_t samples() const { return perStep; }
  /// Elements per step of the first argument if they are integers, else 0.
  int64_t tokens() const { return tokensPerStep; }

private:
  struct Argument {
    int64_t position = 0;
    stagewright::runtime::SourceArgument of; ///< One microbatch.
  };
  /// Adds an argument whose values this sets; its rows are samples.
  const stagewright::runtime::SourceArgument &add(const nlohmann::json &it);
  void bind(const std::string &text, const char *option,
            const nlohmann::json &manifest);

  std::set<int64_t> places;
  std::vector<Argument> arguments;
  std::vector<std::unique_ptr<stagewright::runtime::SampleFile>> files;
  SourceOptions from;
  std::shared_ptr<stagewright::runtime::BatchSource> source;
  std::optional<stagewright::runtime::Feed> feed;
  Fetches fetches;
  int64_t microbatches, perStep = 0, tokensPerStep = 0, inFiles = 0;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_BATCHES_H
