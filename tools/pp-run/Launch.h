//===- Launch.h - the processes of a launch ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pp-run alone runs all ranks as threads. Started by mpirun, srun or another
// launcher, it is one of several processes, each with one rank. One process
// prints and writes for all.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_LAUNCH_H
#define STAGEWRIGHT_TOOLS_PP_RUN_LAUNCH_H

#include "RendezvousOptions.h"
#include "Tensors.h"
#include "stagewright/Runtime/Error.h"

#include <optional>
#include <string>

/// An error that all processes have received.
class AgreedError : public stagewright::runtime::Error {
  using Error::Error;
};

class Launch {
public:
  /// Connects to the others: at `rendezvous` if given, else by `transport`, or
  /// by MPI if that is empty and the environment is that of an MPI launcher.
  /// `program` may be null. Throws `AgreedError` if rank 0 reports the error.
  Launch(const std::string &transport,
         const std::optional<RendezvousPoint> &rendezvous,
         const sw_program *program);
  ~Launch();
  Launch(const Launch &) = delete;
  Launch &operator=(const Launch &) = delete;

  /// Marks the start of the steps: later errors are faults of the run.
  void begin() { hasBegun = true; }
  bool begun() const { return hasBegun; }
  /// Whether there are other processes.
  bool joined() const { return isJoined; }
  /// Whether this process prints and writes.
  bool isMain() const { return !isJoined || sw_process() == 0; }

  /// Runs `body` in this process; throws `AgreedError` in all processes if it
  /// throws in one. All processes must make this call.
  template <typename Body> void together(Body body) {
    std::string error;
    try {
      body();
    } catch (const std::exception &problem) {
      if (!isJoined)
        throw;
      error = problem.what();
    }
    if (isJoined && sw_agree(error.c_str()) != 0)
      throw AgreedError(sw_error());
  }
  /// Throws the error of the last failed call, which all processes have
  /// received.
  [[noreturn]] void raiseEverywhere() const;

private:
  bool isJoined = false, hasBegun = false;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_LAUNCH_H
