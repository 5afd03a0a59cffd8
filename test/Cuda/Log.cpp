//===- Log.cpp - a log of all calls ---------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <cstdlib>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace emulator {

namespace {
/// The lines logged so far. They remain until the process is gone: threads that
/// carry messages may log while it ends.
struct Lines {
  std::mutex mutex;
  std::string text;
} &lines = *new Lines;

[[maybe_unused]] const int atEnd = std::atexit(writeLog);
} // namespace

void writeLog() {
  std::lock_guard lock(lines.mutex);
  std::string name = variable("LOG");
  if (size_t at = name.find("%d"); at != name.npos)
    name.replace(at, 2, std::to_string(getpid()));
  if (!name.empty())
    std::ofstream(name) << lines.text;
}

void logLine(const std::string &line) {
  std::lock_guard lock(lines.mutex);
  lines.text += line + "\n";
}

std::string variable(const std::string &name) {
  const char *text = std::getenv(("STAGEWRIGHT_EMULATOR_" + name).c_str());
  return text ? text : "";
}

int64_t setting(const std::string &name, int64_t fallback) {
  std::string text = variable(name);
  return text.empty() ? fallback : std::atoll(text.c_str());
}

int failure(const std::string &symbol) {
  std::string wanted = variable("FAIL");
  int64_t device = setting("FAIL_DEVICE", -1);
  bool fails = (device < 0 || device == currentDevice()) &&
               wanted.starts_with(symbol + "=");
  return fails ? std::atoi(&wanted[symbol.size() + 1]) : 0;
}

Fault faultOf(const std::string &symbol) {
  std::string wanted = variable("FAULT");
  if (wanted.empty())
    return {};
  std::lock_guard guard(lock());
  static auto &calls = *new std::map<std::string, int>;
  std::string call = symbol + ":" + std::to_string(calls[symbol]++);
  if (!wanted.starts_with(call))
    return {};
  Fault fault = {.drops = wanted == call};
  char sign = '=';
  std::sscanf(wanted.c_str() + call.size(), ":%d%c%ld", &fault.argument, &sign,
              &fault.number);
  fault.adds = sign != '=';
  fault.number *= sign == '-' ? -1 : 1;
  return fault;
}

} // namespace emulator

/// The lines logged since the last call of this function.
EMULATED const char *emulatorTake() {
  static std::string taken;
  std::lock_guard lock(emulator::lines.mutex);
  taken = std::exchange(emulator::lines.text, "");
  return taken.c_str();
}
