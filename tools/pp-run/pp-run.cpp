//===- pp-run.cpp - runs a compiled step ----------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs an artifact of pp-compile on the tensors of a safetensors file. The
// process contains no MLIR, LLVM or Python; everything it knows about the step
// comes from the artifact's manifest.
//
//===----------------------------------------------------------------------===//

#include "ExplainTime.h"
#include "Faults.h"
#include "Flags.h"
#include "Info.h"
#include "Report.h"
#include "Tensors.h"
#include "Tracing.h"
#include "stagewright/Runtime/Launch.h"

#include "Files/AtomicFile.h"
#include "Recording/Recorder.h"
#include "Threads/Processors.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>

using namespace stagewright::runtime;
using json = nlohmann::json;

namespace {

template <typename T> using Owned = std::unique_ptr<T, void (*)(T *)>;

void print(const std::string &line) {
  std::cerr << "pp-run: " << line << std::endl;
}

Owned<sw_program> open(sw_program *(*how)(const char *),
                       const std::string &path) {
  Owned<sw_program> program(how(path.c_str()), sw_unload);
  if (!program)
    raise("'", path, "': ", sw_error());
  return program;
}

int info(const Options &options) {
  if (options.info != "text" && options.info != "json")
    raise("--info is '", options.info, "', expected 'text' or 'json'");
  auto program = open(sw_inspect, options.artifact);
  json manifest = json::parse(sw_manifest(program.get()));
  if (options.info == "json")
    std::cout << manifest.dump(1) << "\n";
  else
    printInfo(std::cout, manifest);
  return 0;
}

/// Warns if there are more threads than processors.
void warnOfThreads(int64_t ranks, int64_t threads) {
  if (threads > 1 && ranks * threads > processors())
    std::cerr << "pp-run: warning: " << ranks << " x " << threads
              << " threads share " << processors() << " processor"
              << (processors() == 1 ? "" : "s")
              << " and will wait for each other; give fewer with "
                 "--threads-per-rank\n";
}

int dryRun(const Options &options) {
  check(options);
  auto program = open(sw_load, options.artifact);
  const char *text = sw_dry_run(program.get(), options.microbatches.value_or(0),
                                options.devices.c_str(), options.processes);
  if (!text)
    raiseLastError();
  std::cout << text;
  if (options.plans.empty())
    return 0;
  std::cout.flush(); // The query takes seconds per shape.
  int64_t missing = 0;
  const char *plans =
      sw_library_plans(program.get(), options.microbatches.value_or(0),
                       options.plans.c_str(), &missing);
  if (!plans)
    raiseLastError();
  std::cout << plans;
  if (missing > 0)
    raise(missing, " of the calls above have no plan and no fallback kernels; "
                   "creating a step would fail");
  return 0;
}

int explainTime(const Options &options) {
  check(options);
  auto program = open(sw_load, options.artifact);
  const char *counts =
      sw_count_step(program.get(), options.microbatches.value_or(0));
  if (!counts)
    raiseLastError();
  std::cout << estimatedTimes(counts, options.explainTime, options.json,
                              options.anyOrder);
  return 0;
}

/// Writes the outputs and the profile, if requested. All processes call this.
void writeFiles(const Options &options, Launch &launch,
                const sw_program *program, sw_step *step, int64_t count) {
  launch.together([&] {
    if (!options.outputs.empty())
      writeOutputs(program, step, count, launch.isMain(), options.outputs);
  });
  launch.together([&] {
    if (!options.profile.empty() &&
        sw_step_write_profile(step, options.profile.c_str()) != 0)
      raiseLastError();
  });
}

/// Runs one step, with its inputs and reports. Errors here are the run's.
void runStep(const Options &options, Launch &launch, Training &training,
             const sw_program *program, sw_step *step, const json &manifest,
             int64_t count, int64_t number) {
  launch.begin();
  try {
    training.feed(step, number);
  } catch (const Error &error) { // Of this process alone.
    raise(error.what(), training.lastGood());
  }
  try {
    if (sw_step_run(step) != 0)
      launch.raiseEverywhere();
    // Ranks on devices neither check for NaN nor agree on errors themselves.
    if (manifest.at("target").value("kind", "") == "cuda")
      launch.together([&] {
        if (stopsAtNan(options.nan, manifest))
          requireFinite(readLoss(program, step, manifest, count));
      });
  } catch (const Error &error) {
    std::string text = error.what();
    if (training.saves())
      text = "step " + std::to_string(number + 1) + ": " + text;
    text += training.lastGood();
    if (launch.joined())
      throw AgreedError(text);
    raise(text);
  }
  training.after(step, number);
}

void checkExact(const Options &options, const json &manifest) {
  for (const json &rank : manifest.at("ranks"))
    if (options.exact && rank.contains("averages"))
      raise("--exact: replicas of '", options.artifact,
            "' average their parameters every ",
            rank.at("averages").at(0).at("every"),
            " steps, so its steps are not the synchronous ones; compile it "
            "without --average-every");
}

int run(const Options &options, Launch &launch) {
  Owned<sw_program> program(nullptr, sw_unload);
  launch.together([&] {
    check(options);
    // Load the artifact first: if it is invalid, that is the error to report.
    program = open(sw_load, options.artifact);
    if (options.inputs.empty() && !options.init)
      raise("no arguments for the step; give them with --inputs=FILE, or "
            "initialise them with --init=SEED");
  });
  json manifest = json::parse(sw_manifest(program.get()));
  launch.together([&] { checkExact(options, manifest); });
  int64_t count =
      options.microbatches.value_or(manifest.at("microbatches").get<int64_t>());
  Tracing tracing;
  launch.together([&] {
    tracing = Tracing(options.trace);
    if (launch.isMain())
      for (const std::string &path :
           {options.outputs, options.profile, tracing.path()})
        if (!path.empty())
          requireWritable(path);
  });
  bool cuda = manifest.at("target").value("kind", "") == "cuda";
  // On CPUs, recording a step has no measurable cost.
  int64_t kept = std::max<int64_t>(tracing.kept(),
                                   options.training.reports() && !cuda ? 1 : 0);
  sw_options how = {sizeof(sw_options),
                    count,
                    int32_t(kept),
                    options.check,
                    !options.profile.empty(),
                    options.pin,
                    int32_t(options.threads),
                    options.devices.c_str(),
                    options.direct,
                    options.deadline,
                    launch.joined(),
                    options.anyHosts,
                    options.anyOrder,
                    stopsAtNan(options.nan, manifest),
                    options.dilate.c_str(),
                    options.pace.c_str()};
  if (!launch.joined())
    warnOfThreads(int64_t(manifest.at("ranks").size()), options.threads);
  Owned<sw_step> step(nullptr, sw_step_destroy);
  std::optional<Training> training;
  int64_t first = 0;
  // Each collective call has its own together(), so that others hear of errors.
  launch.together([&] {
    training.emplace(options.training,
                     RunFacts{program.get(), manifest, count, options.artifact,
                              options.inputs},
                     launch);
  });
  launch.together([&] {
    step.reset(sw_step_create(program.get(), &how));
    if (!step)
      raiseLastError();
  });
  launch.together([&] {
    setInputs(program.get(), step.get(), manifest, count, training->fed(),
              {options.inputs, options.repeat, options.init});
    first = training->begin(step.get(), options.steps);
    tracing.check(first + 1, options.steps);
  });
  launch.together([&] { training->beginTogether(step.get(), how); });

  bool isLong = training->saves() || launch.joined();
  if (isLong)
    catchSignals();
  DeadlinePrinter deadline(launch.isMain() && isLong, options.deadline);
  RecentTimes seconds, enqueue;
  Figures figures = options.figures();
  int64_t begun = now();
  for (int64_t i = first; i < options.steps && !sw_interrupted(); ++i) {
    runStep(options, launch, *training, program.get(), step.get(), manifest,
            count, i);
    seconds.add(sw_step_seconds(step.get()));
    if (cuda)
      enqueue.add(sw_step_enqueue_seconds(step.get()));
    deadline.after(step.get());
    bool ends = i + 1 == options.steps || sw_interrupted();
    if (tracing.due(i + 1, ends))
      launch.together([&] { tracing.write(step.get()); });
  }
  figures.wall = double(now() - begun) * 1e-9;
  launch.together([&] { training->finish(step.get()); });
  if (sw_interrupted() && !training->saves())
    return 128 + SIGTERM; // The work of the run is lost.
  writeFiles(options, launch, program.get(), step.get(), count);

  std::optional<double> loss =
      readLoss(program.get(), step.get(), manifest, count);
  if (options.json)
    launch.together([&] { figures.sent = sentBytes(step.get(), manifest); });
  if (!launch.isMain())
    return 0;
  if (options.json) {
    if (training->fetched().any())
      figures.fetched = training->fetched().bytes();
    reportJson(figures, step.get(), manifest, loss, seconds, enqueue);
    return 0;
  }
  if (loss)
    std::printf("loss   %.9g\n", *loss);
  std::fflush(stdout);
  report(figures, step.get(), manifest, seconds);
  return 0;
}

/// The ranks, from the artifact's manifest.
struct Ranks {
  int64_t count = 0;
  bool devices = false, sum = false;

  explicit Ranks(const std::string &artifact) {
    auto program = open(sw_inspect, artifact);
    json manifest = json::parse(sw_manifest(program.get()));
    count = int64_t(manifest.at("ranks").size());
    devices = manifest.at("target").value("kind", "") == "cuda";
    sum = devices && manifest.contains("collectives");
  }
};

/// The number of ranks to start here as processes: all if requested, or if
/// ranks on GPUs sum gradients with each other, which may share a GPU only as
/// processes; else 0.
int64_t ranksToStart(const Options &options) {
  bool others = !options.transport.empty() || options.rendezvous.asked() ||
                launcherRank();
  if (options.processes && others && !options.dry)
    raise("--processes starts the processes itself; leave it out ",
          !options.transport.empty()   ? "with --transport"
          : options.rendezvous.asked() ? "with --rendezvous"
                                       : "under mpirun or srun");
  if (others && !options.processes)
    return 0;
  Ranks ranks(options.artifact);
  return options.processes || ranks.sum ? ranks.count : 0;
}

/// Where to connect to other processes; nullopt if there are none, or with
/// --transport. If the artifact is unreadable, all processes report it later.
std::optional<RendezvousPoint> rendezvous(const Options &options) {
  if (!options.transport.empty()) {
    if (options.rendezvous.asked())
      raise("--rendezvous and --transport=", options.transport,
            " both connect processes; leave one out");
    return std::nullopt;
  }
  bool devices = true;
  try {
    devices = Ranks(options.artifact).devices;
  } catch (const std::exception &) {
    if (!options.rendezvous.asked() && launchedByMpi())
      return std::nullopt;
  }
  return findRendezvous(options.rendezvous, devices);
}

/// Starts a process for each rank; returns nullopt in each of these.
std::optional<int> startRanks(Options &options, int64_t ranks) {
  options.transport = "sockets";
  double grace =
      options.deadline > 0 ? std::min(1.0, options.deadline / 2) : 1.0;
  return runChildren(ranks, grace, print);
}

/// Connects to the other processes; returns false on failure. The error has
/// then been printed: by rank 0, and by others if rank 0 cannot know it.
bool join(const Options &options, std::optional<Launch> &launch) {
  std::optional<RendezvousPoint> at = rendezvous(options);
  Owned<sw_program> program(nullptr, sw_unload);
  if (at)
    program.reset(sw_inspect(options.artifact.c_str()));
  try {
    launch.emplace(options.transport, at, program.get());
    return true;
  } catch (const AgreedError &) {
  } catch (const Error &error) {
    if (!at)
      throw;
    std::cerr << "pp-run: error: " << error.what() << std::endl;
  }
  return false;
}

/// Runs the step, as the only process or as one of several.
int launched(const Options &options) {
  std::optional<Launch> joined;
  if (!join(options, joined))
    return 1;
  Launch &launch = *joined;
  auto status = [&] { return launch.begun() ? faultStatus : 1; };
  try {
    return run(options, launch);
  } catch (const AgreedError &error) {
    if (launch.isMain())
      std::cerr << "pp-run: error: " << error.what() << std::endl;
  } catch (const std::exception &error) {
    if (launch.joined())
      sw_abort(status(), error.what()); // The others have not received it.
    std::cerr << "pp-run: error: " << error.what() << std::endl;
  }
  return status();
}

/// Runs under the supervisor, with the deadline after which it restarts a
/// stopped run.
int supervised(const Options &options, int argc, char **argv) {
  check(options);
  std::vector<std::string> command = withoutSupervisor({argv + 1, argv + argc});
  command.insert(command.begin(),
                 std::filesystem::read_symlink("/proc/self/exe").string());
  return supervise(options.supervisor, command, options.training.checkpoints,
                   options.deadline > 0 ? options.deadline : Deadline::minimum,
                   print);
}

} // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): from streams, or out of memory
int main(int argc, char **argv) {
  // pp-run itself starts this, for --source=LIBRARY.so.
  if (argc == 4 && std::string_view(argv[1]) == "--serve-source")
    return serveBatches(argv[2], std::strtoull(argv[3], nullptr, 10));
  CLI::App app("Runs a step compiled by pp-compile, with threads or a process "
               "for each rank. Uses no compiler and no Python.");
  Options options;
  declare(app, options);
  // Errors that do not depend on the rank are printed by the first process.
  bool first = launcherRank().value_or(0) == 0;
  try {
    app.parse(argc, argv);
    bool runs =
        options.info.empty() && !options.dry && options.explainTime.empty();
    if (runs && options.supervisor.asked())
      return supervised(options, argc, argv);
    int64_t started = runs || options.dry ? ranksToStart(options) : 0;
    options.processes = started > 0;
    if (runs && options.processes)
      if (std::optional<int> status = startRanks(options, started))
        return *status;
    if (runs)
      return launched(options);
    if (!first)
      return 0;
    return options.dry                    ? dryRun(options)
           : !options.explainTime.empty() ? explainTime(options)
                                          : info(options);
  } catch (const CLI::CallForHelp &help) {
    return first ? app.exit(help) : 0;
  } catch (const std::exception &error) {
    if (first)
      std::cerr << "pp-run: error: " << error.what() << "\n";
  }
  return 1;
}
