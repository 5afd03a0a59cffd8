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
#include "Figures.h"
#include "Flags.h"
#include "Info.h"
#include "Progress.h"

#include "stagewright/Runtime/Deadline.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <unistd.h>

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
  auto program = open(sw_inspect, options.run.artifact);
  json manifest = json::parse(sw_manifest(program.get()));
  if (options.info == "json")
    std::cout << manifest.dump(1) << "\n";
  else
    printInfo(std::cout, manifest);
  return 0;
}

int dryRun(const Options &options) {
  check(options.run);
  auto program = open(sw_load, options.run.artifact);
  const char *text =
      sw_dry_run(program.get(), options.run.microbatches.value_or(0),
                 options.run.devices.c_str(), options.processes);
  if (!text)
    raiseLastError();
  std::cout << text;
  if (options.plans.empty())
    return 0;
  std::cout.flush(); // The query takes seconds per shape.
  int64_t missing = 0;
  const char *plans =
      sw_library_plans(program.get(), options.run.microbatches.value_or(0),
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
  check(options.run);
  auto program = open(sw_load, options.run.artifact);
  const char *counts =
      sw_count_step(program.get(), options.run.microbatches.value_or(0));
  if (!counts)
    raiseLastError();
  std::cout << estimatedTimes(counts, options.explainTime, options.json,
                              options.run.anyOrder);
  return 0;
}

/// Prints the deadline, which is how long a rank may make no progress: at the
/// start, and after a step if the deadline has more than doubled or halved.
class DeadlinePrinter {
public:
  /// `given`: the user's deadline in seconds, or 0.
  DeadlinePrinter(bool prints, double given) : prints(prints && !(given > 0)) {
    if (prints && given > 0)
      print("deadline " + printSeconds(given));
    else if (prints)
      print("deadline " + printSeconds(Deadline::first) +
            " for the first step, then " +
            std::to_string(int(Deadline::factor)) +
            " times the median step, at least " +
            printSeconds(Deadline::minimum));
  }
  void after(const sw_step *step) {
    double now = sw_step_deadline(step);
    if (prints && (now > 2 * printed || 2 * now < printed))
      print("deadline " + printSeconds(printed = now));
  }

private:
  bool prints;
  double printed = 0;
};

/// After SIGTERM, SIGINT or SIGUSR1 (which mpirun forwards) the run ends after
/// the current step; the same signal again ends it at once.
void catchSignals() {
  for (int number : {SIGTERM, SIGINT, SIGUSR1})
    std::signal(number, [](int which) {
      sw_interrupt();
      std::signal(which, SIG_DFL);
    });
}

/// Prints what is known after the last step; the bytes sent are collected from
/// all processes.
void printFigures(const Options &options, Launch &launch, Run &run,
                  Figures &figures) {
  json manifest = json::parse(sw_manifest(run.program()));
  std::optional<double> loss = run.loss();
  if (options.json)
    launch.together([&] { figures.sent = sentBytes(run.step(), manifest); });
  if (!launch.isMain())
    return;
  figures.fetched = run.fetched();
  if (options.json) {
    reportJson(figures, run.step(), manifest, loss);
    return;
  }
  if (loss)
    std::printf("loss   %.9g\n", *loss);
  std::fflush(stdout);
  report(figures, run.step(), manifest);
}

int run(const Options &options, Launch &launch) {
  Run run(options.run, launch);
  if (std::string warning = run.warning(); !warning.empty())
    print("warning: " + warning);
  const TrainingOptions &training = options.run.training;
  std::optional<Progress> progress;
  if (training.reports() && launch.isMain())
    progress.emplace(isatty(STDERR_FILENO) != 0, run, options.run.steps);
  bool isLong = run.saves() || launch.joined();
  if (isLong)
    catchSignals();
  DeadlinePrinter deadline(launch.isMain() && isLong, options.run.deadline);
  Figures figures;
  figures.idle = !options.run.profile.empty();
  figures.memory = options.run.check;
  auto begun = std::chrono::steady_clock::now();
  while (run.done() < options.run.steps && !sw_interrupted()) {
    StepFigures step = run.next();
    figures.seconds.add(step.seconds);
    if (run.onDevices())
      figures.enqueue.add(sw_step_enqueue_seconds(run.step()));
    if (progress)
      progress->report(step);
    deadline.after(run.step());
  }
  figures.wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun)
          .count();
  progress.reset();
  run.finish();
  if (sw_interrupted() && !run.saves())
    return 128 + SIGTERM; // The work of the run is lost.
  if (sw_interrupted() && launch.isMain())
    print("interrupted after step " + std::to_string(run.done()) +
          ", which is saved; --resume goes on");
  run.writeFiles();
  printFigures(options, launch, run, figures);
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

/// The number of ranks to start here as processes. All if --processes is given.
/// Also all if ranks on GPUs have collectives (such ranks may share a GPU only
/// as processes), unless a launcher or a flag connects processes. Else 0.
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
  Ranks ranks(options.run.artifact);
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
    devices = Ranks(options.run.artifact).devices;
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
      options.run.deadline > 0 ? std::min(1.0, options.run.deadline / 2) : 1.0;
  return runChildren(ranks, grace, print);
}

/// Connects to the other processes; returns false if a rendezvous fails. The
/// error has then been printed: by rank 0, and by others if rank 0 cannot know
/// it. Other errors are thrown.
bool join(const Options &options, std::optional<Launch> &launch) {
  std::optional<RendezvousPoint> at = rendezvous(options);
  Owned<sw_program> program(nullptr, sw_unload);
  if (at)
    program.reset(sw_inspect(options.run.artifact.c_str()));
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

/// Runs under the supervisor; the deadline is how long a run may be stopped
/// (SIGSTOP) before it counts as failed.
int supervised(const Options &options, int argc, char **argv) {
  check(options.run);
  std::vector<std::string> command = withoutSupervisor({argv + 1, argv + argc});
  command.insert(command.begin(),
                 std::filesystem::read_symlink("/proc/self/exe").string());
  return supervise(
      options.supervisor, command, options.run.training.checkpoints,
      options.run.deadline > 0 ? options.run.deadline : Deadline::minimum,
      print);
}

} // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): from streams, or out of memory
int main(int argc, char **argv) {
  // pp-run starts itself with this flag, for --source=LIBRARY.so.
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
