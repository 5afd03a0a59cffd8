//===- ExplainTime.cpp - estimated times of a step ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExplainTime.h"

#include "stagewright/Runtime/Error.h"
#ifdef STAGEWRIGHT_COST
#include "stagewright/Cost/StepTime.h"
#endif

namespace stagewright::runtime {

#ifdef STAGEWRIGHT_COST
std::string estimatedTimes(const std::string &counts,
                           const std::string &cluster, bool json,
                           bool anyOrder) {
  auto text = explainStep(counts, cluster, json, anyOrder);
  if (!text)
    raise("--explain-time: ", text.error().message);
  return *text;
}
#else
std::string estimatedTimes(const std::string &, const std::string &, bool,
                           bool) {
  raise("--explain-time: this pp-run was built without the cost model; use "
        "the pp-run of a build with STAGEWRIGHT_DATA=ON, or pp-compile "
        "--explain-time");
}
#endif

} // namespace stagewright::runtime
