//===- Log.cpp - a log of all calls ---------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <utility>

namespace emulator {

namespace {
/// The lines logged so far.
struct Lines {
  std::mutex mutex;
  std::string text;
  void write() {
    std::string name;
    if (const char *path = std::getenv("STAGEWRIGHT_EMULATOR_LOG"))
      name = path;
    if (size_t at = name.find("%d"); at != std::string::npos)
      name.replace(at, 2, std::to_string(getpid()));
    if (!name.empty())
      std::ofstream(name) << text;
  }
  ~Lines() { write(); }
} lines;
} // namespace

void writeLog() {
  std::lock_guard lock(lines.mutex);
  lines.write();
}

void log(const char *format, ...) {
  char line[16384]; // Enough for 511 arguments of a kernel.
  va_list arguments;
  va_start(arguments, format);
  int size = std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  std::lock_guard lock(lines.mutex);
  size_t length = std::min(size_t(size), sizeof(line) - 1);
  lines.text.append(line, length).append("\n");
}

int failure(const char *symbol) {
  const char *wanted = std::getenv("STAGEWRIGHT_EMULATOR_FAIL");
  size_t size = std::strlen(symbol);
  if (!wanted || std::strncmp(wanted, symbol, size) != 0 || wanted[size] != '=')
    return 0;
  int64_t device = setting("STAGEWRIGHT_EMULATOR_FAIL_DEVICE", -1);
  return device < 0 || device == currentDevice() ? std::atoi(wanted + size + 1)
                                                 : 0;
}

Fault faultOf(const char *symbol) {
  const char *wanted = std::getenv("STAGEWRIGHT_EMULATOR_FAULT");
  if (!wanted)
    return {};
  std::lock_guard guard(lock());
  static auto &calls = *new std::map<std::string, int>;
  std::string call = symbol + (":" + std::to_string(calls[symbol]++));
  if (std::strncmp(wanted, call.c_str(), call.size()) != 0)
    return {};
  const char *rest = wanted + call.size();
  if (*rest == '\0')
    return {.drops = true};
  if (*rest != ':')
    return {};
  char *sign = nullptr; // Of the number, or '='.
  int argument = int(std::strtol(rest + 1, &sign, 10));
  bool adds = *sign != '=';
  return {false, argument, adds, std::atoll(sign + !adds)};
}

int64_t setting(const char *name, int64_t fallback) {
  const char *text = std::getenv(name);
  return text && *text ? std::atoll(text) : fallback;
}

} // namespace emulator

/// The lines logged since the last call of this function.
EMULATED(const char *) emulatorTake() {
  static std::string taken;
  std::lock_guard lock(emulator::lines.mutex);
  taken = std::exchange(emulator::lines.text, "");
  return taken.c_str();
}
