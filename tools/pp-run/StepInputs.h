//===- StepInputs.h - arguments that change with the step -------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Besides batches: constants with a value for each step in a file (a learning
// rate), and the seeds of a run with an optimizer. Step s takes the seed
// jax.random.fold_in(key, s), whose microbatch m takes fold_in of that and m.
// All are functions of the number of the step, so a resumed run goes on as the
// other would have.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_STEPINPUTS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_STEPINPUTS_H

#include "Training/Samples.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

class StepInputs {
public:
  /// `values` as NAME=FILE. Throws where one does not fit the step.
  StepInputs(const std::vector<std::string> &values,
             const nlohmann::json &manifest);

  /// Positions of the constants that come from files.
  const std::set<int64_t> &positions() const { return places; }
  /// Takes the keys from the step's own arguments; they change from now on.
  void foldSeeds(const nlohmann::json &manifest, const std::string &inputs);
  /// Throws where values for `steps` steps are missing.
  void check(int64_t steps) const;
  /// Sets the values of step `number`.
  void set(sw_step *step, int64_t number);

private:
  struct Value {
    std::string name;
    int64_t position = 0;
    sw_dtype dtype = SW_F32;
    std::vector<int64_t> shape;
    std::unique_ptr<stagewright::runtime::SampleFile> file;
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

#endif // STAGEWRIGHT_TOOLS_PP_RUN_STEPINPUTS_H
