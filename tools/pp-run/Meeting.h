//===- Meeting.h - where a launcher's processes meet ------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What launchers say to the processes that they start, by variables of the
// environment: torchrun (docs.pytorch.org/docs/stable/elastic/run.html), srun
// (slurm.schedmd.com/srun.html), and the mpirun of Open MPI, MPICH and Intel.
// Ranks on GPUs need no more than a number each and the address of rank 0.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_MEETING_H
#define STAGEWRIGHT_TOOLS_PP_RUN_MEETING_H

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

/// Where processes meet, and who this one is.
struct Meeting {
  std::string host; ///< of rank 0
  int64_t port = 0;
  int64_t rank = 0, ranks = 1;
  double seconds = 60; ///< that each waits for all to come
};

struct MeetingOptions {
  std::string address; ///< "HOST:PORT"
  std::optional<int64_t> rank, ranks;
  double seconds = 60;

  bool asked() const { return !address.empty() || rank || ranks; }
};

void declareMeeting(CLI::App &app, MeetingOptions &options);

/// By the options, else by the environment. Null where this process is alone,
/// or MPI brings it together with others: for ranks on processors always, and
/// on GPUs where nobody gives an address. Throws `Error` where something is
/// missing or malformed.
std::optional<Meeting> findMeeting(const MeetingOptions &options, bool devices);

/// The number that a launcher gave this process; null without one. Reads
/// nothing else, so it serves before there are options.
std::optional<int64_t> numberByLauncher();

/// Whether mpirun, or srun with an interface to MPI, started this process.
bool launchedByMpi();

/// Throws where srun started several processes that do not know each other.
void requireAlone();

/// The first host of a list as Slurm writes it: "gpu[03-07,9],login" has
/// "gpu03".
std::string firstHost(const std::string &list);

#endif // STAGEWRIGHT_TOOLS_PP_RUN_MEETING_H
