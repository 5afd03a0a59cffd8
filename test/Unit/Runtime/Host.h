//===- Host.h - a small C++ wrapper of the C ABI ----------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_UNIT_RUNTIME_HOST_H
#define STAGEWRIGHT_UNIT_RUNTIME_HOST_H

#include "Fixtures/Fault.h"

#include "stagewright-rt/runtime.h"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/// An artifact with a step; errors are exceptions with the runtime's text.
class Host {
public:
  static sw_options defaults() {
    sw_options options;
    std::memset(&options, 0, sizeof(options));
    options.size = sizeof(options);
    return options;
  }

  Host(const std::string &path, const sw_options &options)
      : program(sw_load(path.c_str()), sw_unload), step(nullptr, nullptr) {
    if (!program)
      throw std::runtime_error(sw_error());
    step = {sw_step_create(program.get(), &options), sw_step_destroy};
    if (!step)
      throw std::runtime_error(sw_error());
  }

  /// The fixture `pipeline` with w = 1, 2, 3, 4 and x[m, i] = 10 m + i.
  static Host pipeline(sw_options options = defaults(),
                       Fault fault = Fault::None,
                       const char *path = FIXTURES "/pipeline.swx") {
    Host host(path, options);
    int64_t count = options.microbatches ? options.microbatches : 4;
    std::vector<float> x;
    for (int64_t m = 0; m < count; ++m)
      for (int64_t i = 0; i < 4; ++i)
        x.push_back(float(10 * m + i));
    host.set<float>(0, SW_F32, {4}, {1, 2, 3, 4});
    host.set<float>(1, SW_F32, {count, 4}, x);
    host.set<int32_t>(2, SW_I32, {}, {int32_t(fault)});
    return host;
  }

  /// The fixture `slices` with p = 0 .. 7 and x = 0 .. 11.
  static Host slices(sw_options options = defaults()) {
    Host host(FIXTURES "/slices.swx", options);
    host.set<float>(0, SW_F32, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    host.set<float>(1, SW_F32, {2, 3, 2},
                    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    return host;
  }

  template <typename T>
  void set(int64_t position, int32_t dtype, std::vector<int64_t> shape,
           std::vector<T> data) {
    sw_tensor tensor = {dtype, int32_t(shape.size()), shape.data(),
                        data.data()};
    check(sw_step_set_input(step.get(), position, &tensor));
  }

  void run() { check(sw_step_run(step.get())); }

  /// The error of a run, or an empty string if it succeeds.
  std::string runError() {
    return sw_step_run(step.get()) == 0 ? "" : sw_error();
  }

  std::vector<float> get(int64_t position, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t extent : shape)
      count *= extent;
    std::vector<float> data(count);
    sw_tensor tensor = {SW_F32, int32_t(shape.size()), shape.data(),
                        data.data()};
    check(sw_step_get_output(step.get(), position, &tensor));
    return data;
  }

  static void check(int status) {
    if (status != 0)
      throw std::runtime_error(sw_error());
  }

  std::unique_ptr<sw_program, void (*)(sw_program *)> program;
  std::unique_ptr<sw_step, void (*)(sw_step *)> step;
};

#endif // STAGEWRIGHT_UNIT_RUNTIME_HOST_H
