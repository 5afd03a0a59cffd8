//===- DrawSvg.h - a simulated step as a picture ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row for every processor and, thinner, for every channel; time to the right,
// to scale. The number in a bar is its microbatch; blocks of the critical path
// are underlined. What ran on a machine is drawn from its trace by
// scripts/draw-trace.py; this is what the simulator expects.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_DRAWSVG_H
#define STAGEWRIGHT_SIMULATION_DRAWSVG_H

#include "stagewright/Simulation/PipelineTimeline.h"

namespace stagewright {

/// What a picture or a trace calls things.
struct PipelineNames {
  std::string title;
  /// By processor; "processor 3" where there is none.
  std::vector<std::string> processors;
  /// Times are plain numbers, not seconds; a trace shows one as a millisecond.
  bool plainTime = false;

  std::string ofProcessor(size_t number) const;
  /// "31 s", or "31".
  std::string ofTime(Seconds time) const;
};

/// The picture as an SVG file; it needs no fonts but the viewer's.
std::string drawSvg(const PipelineModel &model,
                    const PipelineTimeline &timeline,
                    const PipelineNames &names);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_DRAWSVG_H
