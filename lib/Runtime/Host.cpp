//===- Host.cpp - the C ABI for hosts -------------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda/LibraryPlans.h"
#include "Cuda/Prepare.h"
#include "Cuda/StepWork.h"
#include "DType.h"
#include "Files/AtomicFile.h"
#include "HostErrors.h"
#include "Memory/HostTensors.h"
#include "Processes/Processes.h"
#include "Processes/Rendezvous.h"
#include "Products/Blas.h"
#include "Runner.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include "stagewright-rt/runtime.h"

#include <algorithm>

using namespace stagewright::runtime;

struct sw_program {
  std::shared_ptr<const Artifact> artifact;
};

struct sw_step {
  std::unique_ptr<Runner> step;
};

namespace {

int describe(const std::vector<Interface> &list, int64_t index,
             HostTensor (*shapeOf)(const Interface &, int64_t),
             int64_t microbatches, int64_t *position, sw_tensor *tensor) {
  return guarded(-1, [&] {
    if (index < 0 || size_t(index) >= list.size())
      raise("there is no argument or result number ", index, "; there are ",
            list.size());
    static thread_local HostTensor shown;
    shown = shapeOf(list[index], microbatches);
    *position = list[index].position;
    *tensor = {shown.dtype, int32_t(shown.shape.size()), shown.shape.data(),
               nullptr};
    return 0;
  });
}

void write(const char *path, const std::string &text) {
  writeFileAtomically(path, std::as_bytes(std::span(text)));
}

/// Writes what the ranks of `step` have recorded, if it is gathered in this
/// process.
int writeRecords(Runner &step, const char *path, const char *option,
                 bool (Recorder::*records)() const,
                 decltype(traceJson) &textOf) {
  return guarded(-1, [&] {
    auto recorders = step.recorders();
    if (recorders.empty() || !(recorders[0]->*records)())
      raise("the step was made without the option to ", option);
    if (step.gatherRecords())
      write(path, textOf(step.manifest(), recorders));
    return 0;
  });
}

/// Agrees on `error` with all processes; raises it if there are none. Ends all
/// processes if one does not arrive within `seconds`.
void agreeOrEnd(const char *error, double seconds) {
  std::string text = error ? error : "";
  Processes *processes = Processes::get();
  if (!processes && !text.empty())
    raise(text);
  if (!processes ||
      processes->agree(text, now(), true, PollTimeout(0, seconds)))
    return;
  ProcessGroup &group = processes->group();
  group.abort(faultStatus, text.empty()
                               ? "rank " + std::to_string(group.self()) +
                                     ": waited " + printSeconds(seconds) +
                                     " for the other ranks"
                               : text);
}

void requireRank(const Runner &step, int64_t rank) {
  if (rank < 0 || size_t(rank) >= step.manifest().ranks.size())
    raise("there is no rank ", rank, "; there are ",
          step.manifest().ranks.size());
}

} // namespace

std::string &stagewright::runtime::lastError() {
  static thread_local std::string text;
  return text;
}

const char *sw_error(void) { return lastError().c_str(); }

sw_program *sw_load(const char *path) {
  return guarded<sw_program *>(nullptr, [&] {
    return new sw_program{std::make_shared<Artifact>(path, true)};
  });
}

sw_program *sw_load_bytes(const void *data, size_t size) {
  return guarded<sw_program *>(nullptr, [&] {
    std::span bytes(static_cast<const std::byte *>(data), size);
    return new sw_program{std::make_shared<Artifact>(bytes)};
  });
}

sw_program *sw_inspect(const char *path) {
  return guarded<sw_program *>(nullptr, [&] {
    return new sw_program{std::make_shared<Artifact>(path, false)};
  });
}

void sw_unload(sw_program *program) { delete program; }

const char *sw_manifest(const sw_program *program) {
  return program->artifact->text().c_str();
}

const char *sw_blas(const sw_program *) { return blasDescription().c_str(); }

int64_t sw_argument_count(const sw_program *program) {
  return int64_t(program->artifact->manifest().arguments.size());
}

int64_t sw_result_count(const sw_program *program) {
  return int64_t(program->artifact->manifest().results.size());
}

int sw_argument(const sw_program *program, int64_t index, int64_t microbatches,
                int64_t *position, sw_tensor *tensor) {
  return describe(program->artifact->manifest().arguments, index, hostArgument,
                  microbatches, position, tensor);
}

int sw_result(const sw_program *program, int64_t index, int64_t microbatches,
              int64_t *position, sw_tensor *tensor) {
  return describe(program->artifact->manifest().results, index, hostResult,
                  microbatches, position, tensor);
}

const char *sw_dry_run(const sw_program *program, int64_t microbatches,
                       const char *devices, int processes) {
  return guarded<const char *>(nullptr, [&] {
    static thread_local std::string text;
    text = cuda::proveStep(*program->artifact, microbatches,
                           devices ? devices : "", processes != 0);
    return text.c_str();
  });
}

const char *sw_count_step(const sw_program *program, int64_t microbatches) {
  return guarded<const char *>(nullptr, [&] {
    static thread_local std::string text;
    text = cuda::countStep(*program->artifact, microbatches);
    return text.c_str();
  });
}

const char *sw_library_plans(const sw_program *program, int64_t microbatches,
                             const char *architectures, int64_t *missing) {
  return guarded<const char *>(nullptr, [&] {
    static thread_local cuda::LibraryPlans plans;
    plans = cuda::libraryPlans(*program->artifact, microbatches, architectures);
    *missing = plans.missing;
    return plans.text.c_str();
  });
}

sw_step *sw_step_create(sw_program *program, const sw_options *options) {
  return guarded<sw_step *>(nullptr, [&] {
    StepOptions own;
    if (options) {
      requireSize("sw_options", options->size, sizeof(sw_options));
      if (options->trace < 0)
        raise("the number of steps to record is ", options->trace,
              ", expected at least 0");
      own = {options->microbatches,
             options->trace,
             options->check != 0,
             options->profile != 0,
             options->pin != 0,
             options->threads ? options->threads : 1,
             options->devices ? options->devices : "",
             options->direct == 0,
             options->deadline,
             options->processes != 0,
             options->any_hosts != 0,
             options->any_order != 0,
             options->finite != 0,
             options->dilate ? options->dilate : "",
             options->pace ? options->pace : ""};
    }
    return new sw_step{makeRunner(program->artifact, own)};
  });
}

void sw_step_destroy(sw_step *step) {
  // The thread of a rank that hangs may still use the step, so leak it.
  if (step && step->step->abandoned())
    static_cast<void>(step->step.release());
  delete step;
}

int sw_step_set_input(sw_step *step, int64_t position,
                      const sw_tensor *tensor) {
  return guarded(-1, [&] {
    step->step->setInput(position, *tensor);
    return 0;
  });
}

int sw_step_run(sw_step *step) {
  return guarded(-1, [&] {
    step->step->run();
    return 0;
  });
}

int sw_step_get_output(sw_step *step, int64_t position,
                       const sw_tensor *tensor) {
  return guarded(-1, [&] {
    step->step->getOutput(position, *tensor);
    return 0;
  });
}

int sw_step_read_output(sw_step *step, int64_t position, int64_t offset,
                        int64_t bytes, void *data) {
  return guarded(-1, [&] {
    step->step->readOutput(position, offset, bytes, data);
    return 0;
  });
}

double sw_step_seconds(const sw_step *step) { return step->step->seconds(); }

double sw_step_deadline(const sw_step *step) { return step->step->deadline(); }

double sw_step_enqueue_seconds(const sw_step *step) {
  return step->step->enqueueSeconds();
}

int64_t sw_step_arena_bytes(const sw_step *step, int64_t rank) {
  return guarded<int64_t>(-1, [&] {
    if (rank != -1) {
      requireRank(*step->step, rank);
      return step->step->allocated(rank);
    }
    int64_t sum = 0;
    for (size_t r = 0; r < step->step->manifest().ranks.size(); ++r)
      sum += step->step->allocated(int64_t(r));
    return sum;
  });
}

int64_t sw_step_peak_bytes(const sw_step *step, int64_t rank) {
  return guarded<int64_t>(-1, [&] {
    requireRank(*step->step, rank);
    return step->step->peak(rank);
  });
}

int64_t sw_step_predicted_bytes(const sw_step *step, int64_t rank) {
  return guarded<int64_t>(-1, [&] {
    requireRank(*step->step, rank);
    return step->step->predictedPeak(rank);
  });
}

double sw_step_idle_share(const sw_step *step, int64_t rank) {
  return guarded(-1.0, [&] {
    requireRank(*step->step, rank);
    auto records = step->step->recorders();
    if (records.empty() || !records[0]->profiles())
      raise("the step was made without the option to profile");
    if (records[rank]->steps().empty())
      raise("no step has run");
    return records[rank]->idleShare();
  });
}

int sw_step_last_idle(sw_step *step, double *shares) {
  return guarded(-1, [&] {
    std::vector<double> found = step->step->lastIdle();
    if (found.empty())
      raise("the step was made without the option to trace or to profile");
    std::copy(found.begin(), found.end(), shares);
    return 0;
  });
}

int64_t sw_step_sent_bytes(sw_step *step, sw_traffic *traffic) {
  return guarded<int64_t>(-1, [&] {
    std::vector<Traffic> sent = step->step->gatherTraffic();
    std::copy(sent.begin(), sent.end(), traffic);
    return int64_t(sent.size());
  });
}

int sw_step_write_trace(sw_step *step, const char *path) {
  return writeRecords(*step->step, path, "trace", &Recorder::traces, traceJson);
}

int sw_step_write_profile(sw_step *step, const char *path) {
  return writeRecords(*step->step, path, "profile", &Recorder::profiles,
                      profileJson);
}

int sw_connect(const char *transport) {
  return guarded(-1, [&] {
    Processes::connect(transport);
    return 0;
  });
}

int sw_connect_at(const sw_rendezvous *how) {
  return guarded(-1, [&] {
    requireSize("sw_rendezvous", how->size, sizeof(sw_rendezvous));
    if (how->port < 1 || how->port > UINT16_MAX)
      raise("the port of '", how->host, "' is ", how->port,
            ", expected 1 to 65535");
    Rendezvous at = {how->host, uint16_t(how->port), how->rank, how->ranks,
                     how->seconds};
    if (how->program)
      at.artifact =
          std::hash<std::string>()(how->program->artifact->text()) | 1;
    try {
      Processes::connect(at);
    } catch (const ReportedError &error) {
      lastError() = error.what();
      return 1;
    }
    return 0;
  });
}

int64_t sw_process(void) {
  return Processes::get() ? Processes::get()->group().self() : 0;
}

int64_t sw_process_count(void) {
  return Processes::get() ? Processes::get()->group().size() : 1;
}

int sw_agree(const char *error) {
  return guarded(-1, [&] {
    agreeOrEnd(error, Deadline::first);
    return 0;
  });
}

int sw_step_agree(const sw_step *step, const char *error) {
  return guarded(-1, [&] {
    agreeOrEnd(error, step->step->deadline());
    return 0;
  });
}

int sw_broadcast(void *data, int64_t bytes) {
  return guarded(-1, [&] {
    if (Processes *processes = Processes::get())
      processes->group().broadcast(0, data, bytes);
    return 0;
  });
}

int sw_any(int mine) {
  return guarded(-1, [&] {
    Processes *processes = Processes::get();
    if (!processes)
      return mine != 0 ? 1 : 0;
    std::vector<int> all(size_t(processes->group().size()));
    processes->group().gather(&mine, all.data(), sizeof(mine),
                              PollTimeout(0, 0));
    return std::any_of(all.begin(), all.end(), [](int one) { return one != 0; })
               ? 1
               : 0;
  });
}

void sw_interrupt(void) { Processes::interrupt(); }

int sw_interrupted(void) { return Processes::interrupted() ? 1 : 0; }

int sw_disconnect(void) {
  return guarded(-1, [&] {
    if (Processes *processes = Processes::get())
      processes->close();
    return 0;
  });
}

void sw_abort(int status, const char *error) {
  if (Processes *processes = Processes::get())
    processes->group().abort(status, error ? error : "");
  std::_Exit(status);
}
