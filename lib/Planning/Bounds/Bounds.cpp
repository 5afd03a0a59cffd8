//===- Bounds.cpp - lower bound of one plan -------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Planning/Bounds.h"
#include <algorithm>
#include <limits>

namespace stagewright {

namespace {
/// The work of one resource, a processor or a link, in seconds.
struct Load {
  double head = std::numeric_limits<double>::infinity(); ///< Min time before.
  double work = 0;
  double rest = std::numeric_limits<double>::infinity(); ///< Min time after.

  void add(double release, double seconds, double after) {
    head = std::min(head, release);
    work += seconds;
    rest = std::min(rest, after);
  }
  double bound() const { return work > 0 ? head + work + rest : 0; }
};

/// Per stage: the min time before its work (head) and after it (rest).
class Bounder {
public:
  explicit Bounder(const PipelineModel &model);
  double bound() const;

private:
  void findHeads();
  void findRests();
  double stageBound() const;
  double linkBound() const;

  const PipelineModel &model;
  std::vector<double> head;          ///< Until a first F of a stage can start.
  std::vector<double> returned;      ///< Until a first B of it can end.
  std::vector<double> afterForward;  ///< Min time after the end of an F.
  std::vector<double> afterBackward; ///< Min time after the end of a B.
};
} // namespace

Bounder::Bounder(const PipelineModel &model)
    : model(model), head(model.stages.size(), 0),
      returned(model.stages.size(), 0), afterForward(model.stages.size(), 0),
      afterBackward(model.stages.size(), 0) {
  findHeads();
  findRests();
}

/// Channels lead from lower to higher stages, so one pass over the stages in
/// order computes the longest paths.
void Bounder::findHeads() {
  for (size_t s = 0; s < head.size(); ++s)
    for (const PipelineChannel &channel : model.channels)
      if (channel.to == s && channel.hasForward)
        head[s] = std::max(head[s],
                           head[channel.from] +
                               model.stages[channel.from].times.forward.value +
                               channel.forward.value);
  for (size_t s = head.size(); s-- > 0;) {
    double ready = head[s] + model.stages[s].times.forward.value;
    for (const PipelineChannel &channel : model.channels)
      if (channel.from == s && channel.hasBackward)
        ready = std::max(ready, returned[channel.to] + channel.backward.value);
    returned[s] = ready + model.stages[s].backward().value;
  }
}

void Bounder::findRests() {
  for (size_t s = 0; s < model.stages.size(); ++s) {
    const PipelineStage &stage = model.stages[s];
    double after = 0;
    if (!model.forwardOnly) {
      // The exchange of a tied parameter's gradient follows the last backward.
      after = stage.tail.value;
      for (const PipelineTie &tie : model.ties)
        if (tie.from == s)
          after = std::max(after, tie.seconds.value);
    }
    for (const PipelineChannel &channel : model.channels) {
      if (channel.to != s || !channel.hasBackward || model.forwardOnly)
        continue;
      after = std::max(after, channel.backward.value +
                                  model.stages[channel.from].backward().value +
                                  afterBackward[channel.from]);
    }
    afterBackward[s] = after;
  }
  for (size_t s = model.stages.size(); s-- > 0;) {
    double after = model.forwardOnly
                       ? 0
                       : model.stages[s].backward().value + afterBackward[s];
    for (const PipelineChannel &channel : model.channels)
      if (channel.from == s && channel.hasForward)
        after =
            std::max(after, channel.forward.value +
                                model.stages[channel.to].times.forward.value +
                                afterForward[channel.to]);
    afterForward[s] = after;
  }
}

/// How many of `count` microbatches the `lane`-th of `lanes` gets.
static double partOf(int64_t count, size_t lane, size_t lanes) {
  int64_t all = int64_t(lanes), own = int64_t(lane);
  return double(count / all + (own < count % all));
}

double Bounder::stageBound() const {
  std::vector<Load> processors(model.numProcessors);
  double most = 0;
  for (size_t s = 0; s < model.stages.size(); ++s) {
    const PipelineStage &stage = model.stages[s];
    most =
        std::max(most, head[s] + stage.times.forward.value + afterForward[s]);
    size_t lanes = stage.processors.size();
    for (size_t i = 0; i < lanes; ++i) {
      double count = partOf(model.microbatches, i, lanes);
      if (count == 0)
        continue;
      double each = stage.times.forward.value +
                    (model.forwardOnly ? 0 : stage.backward().value);
      double rest = model.forwardOnly ? afterForward[s] : afterBackward[s];
      processors[stage.processors[i]].add(head[s], count * each, rest);
    }
  }
  for (const Load &load : processors)
    most = std::max(most, load.bound());
  return most;
}

double Bounder::linkBound() const {
  std::vector<Load> links(model.numLinks);
  for (const PipelineChannel &channel : model.channels) {
    double sent =
        head[channel.from] + model.stages[channel.from].times.forward.value;
    auto add = [&](const std::vector<size_t> &lanes,
                   const std::vector<std::vector<size_t>> &shared,
                   double release, double seconds, double rest) {
      for (size_t i = 0; i < lanes.size(); ++i)
        if (double count = partOf(model.microbatches, i, lanes.size()))
          links[lanes[i]].add(release, count * seconds, rest);
      for (size_t i = 0; i < shared.size(); ++i)
        if (double count = partOf(model.microbatches, i, shared.size()))
          for (size_t link : shared[i])
            links[link].add(
                release, count * std::max(0.0, seconds - channel.latency.value),
                rest);
    };
    if (channel.hasForward)
      add(channel.forwardLanes, channel.forwardShared, sent,
          channel.forward.value,
          model.stages[channel.to].times.forward.value +
              afterForward[channel.to]);
    if (!channel.hasBackward || model.forwardOnly)
      continue;
    add(channel.backwardLanes, channel.backwardShared, returned[channel.to],
        channel.backward.value,
        model.stages[channel.from].backward().value +
            afterBackward[channel.from]);
  }
  double most = 0;
  for (const Load &load : links)
    most = std::max(most, load.bound());
  return most;
}

double Bounder::bound() const { return std::max(stageBound(), linkBound()); }

Seconds planLowerBound(const PipelineModel &model) {
  return Seconds(Bounder(model).bound());
}

} // namespace stagewright
