//===- Bindings.cpp - what each stage is limited by -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include <algorithm>

namespace stagewright {

void findBindings(const PipelineModel &model, Plan &plan) {
  double microbatches = double(model.microbatches);
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    StagePlan &stage = plan.stages[s];
    double most = microbatches * stage.times.total().value /
                  double(model.stages[s].processors.size());
    stage.binding = Binding::Compute;
    for (const PipelineChannel &channel : model.channels) {
      if (channel.from != s && channel.to != s)
        continue;
      double load = channel.forwardLanes == channel.backwardLanes
                        ? (channel.forward + channel.backward).value
                        : std::max(channel.forward, channel.backward).value;
      load *= microbatches / double(channel.forwardLanes.size());
      if (load > most) {
        most = load;
        stage.binding = Binding::Channel;
      }
    }
    if (stage.allReduce.value > most)
      stage.binding = Binding::AllReduce;
    if (stage.recompute || !stage.levels.empty())
      stage.binding = Binding::Memory;
  }
}

} // namespace stagewright
