//===- Launchers.cpp - the environment of a launcher ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Runtime/Launch.h"

#include "stagewright/Support/ParseNumber.h"

#include <cstdlib>

namespace stagewright::runtime {

namespace {

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

int64_t parse(const std::string &name, const std::string &text) {
  std::optional<int64_t> number = stagewright::parseNumber(text);
  if (!number)
    raise(name, " is '", text, "', expected a number");
  return *number;
}

/// The variables in which a launcher puts ranks.
struct Launcher {
  const char *rank, *ranks;
  bool isMpi;
};

/// Inner launchers come first: torchrun may run under srun or mpirun. srun is
/// detected by SLURM_STEP_NUM_TASKS, because SLURM_NTASKS is also set in sbatch
/// scripts, where a process is alone.
constexpr Launcher launchers[] = {
    {"RANK", "WORLD_SIZE", false},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
    {"PMI_RANK", "PMI_SIZE", true},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", true},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false}};

bool isTorchrun() {
  for (const char *name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    if (variable(name).empty())
      return false;
  return true;
}

/// RANK and WORLD_SIZE are common names, so they alone do not show a launcher.
const Launcher *findLauncher(bool hasAddress) {
  for (const Launcher &it : launchers) {
    bool isNamed = it.rank != launchers[0].rank || hasAddress || isTorchrun();
    if (isNamed && !variable(it.rank).empty() && !variable(it.ranks).empty())
      return &it;
  }
  return nullptr;
}

/// Parses "HOST:PORT" or "[IPv6 ADDRESS]:PORT".
void parseAddress(const std::string &text, RendezvousPoint &rendezvous) {
  size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0)
    raise("--rendezvous is '", text,
          "', expected the host of rank 0 and a free port there, as in "
          "node01:29500");
  rendezvous.host = text.substr(0, colon);
  rendezvous.port = parse("the port of --rendezvous", text.substr(colon + 1));
  if (rendezvous.host.front() == '[' && rendezvous.host.back() == ']')
    rendezvous.host = rendezvous.host.substr(1, rendezvous.host.size() - 2);
}

/// A port for each step of a Slurm job, in a range that is below the ephemeral
/// ports of Linux (ip_local_port_range begins at 32768).
int64_t portOfJob() {
  int64_t job = parse("SLURM_JOB_ID", variable("SLURM_JOB_ID"));
  std::string step = variable("SLURM_STEP_ID");
  int64_t number = step.empty() ? 0 : parse("SLURM_STEP_ID", step);
  return 20000 + (job * 7 + number) % 10000;
}

/// The first host of a list in Slurm's notation: "gpu03" for
/// "gpu[03-07,9],login".
std::string firstHost(const std::string &list) {
  size_t end = list.find_first_of("[,");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',')
    return host;
  size_t close = list.find(']', end);
  std::string range = list.substr(end + 1, close - end - 1);
  host += range.substr(0, range.find_first_of("-,"));
  if (close == std::string::npos)
    return host;
  std::string rest = list.substr(close + 1); // "rack[1-2]-gpu[3-4]", or ",..."
  return rest.starts_with(',') ? host : host + firstHost(rest);
}

/// Finds the address of rank 0; returns false if there is none.
bool findAddress(const std::string &given, RendezvousPoint &rendezvous) {
  if (!given.empty()) {
    parseAddress(given, rendezvous);
    return true;
  }
  std::string host = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (!host.empty() && !port.empty()) {
    rendezvous.host = host;
    rendezvous.port = parse("MASTER_PORT", port);
    // In this case torchrun's agent itself listens on MASTER_PORT.
    if (variable("TORCHELASTIC_USE_AGENT_STORE") == "True")
      ++rendezvous.port;
    return true;
  }
  std::string hosts = variable("SLURM_STEP_NODELIST");
  // Under mpirun in a Slurm job, only some hosts have srun's variables.
  if (hosts.empty() || variable("SLURM_JOB_ID").empty() || launchedByMpi())
    return false;
  rendezvous.host = firstHost(hosts);
  rendezvous.port = portOfJob();
  return true;
}

int64_t numberOf(const std::optional<int64_t> &given, const Launcher *launcher,
                 const char *Launcher::*which, const char *option) {
  if (given)
    return *given;
  if (!launcher)
    raise("the ",
          which == &Launcher::rank ? "rank of this process" : "number of ranks",
          " is not given; give ", option,
          ", or start the ranks by torchrun, srun or mpirun, which set it");
  return parse(launcher->*which, variable(launcher->*which));
}

} // namespace

std::optional<RendezvousPoint> findRendezvous(const RendezvousOptions &options,
                                              bool devices) {
  if (!(options.seconds > 0 && options.seconds < 1e6))
    raise("--rendezvous-timeout is ", options.seconds,
          ", expected more than 0 and less than 1000000 seconds");
  RendezvousPoint rendezvous;
  rendezvous.seconds = options.seconds;
  bool asked = options.asked();
  // Ranks on CPUs would each run the whole step; Launch refuses that later.
  if (!asked && !devices && !(isTorchrun() && !launchedByMpi()))
    return std::nullopt;
  if (!findAddress(options.address, rendezvous)) {
    if (asked)
      raise("the address of rank 0 is not given; give its host and a free port "
            "there with --rendezvous=HOST:PORT");
    return std::nullopt;
  }
  const Launcher *launcher = findLauncher(true);
  if (!asked && !launcher)
    return std::nullopt; // In a job, but the only process.
  rendezvous.rank = numberOf(options.rank, launcher, &Launcher::rank, "--rank");
  rendezvous.ranks =
      numberOf(options.ranks, launcher, &Launcher::ranks, "--ranks");
  if (!asked && rendezvous.ranks == 1)
    return std::nullopt;
  return rendezvous;
}

std::optional<int64_t> launcherRank() {
  if (const Launcher *launcher = findLauncher(false))
    return std::atoll(variable(launcher->rank).c_str());
  if (std::string rank = variable("PMIX_RANK"); !rank.empty())
    return std::atoll(rank.c_str());
  return std::nullopt;
}

bool launchedByMpi() {
  for (const Launcher &it : launchers)
    if (it.isMpi && !variable(it.rank).empty())
      return true;
  return false;
}

void requireAlone() {
  std::string tasks = variable("SLURM_STEP_NUM_TASKS");
  if (!tasks.empty() && parse("SLURM_STEP_NUM_TASKS", tasks) > 1)
    raise("srun started ", tasks,
          " processes that cannot find each other; start them with srun "
          "--mpi=pmix, or one with --ntasks=1");
}

} // namespace stagewright::runtime
