//===- Launch.h - the processes of a launch ---------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that is started alone runs all ranks as threads. Started by a
// launcher, it is one of several processes, each with one rank, and one process
// prints and writes for all. Launchers are torchrun
// (docs.pytorch.org/docs/stable/elastic/run.html), srun
// (slurm.schedmd.com/srun.html), and the mpirun of Open MPI, MPICH and Intel,
// recognized by the environment variables that they set. Ranks on GPUs only
// need their numbers and the address of rank 0.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_RUNTIME_LAUNCH_H
#define STAGEWRIGHT_RUNTIME_LAUNCH_H

#include "stagewright-rt/runtime.h"
#include "stagewright/Runtime/Error.h"

#include <optional>
#include <string>

namespace stagewright::runtime {

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
  double seconds = 60; ///< to wait for all to connect

  bool asked() const { return !address.empty() || rank || ranks; }
};

/// From the options, else from the environment. Returns nullopt if this process
/// is alone, or if MPI connects it to others: MPI connects ranks on CPUs unless
/// torchrun started them, and ranks on GPUs (`devices`) if no address is given.
/// Throws `Error` if something is missing or malformed.
std::optional<RendezvousPoint> findRendezvous(const RendezvousOptions &options,
                                              bool devices);

/// The rank that a launcher gave this process; nullopt without a launcher. Only
/// reads the environment, so it works before options are parsed.
std::optional<int64_t> launcherRank();

/// Whether mpirun, or srun with MPI support, started this process.
bool launchedByMpi();

/// Throws if srun started several processes without MPI support.
void requireAlone();

/// An error that all processes have received.
class AgreedError : public Error {
  using Error::Error;
};

/// Throws the error that the last failed call of the C ABI left in `sw_error`.
[[noreturn]] void raiseLastError();

/// The group of this process, for its lifetime.
class Launch {
public:
  /// Without other processes. If `joined`, with those to which the program has
  /// connected by `sw_connect` or `sw_connect_at`; the program also
  /// disconnects.
  explicit Launch(bool joined = false) : isJoined(joined) {}
  /// Connects to the others: at `rendezvous` if given, else by `transport`, or
  /// by MPI if that is empty and the environment is that of an MPI launcher.
  /// `program` may be null. Throws `AgreedError` if rank 0 reports the error.
  Launch(const std::string &transport,
         const std::optional<RendezvousPoint> &rendezvous,
         const sw_program *program);
  ~Launch();
  Launch(const char *) = delete; ///< A text must not become `joined`.
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
  /// throws in one. All processes must make this call; after `step`, if it is
  /// given, within its deadline.
  template <typename Body>
  void together(Body body, const sw_step *step = nullptr) const {
    std::string error;
    try {
      body();
    } catch (const std::exception &problem) {
      if (!isJoined)
        throw;
      error = *problem.what() ? problem.what() : "unknown error";
    }
    if (isJoined && (step ? sw_step_agree(step, error.c_str())
                          : sw_agree(error.c_str())) != 0)
      throw AgreedError(sw_error());
  }
  /// Throws the error of the last failed call, which all processes have
  /// received.
  [[noreturn]] void raiseEverywhere() const;

private:
  bool isJoined = false, hasBegun = false, hasConnected = false;
};

} // namespace stagewright::runtime

#endif // STAGEWRIGHT_RUNTIME_LAUNCH_H
