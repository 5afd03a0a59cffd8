//===- Tracing.cpp - the steps of a trace ---------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracing.h"
#include "Error.h"
#include "Tensors.h"

#include <charconv>

using namespace stagewright::runtime;

/// Removes a number of at least 1 from the front of `text`; 0 if there is none.
static int64_t takeNumber(std::string_view &text) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 1)
    return 0;
  text.remove_prefix(size_t(end - text.data()));
  return value;
}

Tracing::Tracing(const std::vector<std::string> &texts) {
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
    std::string_view rest = std::string_view(text).substr(range.size());
    first = last = takeNumber(rest);
    if (first && rest.starts_with(':')) {
      rest.remove_prefix(1);
      last = takeNumber(rest);
    }
    if (!rest.empty() || last < std::max<int64_t>(first, 1))
      raise("--trace is '", text,
            "', expected steps=FIRST:LAST, counted from 1, as steps=10:12");
    if (last - first >= maxSteps)
      raise("--trace is '", text, "', which are ", last - first + 1,
            " steps; a trace has at most ", maxSteps);
  }
  if (first && file.empty())
    file = "trace.json";
}

void Tracing::check(int64_t begin, int64_t end) const {
  if (first && (first < begin || last > end))
    raise("--trace is 'steps=", first, ":", last, "', but the run has steps ",
          begin, " to ", end);
}

void Tracing::write(sw_step *step) {
  written = true;
  if (sw_step_write_trace(step, file.c_str()) != 0)
    raiseLastError();
}
