//===- Progress.cpp - progress and metrics of a run -----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "Files/AtomicFile.h"
#include "stagewright/Runtime/Error.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <numeric>

using namespace stagewright::runtime;
using nlohmann::json;

static std::string print(const char *format, ...) {
  char text[96];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  return text;
}

std::string printDuration(double seconds) {
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

static double mean(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         double(values.size());
}

/// Removes the lines of steps after `last`, which a killed run executed after
/// its checkpoint and which will run again, and an incomplete last line.
static void cutLines(const std::string &path, int64_t last) {
  if (!std::filesystem::is_regular_file(path))
    return;
  std::string kept;
  bool whole = true;
  std::ifstream old(path);
  for (std::string line; std::getline(old, line);) {
    json it = json::parse(line, nullptr, /*allow_exceptions=*/false);
    bool torn = old.eof() && it.is_discarded();
    if (torn || (it.is_object() && it.contains("step") &&
                 it["step"].is_number_integer() && it["step"] > last))
      whole = false;
    else
      kept += line + "\n";
  }
  if (whole)
    return;
  std::span<const std::byte> part(
      reinterpret_cast<const std::byte *>(kept.data()), kept.size());
  writeFileAtomically(path, part);
}

Progress::Progress(const std::string &path, std::optional<int64_t> resumed,
                   bool terminal, Amounts amounts, json run)
    : terminal(terminal), amounts(amounts), run(std::move(run)),
      began(std::chrono::steady_clock::now()) {
  if (path.empty())
    return;
  if (resumed)
    cutLines(path, *resumed);
  file.open(path, resumed ? std::ios::app : std::ios::trunc);
  if (!file)
    raise("cannot write '", path, "'");
}

void Progress::end() {
  if (open)
    std::fputc('\n', stderr);
  open = false;
}

void Progress::begin(int64_t done, int64_t wanted) {
  first = done, all = wanted;
  began = std::chrono::steady_clock::now();
}

void Progress::report(const StepFigures &figures) {
  if (figures.validation)
    validation = figures.validation;
  if (file.is_open())
    write(figures);
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

void Progress::write(const StepFigures &figures) {
  json line = {
      {"step", figures.step}, {"loss", nullptr}, {"seconds", figures.seconds}};
  if (figures.loss)
    line["loss"] = *figures.loss;
  if (figures.validation)
    line["validation_loss"] = *figures.validation;
  if (amounts.samples)
    line["samples_per_second"] = double(amounts.samples) / figures.seconds;
  if (amounts.tokens)
    line["tokens_per_second"] = double(amounts.tokens) / figures.seconds;
  if (!figures.idle.empty()) {
    line["bubble"] = mean(figures.idle);
    line["idle"] = figures.idle;
  }
  if (!figures.liveBytes.empty())
    line["live_bytes"] = figures.liveBytes;
  if (!run.is_null())
    line["run"] = std::move(run);
  run = nullptr;
  file << line.dump() << std::endl;
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
  if (int64_t amount = amounts.tokens ? amounts.tokens : amounts.samples)
    text += "  " + printRate(double(amount) / figures.seconds) +
            (amounts.tokens ? " tokens/s" : " samples/s");
  if (!figures.idle.empty())
    text += print("  bubble %.1f %%", 100 * mean(figures.idle));
  return text + "  " +
         printDuration(passed() / double(figures.step - first) *
                       double(all - figures.step)) +
         " left";
}
