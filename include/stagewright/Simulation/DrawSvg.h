//===- DrawSvg.h - draw a simulated step as SVG -----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row for every processor and a thinner one for every channel; time to the
// right, to scale. The number in a bar is its microbatch; blocks of the
// critical path are underlined. It draws only simulated steps;
// scripts/draw-trace.py draws measured steps from their traces.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_SIMULATION_DRAWSVG_H
#define STAGEWRIGHT_SIMULATION_DRAWSVG_H

#include "stagewright/Simulation/PipelineTimeline.h"

namespace stagewright {

/// The names shown in a picture or a trace.
struct PipelineNames {
  std::string title;
  /// By processor; "processor 3" if it has none.
  std::vector<std::string> processors;
  /// Times are plain numbers, not seconds; a trace shows 1 as a millisecond.
  bool plainTime = false;

  std::string ofProcessor(size_t number) const;
  /// "31 s", or "31".
  std::string ofTime(Seconds time) const;
};

/// The picture as the text of an SVG file, which uses only the viewer's fonts.
std::string drawSvg(const PipelineModel &model,
                    const PipelineTimeline &timeline,
                    const PipelineNames &names);

} // namespace stagewright

#endif // STAGEWRIGHT_SIMULATION_DRAWSVG_H
