//===- Module.cpp - the C ABI for Python ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The thinnest binding that keeps objects alive and releases the interpreter's
// lock while a step runs. Tensors cross as bytes with a type number and a
// shape: numpy types that Python's buffers do not know (bfloat16) pass too.
// What users see is python/stagewright/runtime.py.
//
//===----------------------------------------------------------------------===//

#include "Training/SaveResults.h"

#include "stagewright-rt/runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;
using namespace stagewright::runtime;

namespace {

using Shape = std::vector<int64_t>;
using Input =
    nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// Position, type and shape of an argument or result.
using Described = std::tuple<int64_t, int32_t, Shape>;
/// Role, name, type and shape of a tensor of a checkpoint.
using Saved = std::tuple<std::string, std::string, int32_t, Shape>;

void check(bool good) {
  if (!good)
    throw std::runtime_error(sw_error());
}

/// A checkpoint that is being written (CheckpointDraft), which the thread of a
/// step may share.
struct Draft {
  std::shared_ptr<CheckpointDraft> shared;

  Draft(const std::string &directory, int64_t step,
        const std::vector<Saved> &list, const std::string &data) {
    CheckpointTensors tensors;
    for (const auto &[role, name, dtype, shape] : list)
      tensors[role][name] = {sw_dtype(dtype), shape};
    shared = std::make_shared<CheckpointDraft>(directory, step, tensors, data);
  }
  void append(Input bytes) {
    shared->append(std::as_bytes(std::span(bytes.data(), bytes.size())));
  }
  void commit(int64_t keep) { shared->commit(keep); }
};

/// Reserves a step for one call. The interpreter's lock is released while a
/// step runs, so another thread might call the same step; that throws.
class Busy {
public:
  explicit Busy(std::atomic<bool> &flag) : flag(flag) {
    if (flag.exchange(true, std::memory_order_acquire))
      throw std::runtime_error("the step is running in another thread");
  }
  ~Busy() { flag.store(false, std::memory_order_release); }
  Busy(const Busy &) = delete;
  Busy &operator=(const Busy &) = delete;

private:
  std::atomic<bool> &flag;
};

class Step {
public:
  Step(const std::string &path, int64_t microbatches, bool trace, bool check,
       bool profile, int32_t threads, const std::string &dilate)
      : program(sw_load(path.c_str()), sw_unload), step(nullptr, nullptr) {
    ::check(program != nullptr);
    sw_options options = {sizeof(sw_options),
                          microbatches,
                          trace,
                          check,
                          profile,
                          0,
                          threads,
                          nullptr,
                          /*direct=*/0,
                          0,
                          /*processes=*/0,
                          /*any_hosts=*/0,
                          /*any_order=*/0,
                          /*finite=*/0,
                          dilate.c_str(),
                          /*pace=*/nullptr};
    step = {sw_step_create(program.get(), &options), sw_step_destroy};
    ::check(step != nullptr);
  }

  std::string manifest() const { return sw_manifest(program.get()); }
  std::string blas() const { return sw_blas(program.get()); }

  std::vector<Described> arguments(int64_t microbatches) const {
    return describe(sw_argument_count(program.get()), sw_argument,
                    microbatches);
  }
  std::vector<Described> results(int64_t microbatches) const {
    return describe(sw_result_count(program.get()), sw_result, microbatches);
  }

  void set(int64_t position, int32_t dtype, const Shape &shape, Input bytes) {
    Busy busy(running);
    sw_tensor tensor = {dtype, int32_t(shape.size()), shape.data(),
                        const_cast<uint8_t *>(bytes.data())};
    ::check(sw_step_set_input(step.get(), position, &tensor) == 0);
  }
  void get(int64_t position, int32_t dtype, const Shape &shape, Output bytes) {
    Busy busy(running);
    sw_tensor tensor = {dtype, int32_t(shape.size()), shape.data(),
                        bytes.data()};
    ::check(sw_step_get_output(step.get(), position, &tensor) == 0);
  }
  void run() {
    Busy busy(running);
    int status = 0;
    std::string error;
    {
      nb::gil_scoped_release unlocked;
      status = sw_step_run(step.get());
      if (status != 0)
        error = sw_error();
    }
    if (status != 0)
      throw std::runtime_error(error);
  }

  /// Saves results of the last step, given as (position, number of bytes), as
  /// the tensors of `draft`. A background thread writes one while the next is
  /// read, and then commits the checkpoint; `keep` checkpoints are kept.
  void save(const Draft &draft,
            const std::vector<std::pair<int64_t, int64_t>> &results,
            int64_t keep) {
    Busy busy(running);
    nb::gil_scoped_release unlocked;
    std::vector<WholeResult> all;
    for (auto [position, bytes] : results)
      all.push_back({position, bytes});
    if (!writer)
      writer.emplace();
    saveCheckpoint(step.get(), all, true, *writer, draft.shared, keep);
  }
  /// Waits until the last checkpoint is on the disk; throws if it is not.
  void finishSaving() {
    nb::gil_scoped_release unlocked;
    if (writer)
      writer->finish();
  }

  double seconds() const { return sw_step_seconds(step.get()); }
  int64_t arenaBytes(int64_t rank) const {
    return sw_step_arena_bytes(step.get(), rank);
  }
  int64_t predictedBytes(int64_t rank) const {
    return sw_step_predicted_bytes(step.get(), rank);
  }
  std::vector<double> lastIdle() {
    Busy busy(running);
    int64_t ranks = 0;
    while (predictedBytes(ranks) >= 0)
      ++ranks;
    std::vector<double> shares(static_cast<size_t>(ranks));
    ::check(sw_step_last_idle(step.get(), shares.data()) == 0);
    return shares;
  }
  int64_t peakBytes(int64_t rank) const {
    return sw_step_peak_bytes(step.get(), rank);
  }
  void writeTrace(const std::string &path) {
    Busy busy(running);
    ::check(sw_step_write_trace(step.get(), path.c_str()) == 0);
  }
  void writeProfile(const std::string &path) {
    Busy busy(running);
    ::check(sw_step_write_profile(step.get(), path.c_str()) == 0);
  }

private:
  using Query = int (*)(const sw_program *, int64_t, int64_t, int64_t *,
                        sw_tensor *);
  std::vector<Described> describe(int64_t count, Query query,
                                  int64_t microbatches) const {
    std::vector<Described> list;
    for (int64_t i = 0; i < count; ++i) {
      int64_t position = 0;
      sw_tensor tensor;
      ::check(query(program.get(), i, microbatches, &position, &tensor) == 0);
      list.emplace_back(position, tensor.dtype,
                        Shape(tensor.shape, tensor.shape + tensor.rank));
    }
    return list;
  }

  std::unique_ptr<sw_program, void (*)(sw_program *)> program;
  std::unique_ptr<sw_step, void (*)(sw_step *)> step;
  std::atomic<bool> running = false;
  std::optional<BackgroundWriter> writer;
};

} // namespace

NB_MODULE(_stagewright_runtime, module) {
  module.def("recover_checkpoints", &recoverCheckpoints);
  nb::class_<Draft>(module, "CheckpointDraft")
      .def(nb::init<const std::string &, int64_t, const std::vector<Saved> &,
                    const std::string &>())
      .def("append", &Draft::append)
      .def("commit", &Draft::commit);
  nb::class_<Step>(module, "Step")
      .def(nb::init<const std::string &, int64_t, bool, bool, bool, int32_t,
                    const std::string &>())
      .def("manifest", &Step::manifest)
      .def("blas", &Step::blas)
      .def("arguments", &Step::arguments)
      .def("results", &Step::results)
      .def("set", &Step::set)
      .def("get", &Step::get)
      .def("run", &Step::run)
      .def("save", &Step::save)
      .def("finish_saving", &Step::finishSaving)
      .def("seconds", &Step::seconds)
      .def("arena_bytes", &Step::arenaBytes)
      .def("predicted_bytes", &Step::predictedBytes)
      .def("last_idle", &Step::lastIdle)
      .def("peak_bytes", &Step::peakBytes)
      .def("write_trace", &Step::writeTrace)
      .def("write_profile", &Step::writeProfile);
}
