//===- Refused.cpp - artifacts that a reader must refuse ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Section.h"

#ifndef REFUSED_FEATURE
#define REFUSED_FEATURE "64bit"
#endif
#ifndef REFUSED_LIBRARY
#define REFUSED_LIBRARY "libm.so.6"
#endif

#ifndef REFUSED_MICROBATCHES
#define REFUSED_MICROBATCHES "false"
#endif

STAGEWRIGHT_MANIFEST(R"json({
"stagewright": 1, "name": "step", "microbatches": 1, "schedule": "gpipe", "stages": 1,
"only": )json" REFUSED_MICROBATCHES R"json(,
"target": {"triple": ")json" FIXTURE_TRIPLE
                     R"json(", "cpu": "", "features": [")json" REFUSED_FEATURE
                     R"json("]},
"libraries": [")json" REFUSED_LIBRARY
                     R"json("], "arguments": [], "results": [], "channels": [],
"ranks": [{"rank": 0, "device": "d0", "entry": "rank0", "stages": [0], "nodes": [], "buffers": [],
  "memory": {"arena": 0, "live_peak": 0}}],
"plan": {}, "grid": ""
})json");

ENTRY rank0(sw_rank *, int64_t) {}
