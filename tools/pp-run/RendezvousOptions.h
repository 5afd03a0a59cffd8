//===- RendezvousOptions.h - finding the processes of a launcher *- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The environment variables that launchers set for the processes they start:
// torchrun (docs.pytorch.org/docs/stable/elastic/run.html), srun
// (slurm.schedmd.com/srun.html), and the mpirun of Open MPI, MPICH and Intel.
// Ranks on GPUs only need their numbers and the address of rank 0.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_RENDEZVOUSOPTIONS_H
#define STAGEWRIGHT_TOOLS_PP_RUN_RENDEZVOUSOPTIONS_H

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

/// Where processes connect to rank 0, and which rank this one is.
struct RendezvousPoint {
  std::string host; ///< of rank 0
  int64_t port = 0;
  int64_t rank = 0, ranks = 1;
  double seconds = 60; ///< to wait for all to connect
};

struct RendezvousOptions {
  std::string address; ///< "HOST:PORT"
  std::optional<int64_t> rank, ranks;
  double seconds = 60;

  bool asked() const { return !address.empty() || rank || ranks; }
};

void declareRendezvous(CLI::App &app, RendezvousOptions &options);

/// From the options, else from the environment. Returns nullopt if this process
/// is alone, or if MPI connects it to others: for ranks on CPUs unless torchrun
/// started them, and on GPUs if no address is given. Throws `Error` if
/// something is missing or malformed.
std::optional<RendezvousPoint> findRendezvous(const RendezvousOptions &options,
                                              bool devices);

/// The rank that a launcher gave this process; nullopt without a launcher. Only
/// reads the environment, so it works before options are parsed.
std::optional<int64_t> launcherRank();

/// Whether mpirun, or srun with MPI support, started this process.
bool launchedByMpi();

/// Throws if srun started several processes without MPI support.
void requireAlone();

/// The first host of a list in Slurm's notation: "gpu03" for
/// "gpu[03-07,9],login".
std::string firstHost(const std::string &list);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_RENDEZVOUSOPTIONS_H
