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

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_BATCHES_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_BATCHES_H

#include "Training/BatchSource.h"
#include "Training/Fetches.h"
#include "stagewright/Runtime/Training.h"

#include <nlohmann/json.hpp>
#include <set>

namespace stagewright::runtime {

class Batches {
public:
  /// `sources` are in the format of parseSampleSource, given by the flag
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
  /// that fails or takes more than `seconds`. If `read` is false, this process
  /// needs no values of batches: it starts no source and sets zeros.
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
  /// Elements per step of the first argument if they are i32 or i64, else 0.
  int64_t tokens() const { return tokensPerStep; }

private:
  struct Argument {
    int64_t position = 0;
    SourceArgument of; ///< One microbatch.
  };
  /// Adds an argument whose values this sets; its rows are samples.
  const SourceArgument &add(const nlohmann::json &it);
  void bind(const std::string &text, const char *option,
            const nlohmann::json &manifest);

  std::set<int64_t> places;
  std::vector<Argument> arguments;
  std::vector<std::unique_ptr<SampleFile>> files;
  SourceOptions from;
  std::shared_ptr<BatchSource> source;
  std::optional<Feed> feed;
  Fetches fetches;
  int64_t microbatches, perStep = 0, tokensPerStep = 0, inFiles = 0;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_BATCHES_H
