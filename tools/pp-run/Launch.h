//===- Launch.h - the processes of a launch ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// pp-run alone has all ranks as threads; started by mpirun, srun or another
// launcher it is one of several processes, each with a rank. One of them speaks
// for all.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TOOLS_PP_RUN_LAUNCH_H
#define STAGEWRIGHT_TOOLS_PP_RUN_LAUNCH_H

#include "Error.h"
#include "Meeting.h"
#include "Tensors.h"

#include <optional>
#include <string>

/// An error that all processes have heard.
class Agreed : public stagewright::runtime::Error {
  using Error::Error;
};

class Launch {
public:
  /// Joins the others at the meeting; else if `transport` is "mpi", or empty
  /// and the environment is that of a launcher of MPI. `program` may be null.
  /// Throws `Agreed` where rank 0 reports what is wrong.
  Launch(const std::string &transport, const std::optional<Meeting> &meeting,
         const sw_program *program);
  ~Launch();
  Launch(const Launch &) = delete;
  Launch &operator=(const Launch &) = delete;

  /// Steps begin: what fails from now on is a fault.
  void begin() { hasBegun = true; }
  bool begun() const { return hasBegun; }
  /// Whether there are others.
  bool joined() const { return isJoined; }
  /// Whether this process prints and writes.
  bool speaks() const { return !isJoined || sw_process() == 0; }

  /// Runs what every process does alone; throws `Agreed` in all of them if it
  /// throws in one.
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
      throw Agreed(sw_error());
  }
  /// Throws what the last failed call left, which all processes have heard.
  [[noreturn]] void raiseEverywhere() const;

private:
  bool isJoined = false, hasBegun = false;
};

#endif // STAGEWRIGHT_TOOLS_PP_RUN_LAUNCH_H
