//===- EmulatedHost.h - a step on an emulated CUDA --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads the emulator before the runtime looks for a driver, and parses its
// record: one line per call, as words and `key=value` pairs.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_RUNTIME_CUDA_EMULATEDHOST_H
#define STAGEWRIGHT_UNIT_RUNTIME_CUDA_EMULATEDHOST_H

#include "Host.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <sstream>

/// Sets an environment variable during its lifetime.
class Variable {
public:
  Variable(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name); }
  Variable(const Variable &) = delete;

private:
  const char *name;
};

/// One line of the emulator's record.
struct Call {
  std::string word, line;
  std::map<std::string, std::string> values;

  int number(const std::string &key) const {
    auto found = values.find(key);
    return found == values.end() ? -1 : std::atoi(found->second.c_str());
  }
};

class Emulator {
public:
  Emulator()
      : cuda("STAGEWRIGHT_CUDA_LIBRARY", EMULATOR_LIBRARY),
        lt("STAGEWRIGHT_CUBLASLT_LIBRARY", EMULATOR_LIBRARY),
        graphs("STAGEWRIGHT_GRAPH_LIBRARY", EMULATOR_LIBRARY) {
    void *handle = dlopen(EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    take = reinterpret_cast<const char *(*)()>(dlsym(handle, "emulatorTake"));
    take();
  }

  /// The calls since the previous request.
  std::vector<Call> calls() const {
    std::vector<Call> list;
    std::istringstream text(take());
    for (std::string line; std::getline(text, line);) {
      Call call;
      call.line = line;
      std::istringstream words(line);
      words >> call.word;
      for (std::string pair; words >> pair;)
        if (size_t at = pair.find('='); at != std::string::npos)
          call.values.emplace(pair.substr(0, at), pair.substr(at + 1));
      list.push_back(std::move(call));
    }
    return list;
  }

private:
  Variable cuda, lt, graphs;
  const char *(*take)() = nullptr;
};

/// A step of the fixture `device`, with its arguments set.
inline Host deviceHost(sw_options options = Host::defaults()) {
  Host host(FIXTURES "/device.swx", options);
  int64_t count = options.microbatches ? options.microbatches : 4;
  host.set<float>(0, SW_F32, {4, 4}, std::vector<float>(16));
  host.set<float>(1, SW_F32, {count, 4, 4}, std::vector<float>(16 * count));
  return host;
}

/// The error of creating a step of the fixture; empty if it succeeds.
inline std::string deviceError(sw_options options = Host::defaults()) {
  try {
    deviceHost(options);
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

#endif // STAGEWRIGHT_UNIT_RUNTIME_CUDA_EMULATEDHOST_H
