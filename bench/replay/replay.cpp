//===- replay.cpp - a step beside its own contractions --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Notes every contraction and convolution that one step of an artifact asks of
// the runtime, with its descriptor and addresses, in order. Then whole steps
// take turns with exactly these calls, on the same addresses except those on
// the stack, in the same process, and the times of both are printed as JSON. To
// note the calls, it replaces for one step the table through which generated
// code calls the runtime, whose address the artifact exports. The next step
// overwrites what the calls wrote; its loss must equal that of the first step.
//
//===----------------------------------------------------------------------===//

#include "Peak.h"
#include "Training/StepTensors.h"

#include "stagewright-rt/runtime.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <variant>
#include <vector>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

struct Call {
  std::variant<sw_gemm_desc, sw_convolution_desc> desc;
  const void *a, *b;
  void *c;
};

std::vector<Call> calls;
const sw_api *original = nullptr;

/// Blocks of fused kernels lie on the stack of the rank's thread. A repeated
/// call would overwrite frames of other functions there, so such an address is
/// replaced by the same place in a second stack, on which no thread runs.
class Stack {
public:
  /// Of the calling thread.
  Stack() {
    pthread_attr_t attributes;
    void *start = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
        pthread_attr_getstack(&attributes, &start, &size) != 0)
      raise("the stack of the rank's thread is not known");
    pthread_attr_destroy(&attributes);
    low = reinterpret_cast<uintptr_t>(start);
    second.resize(size + 4096);
  }
  template <typename T> T *outside(T *address) {
    uintptr_t offset = reinterpret_cast<uintptr_t>(address) - low;
    uintptr_t start =
        (reinterpret_cast<uintptr_t>(second.data()) + 4095) & -4096;
    return offset < size ? reinterpret_cast<T *>(start + offset) : address;
  }

private:
  uintptr_t low = 0;
  size_t size = 0;
  std::vector<std::byte> second;
};

Stack &stackOfRank() {
  static Stack stack; // of the thread that notes first; there is one rank
  return stack;
}

template <typename Desc>
void note(const Desc &desc, const void *a, const void *b, void *c) {
  Stack &stack = stackOfRank();
  calls.push_back({desc, stack.outside(a), stack.outside(b), stack.outside(c)});
}

void noteGemm(const sw_gemm_desc *desc, const void *a, const void *b, void *c) {
  note(*desc, a, b, c);
  original->gemm(desc, a, b, c);
}

void noteConvolution(const sw_convolution_desc *desc, const void *a,
                     const void *b, void *c) {
  note(*desc, a, b, c);
  original->convolution(desc, a, b, c);
}

void repeat(const Call &call) {
  if (const auto *gemm = std::get_if<sw_gemm_desc>(&call.desc))
    original->gemm(gemm, call.a, call.b, call.c);
  else
    original->convolution(&std::get<sw_convolution_desc>(call.desc), call.a,
                          call.b, call.c);
}

double seconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

void runStep(sw_step *step) {
  if (sw_step_run(step) != 0)
    raiseLastError();
}

std::function<void()> instead;

void actInstead(sw_rank *rank, int32_t, int64_t, int64_t) {
  instead();
  original->fail(rank, "something else was done instead of the step");
}

/// Runs `body` on the thread of the rank, where contractions must run: starts a
/// step that calls `body` when its first action begins, and then fails.
void runOnRank(sw_step *step, const sw_api **table,
               std::function<void()> body) {
  instead = std::move(body);
  sw_api other = *original;
  other.action_begin = actInstead;
  *table = &other;
  sw_step_run(step); // fails, as it must
  *table = original;
}

/// Runs one step whose contractions are noted.
void record(sw_step *step, const sw_api **table) {
  sw_api noting = *original;
  noting.gemm = noteGemm;
  noting.convolution = noteConvolution;
  *table = &noting;
  runStep(step);
  *table = original;
}

double replay() {
  double start = seconds();
  for (const Call &call : calls)
    repeat(call);
  return seconds() - start;
}

/// The shape of a call. Calls of equal shapes are timed together, as one entry
/// of "shapes" in the output.
json shapeOf(const sw_gemm_desc &d) {
  auto letter = [](int64_t row, int64_t column) {
    return column == 1 ? "n" : row == 1 ? "t" : "s";
  };
  std::string form = std::string(letter(d.a_row, d.a_col)) +
                     letter(d.b_row, d.b_col) + letter(d.c_row, d.c_col);
  return {{"m", d.m},
          {"n", d.n},
          {"k", d.k},
          {"batch", d.batch[0] * d.batch[1]},
          {"form", form + (d.beta ? "+" : "")}};
}

json shapeOf(const sw_convolution_desc &d) {
  return {{"m", d.rows[0] * d.rows[1] * d.rows[2]},
          {"n", d.columns},
          {"k", d.sum[0] * d.sum[1] * d.sum[2]},
          {"batch", 1},
          {"form", d.beta ? "convolution+" : "convolution"}};
}

double flops(const json &shape) {
  return 2.0 * shape.at("m").get<double>() * shape.at("n").get<double>() *
         shape.at("k").get<double>() * shape.at("batch").get<double>();
}

/// Every shape with the number of its calls, their flops, and the least seconds
/// that they took in one replay.
json timeShapes(int64_t replays) {
  std::map<json, size_t> numbers;
  std::vector<size_t> numberOf;
  for (const Call &call : calls) {
    json shape =
        std::visit([](const auto &desc) { return shapeOf(desc); }, call.desc);
    numberOf.push_back(numbers.emplace(shape, numbers.size()).first->second);
  }
  std::vector<int64_t> counts(numbers.size(), 0);
  for (size_t number : numberOf)
    ++counts[number];
  std::vector<double> least(numbers.size(), 1e30);
  for (int64_t turn = 0; turn < replays; ++turn) {
    std::vector<double> taken(numbers.size(), 0);
    for (size_t i = 0; i < calls.size(); ++i) {
      double start = seconds();
      repeat(calls[i]);
      taken[numberOf[i]] += seconds() - start;
    }
    for (size_t i = 0; i < taken.size(); ++i)
      least[i] = std::min(least[i], taken[i]);
  }
  json list = json::array();
  for (const auto &[shape, number] : numbers) {
    list.push_back(shape);
    list.back()["count"] = counts[number];
    list.back()["flops"] = flops(shape) * double(counts[number]);
    list.back()["seconds"] = least[number];
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
  setInputs(program.get(), step.get(), manifest, count, {},
            {inputs, /*repeat=*/true, {}});

  const sw_api **table = tableOf(path);
  original = *table;
  runStep(step.get());
  auto loss = readLoss(program.get(), step.get(), manifest, count);
  record(step.get(), table);
  json steps = json::array(), alone = json::array();
  for (int64_t number = 0; number < rounds; ++number) {
    json both[2] = {json::array(), json::array()};
    for (int64_t turn = 0; turn < turns; ++turn) {
      runStep(step.get());
      both[0].push_back(sw_step_seconds(step.get()));
    }
    runOnRank(step.get(), table, [&] {
      for (int64_t turn = 0; turn < turns; ++turn)
        both[1].push_back(replay());
    });
    steps.push_back(both[0]);
    alone.push_back(both[1]);
  }
  json shapes;
  runOnRank(step.get(), table, [&] { shapes = timeShapes(turns * 2); });
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

// Only an error of a stream or a lack of memory can throw in the handler.
// NOLINTNEXTLINE(bugprone-exception-escape)
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
