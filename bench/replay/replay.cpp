//===- replay.cpp - a step beside its own contractions --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Notes every contraction that one step of an artifact asks of the runtime,
// with its descriptor and addresses, in order. Then whole steps take turns with
// exactly these calls, on the same addresses, in the same process, and the
// times of both are printed as JSON. It does so from outside: generated code
// calls through a table whose address the artifact exports, and for one step
// that is a table of ours. What the calls leave behind is overwritten by the
// next step; that its loss is still the first one is checked.
//
//===----------------------------------------------------------------------===//

#include "Peak.h"
#include "Tensors.h"

#include "Error.h"
#include "stagewright-rt/runtime.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

struct Call {
  sw_gemm_desc desc;
  const void *a, *b;
  void *c;
};

std::vector<Call> calls;
const sw_api *original = nullptr;

void noteGemm(const sw_gemm_desc *desc, const void *a, const void *b, void *c) {
  calls.push_back({*desc, a, b, c});
  original->gemm(desc, a, b, c);
}

double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

void runStep(sw_step *step) {
  if (sw_step_run(step) != 0)
    raiseLastError();
}

/// Runs one step whose contractions are noted.
void record(sw_step *step, const sw_api **table) {
  original = *table;
  sw_api noting = *original;
  noting.gemm = noteGemm;
  *table = &noting;
  runStep(step);
  *table = original;
}

double replay() {
  double start = seconds();
  for (const Call &call : calls)
    original->gemm(&call.desc, call.a, call.b, call.c);
  return seconds() - start;
}

double flops(const sw_gemm_desc &d) {
  return 2.0 * double(d.m) * double(d.n) * double(d.k) *
         double(d.batch[0] * d.batch[1]);
}

/// One letter for each operand, n where its rows are contiguous, t where its
/// columns are, and +, where the product is added.
std::string form(const sw_gemm_desc &d) {
  auto letter = [](int64_t row, int64_t column) {
    return column == 1 ? "n" : row == 1 ? "t" : "s";
  };
  return std::string(letter(d.a_row, d.a_col)) + letter(d.b_row, d.b_col) +
         letter(d.c_row, d.c_col) + (d.beta ? "+" : "");
}

/// Calls of one descriptor: how many, and the least time all of them took in
/// one replay.
struct Shape {
  sw_gemm_desc desc;
  int64_t count;
  double now, least;
};

std::vector<Shape> timeShapes(int64_t replays) {
  std::vector<Shape> shapes;
  std::vector<size_t> shapeOf;
  for (const Call &call : calls) {
    size_t i = 0;
    while (i < shapes.size() &&
           std::memcmp(&shapes[i].desc, &call.desc, sizeof(call.desc)) != 0)
      ++i;
    if (i == shapes.size())
      shapes.push_back({call.desc, 0, 0, 1e30});
    ++shapes[i].count;
    shapeOf.push_back(i);
  }
  for (int64_t number = 0; number < replays; ++number) {
    for (size_t i = 0; i < calls.size(); ++i) {
      double start = seconds();
      original->gemm(&calls[i].desc, calls[i].a, calls[i].b, calls[i].c);
      shapes[shapeOf[i]].now += seconds() - start;
    }
    for (Shape &shape : shapes) {
      shape.least = std::min(shape.least, shape.now);
      shape.now = 0;
    }
  }
  return shapes;
}

json shapesJson(int64_t replays) {
  json list = json::array();
  for (const Shape &shape : timeShapes(replays)) {
    const sw_gemm_desc &d = shape.desc;
    list.push_back({{"m", d.m},
                    {"n", d.n},
                    {"k", d.k},
                    {"batch", d.batch[0] * d.batch[1]},
                    {"form", form(d)},
                    {"count", shape.count},
                    {"flops", flops(d) * double(shape.count)},
                    {"seconds", shape.least}});
  }
  return list;
}

template <typename T> using Owned = std::unique_ptr<T, void (*)(T *)>;

/// The table variable of an artifact that `sw_load` has opened.
const sw_api **tableOf(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  void *table = handle ? dlsym(handle, "stagewright_api") : nullptr;
  if (!table)
    raise("'", path, "' is not open, or has no table; is its path absolute?");
  return static_cast<const sw_api **>(table);
}

int run(const char *path, const char *inputs, int64_t rounds, int64_t turns) {
  Owned<sw_program> program(sw_load(path), sw_unload);
  if (!program)
    raiseLastError();
  json manifest = json::parse(sw_manifest(program.get()));
  if (manifest.at("ranks").size() != 1)
    raise("'", path, "' has ", manifest.at("ranks").size(),
          " ranks, expected 1");
  sw_options options = {};
  options.size = sizeof(options);
  options.pin = 1;
  Owned<sw_step> step(sw_step_create(program.get(), &options), sw_step_destroy);
  if (!step)
    raiseLastError();
  int64_t count = manifest.at("microbatches");
  setInputs(program.get(), step.get(), manifest, count, true, inputs);

  const sw_api **table = tableOf(path);
  runStep(step.get());
  auto loss = readLoss(program.get(), step.get(), manifest, count);
  record(step.get(), table);
  replay();
  json steps = json::array(), alone = json::array();
  for (int64_t number = 0; number < rounds; ++number) {
    json both[2] = {json::array(), json::array()};
    for (int64_t turn = 0; turn < turns; ++turn) {
      runStep(step.get());
      both[0].push_back(sw_step_seconds(step.get()));
    }
    for (int64_t turn = 0; turn < turns; ++turn)
      both[1].push_back(replay());
    steps.push_back(both[0]);
    alone.push_back(both[1]);
  }
  json shapes = shapesJson(turns * 2);
  runStep(step.get());
  if (readLoss(program.get(), step.get(), manifest, count) != loss)
    raise("the loss changed after contractions were called alone");
  json found = {{"step", steps},
                {"contractions", alone},
                {"shapes", shapes},
                {"peak_flops", peakFlops()},
                {"peak_bandwidth", peakBandwidth()}};
  std::cout << found.dump(1) << "\n";
  return 0;
}

} // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): of the streams, out of memory
int main(int argc, char **argv) {
  if (argc != 5) {
    std::cerr << "usage: bench-replay STEP.swx INPUTS.safetensors ROUNDS "
                 "STEPS\nprints the seconds of ROUNDS turns of STEPS steps, "
                 "and of their contractions alone\n";
    return 1;
  }
  try {
    return run(argv[1], argv[2], std::stoll(argv[3]), std::stoll(argv[4]));
  } catch (const std::exception &error) {
    std::cerr << "bench-replay: error: " << error.what() << "\n";
  }
  return 1;
}
