//===- StepInputs.h - arguments that change with the step -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments, besides batches, that change with the step: constants whose file
// has a value for each step (a learning rate), and the seeds of a run with an
// optimizer. The seed of step s is jax.random.fold_in(key, s); microbatch m of
// it uses fold_in of that and m. All depend only on the number of the step, so
// a resumed run repeats the values of an uninterrupted one.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_TRAINING_STEPINPUTS_H
#define STAGEWRIGHT_LIB_RUNTIME_TRAINING_STEPINPUTS_H

#include "Training/Samples.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

namespace stagewright::runtime {

class StepInputs {
public:
  /// `values` as NAME=FILE. Throws if one does not fit the step.
  StepInputs(const std::vector<std::string> &values,
             const nlohmann::json &manifest);

  /// Positions of the constants that come from files.
  const std::set<int64_t> &positions() const { return places; }
  /// Reads the keys of `inputs`; from then on the seeds change at each step.
  void foldSeeds(const nlohmann::json &manifest, const std::string &inputs);
  /// Throws if a file has fewer than `steps` values.
  void check(int64_t steps) const;
  /// Sets the values of step `number`.
  void set(sw_step *step, int64_t number);

private:
  struct Value {
    std::string name;
    int64_t position = 0;
    sw_dtype dtype = SW_F32;
    std::vector<int64_t> shape;
    std::unique_ptr<SampleFile> file;
  };
  struct Seed {
    int64_t position = 0;
    std::vector<int64_t> shape;
    std::vector<uint32_t> words;
  };
  std::set<int64_t> places;
  std::vector<Value> values;
  std::vector<Seed> seeds;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_LIB_RUNTIME_TRAINING_STEPINPUTS_H
