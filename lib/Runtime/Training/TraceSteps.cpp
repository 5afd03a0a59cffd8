//===- TraceSteps.cpp - the steps of a trace ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/TraceSteps.h"
#include "Training/StepTensors.h"
#include "stagewright/Runtime/Error.h"
#include "stagewright/Support/ParseNumber.h"

namespace stagewright::runtime {

TraceSteps::TraceSteps(const std::vector<std::string> &texts) {
  constexpr std::string_view range = "steps=";
  constexpr int64_t maxSteps = 1000; // Viewers can still open this many.
  for (const std::string &text : texts) {
    if (!text.starts_with(range)) {
      if (!file.empty())
        raise("--trace is given for '", file, "' and for '", text,
              "'; one file holds all steps");
      file = text;
      continue;
    }
    if (first)
      raise("--trace is given for the steps ", first, ":", last, " and as '",
            text, "'; one trace has one range of steps");
    std::string_view rest = std::string_view(text).substr(range.size());
    first = last = takeNumber(rest).value_or(0);
    if (first && rest.starts_with(':')) {
      rest.remove_prefix(1);
      last = takeNumber(rest).value_or(0);
    }
    if (!rest.empty() || first < 1 || last < first)
      raise(
          "--trace is '", text,
          "', expected steps=FIRST:LAST, counted from 1, such as steps=10:12");
    if (last - first >= maxSteps)
      raise("--trace is '", text, "', which are ", last - first + 1,
            " steps; a trace has at most ", maxSteps);
  }
  if (first && file.empty())
    file = "trace.json";
}

void TraceSteps::check(int64_t begin, int64_t end) const {
  if (first && (first < begin || last > end))
    raise("--trace is 'steps=", first, ":", last, "', but the run has steps ",
          begin, " to ", end);
}

void TraceSteps::write(sw_step *step) {
  written = true;
  if (sw_step_write_trace(step, file.c_str()) != 0)
    raiseLastError();
}

} // namespace stagewright::runtime
