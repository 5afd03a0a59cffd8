//===- Measured.cpp - a plan with measured times --------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measured.h"
#include "llvm/Support/FormatVariadic.h"

namespace stagewright {

Status applyProfile(const Profile &profile, const std::string &file,
                    Simulation &simulation) {
  PipelineModel &model = simulation.model;
  for (size_t s = 0; s < model.stages.size(); ++s) {
    std::string missing;
    auto take = [&](char kind) {
      std::string name = std::to_string(s) + kind;
      auto found = profile.actions.find(name);
      if (found != profile.actions.end())
        return found->second;
      missing = name;
      return Seconds();
    };
    StageTimes times;
    times.forward = take('F');
    if (!model.forwardOnly && missing.empty()) {
      bool whole = profile.actions.count(std::to_string(s) + "B") != 0;
      times.inputGradient = take(whole ? 'B' : 'I');
      if (!whole)
        times.weightGradient = take('W');
    }
    if (!missing.empty())
      return Error{file + " has no time of action '" + missing +
                   "'; write the file with pp-run --profile, from an artifact "
                   "of this plan"};
    model.stages[s].times = simulation.plan.stages[s].times = times;
  }
  for (PipelineChannel &channel : model.channels) {
    auto hop = [&](size_t from, size_t to) {
      std::string name = std::to_string(model.stages[from].processors.front()) +
                         ">" +
                         std::to_string(model.stages[to].processors.front());
      auto found = profile.hops.find(name);
      return found == profile.hops.end() ? Seconds() : found->second;
    };
    channel.forward = hop(channel.from, channel.to);
    channel.backward = hop(channel.to, channel.from);
  }
  simulation.measured = profile.step;
  return {};
}

Seconds predictedStep(const ProfiledStep &step, Seconds makespan) {
  return step.before + makespan + step.after;
}

double predictionError(const ProfiledStep &step, Seconds makespan) {
  double predicted = predictedStep(step, makespan).value;
  return step.seconds.value > 0 ? predicted / step.seconds.value - 1 : 0;
}

std::string measuredOf(const Simulation &simulation) {
  if (!simulation.measured)
    return "";
  const ProfiledStep &step = *simulation.measured;
  Seconds makespan = simulation.timeline.makespan;
  return llvm::formatv(
      "measured step {0}, predicted {1} ({2:F1} %): {3} before the first "
      "action, {4} for the schedule, {5} after the last action\n",
      precisely(step.seconds), precisely(predictedStep(step, makespan)),
      100 * predictionError(step, makespan), precisely(step.before),
      precisely(makespan), precisely(step.after));
}

} // namespace stagewright
