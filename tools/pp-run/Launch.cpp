//===- Launch.cpp - the processes of a launch -----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"

#include <cstdlib>

using namespace stagewright::runtime;

namespace {

std::optional<int64_t> number(const char *variable) {
  const char *text = std::getenv(variable);
  return text && *text ? std::optional(std::strtoll(text, nullptr, 10))
                       : std::nullopt;
}

/// Of Open MPI's mpirun, and of srun with either interface that MPI starts by.
constexpr const char *numbers[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                   "PMI_RANK"};

} // namespace

std::optional<int64_t> numberByLauncher() {
  for (const char *variable : numbers)
    if (auto found = number(variable))
      return found;
  return std::nullopt;
}

Launch::Launch(const std::string &transport) {
  if (transport == "threads")
    return;
  bool launched = numberByLauncher().has_value();
  // Without an interface to MPI, each would run the whole step for itself.
  if (transport.empty() && !launched &&
      number("SLURM_STEP_NUM_TASKS").value_or(1) > 1)
    raise("srun started ", *number("SLURM_STEP_NUM_TASKS"),
          " processes that cannot find each other; start them with srun "
          "--mpi=pmix, or one with --ntasks=1");
  if (transport.empty() && !launched)
    return;
  if (sw_connect(transport.empty() ? "mpi" : transport.c_str()) != 0)
    raiseLastError();
  isJoined = true;
}

Launch::~Launch() {
  if (isJoined)
    sw_disconnect();
}

void Launch::raiseEverywhere() const {
  if (isJoined)
    throw Agreed(sw_error());
  raiseLastError();
}
