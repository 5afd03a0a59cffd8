//===- Progress.cpp - the line that shows a run's progress ----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace stagewright::runtime {

static std::string print(const char *format, ...) {
  char text[96];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  return text;
}

/// Formats a duration: "45 s", "3 min 20 s", "2 h 05 min", "3 d 4 h".
static std::string printDuration(double seconds) {
  auto s = (long long)std::llround(std::max(0.0, seconds));
  if (s < 120)
    return print("%lld s", s);
  if (s < 7200)
    return print("%lld min %02lld s", s / 60, s % 60);
  if (s < 48 * 3600)
    return print("%lld h %02lld min", s / 3600, s / 60 % 60);
  return print("%lld d %lld h", s / 86400, s / 3600 % 24);
}

/// Formats 1234567 as "1.23 M".
static std::string printRate(double value) {
  const char *units[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); value /= 1000)
    ++unit;
  return print(value < 100 ? "%.3g" : "%.0f", value) + units[unit];
}

void Progress::end() {
  if (open)
    std::fputc('\n', stderr);
  open = false;
}

void Progress::report(const StepFigures &figures) {
  if (figures.validation)
    validation = figures.validation;
  if (!isDue(figures.step))
    return;
  shown = passed();
  std::string text = describe(figures);
  if (!terminal) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return;
  }
  std::fprintf(stderr, "\r%s \033[K", text.c_str());
  open = true;
  if (figures.step == all)
    end();
}

double Progress::passed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began)
      .count();
}

/// On a terminal every 0.1 s, and at the first and last step. In a log every 10
/// s, after 5 minutes every minute.
bool Progress::isDue(int64_t step) const {
  double since = passed() - shown;
  if (terminal)
    return step == first + 1 || step == all || since >= 0.1;
  return since >= (passed() < 300 ? 10 : 60);
}

std::string Progress::describe(const StepFigures &figures) const {
  std::string text =
      print("step %lld of %lld", (long long)figures.step, (long long)all);
  if (figures.loss)
    text += print("  loss %.5g", *figures.loss);
  if (validation)
    text += print("  validation %.5g", *validation);
  if (int64_t amount = tokens ? tokens : samples)
    text += "  " + printRate(double(amount) / figures.seconds) +
            (tokens ? " tokens/s" : " samples/s");
  if (!figures.idle.empty())
    text += print("  bubble %.1f %%", 100 * figures.bubble());
  return text + "  " +
         printDuration(passed() / double(figures.step - first) *
                       double(all - figures.step)) +
         " left";
}

} // namespace stagewright::runtime
