//===- Supervisor.cpp - restarts a run after a fault ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Runtime/Supervision.h"

#include "Faults/StallTimer.h"
#include "Recording/Recorder.h"
#include "Training/Checkpoint.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Launch.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

/// Seconds before the first restart. The pause doubles before each later
/// restart without a new checkpoint, up to the second value.
constexpr double firstPause = 0.5, longestPause = 30;
/// Seconds that a launcher has to end its processes.
constexpr double launcherGrace = 5;

class Supervisor {
public:
  Supervisor(const SupervisorOptions &options, std::string checkpoints,
             double stopTimeout, PrintLine print)
      : options(options), checkpoints(std::move(checkpoints)),
        stopTimeout(stopTimeout), print(print) {
    sigemptyset(&watched);
    for (int number : {SIGTERM, SIGINT, SIGCHLD})
      sigaddset(&watched, number);
    sigprocmask(SIG_BLOCK, &watched, &before);
    // Descendants that a launcher leaves behind become children of this
    // process.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  int run(std::vector<std::string> command);

private:
  void start(const std::vector<std::string> &command);
  void wait();
  void lookForChanges(StallTimer &stopped);
  void end();
  void endDescendants();
  void forward(int number);
  bool pause(double seconds);
  bool failed() const;
  std::string describe() const;
  std::optional<int64_t> lastStep() const;

  const SupervisorOptions &options;
  std::string checkpoints;
  double stopTimeout;
  PrintLine print;
  sigset_t watched = {}, before = {};
  pid_t process = 0;
  int status = 0;
  bool over = false, isStopped = false, hung = false, interrupted = false;
};

void Supervisor::start(const std::vector<std::string> &command) {
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  over = isStopped = hung = false;
  std::cout.flush();
  pid_t parent = getpid();
  process = fork();
  if (process < 0)
    raise("cannot start a process: ", std::strerror(errno));
  if (process > 0)
    return;
  // A launcher must have time to end its own processes.
  prctl(PR_SET_PDEATHSIG, options.launcher.empty() ? SIGKILL : SIGTERM);
  if (getppid() != parent)
    std::_Exit(faultStatus);
  setpgid(0, 0); // The supervisor forwards a terminal's signals.
  sigprocmask(SIG_SETMASK, &before, nullptr);
  execvp(words[0], words.data());
  print(std::string("error: cannot start '") + words[0] +
        "': " + std::strerror(errno));
  std::_Exit(1);
}

/// On SIGTERM and SIGINT mpirun kills its processes, but it forwards SIGUSR1.
void Supervisor::forward(int number) {
  interrupted = true;
  kill(process, options.launcher.empty() ? number : SIGUSR1);
}

void Supervisor::lookForChanges(StallTimer &stopped) {
  int found = 0;
  pid_t who = 0;
  while ((who = waitpid(-1, &found, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
    if (who != process)
      continue;
    isStopped = WIFSTOPPED(found);
    if (isStopped)
      stopped.reset(now());
    if (WIFEXITED(found) || WIFSIGNALED(found))
      status = found, over = true;
  }
}

void Supervisor::wait() {
  StallTimer stopped;
  while (!over) {
    timespec nap = {0, 100'000'000};
    int number = sigtimedwait(&watched, nullptr, &nap);
    if (number == SIGTERM || number == SIGINT)
      forward(number);
    lookForChanges(stopped);
    if (isStopped && !over)
      stopped.tick(now());
    if (isStopped && stopped.seconds() > stopTimeout) {
      hung = true;
      end();
    }
  }
  endDescendants();
}

/// Ends a run that has been stopped for too long.
void Supervisor::end() {
  StallTimer waiting;
  kill(process, options.launcher.empty() ? SIGKILL : SIGTERM);
  kill(process, SIGCONT);
  for (isStopped = false; !over; waiting.tick(now())) {
    timespec nap = {0, 20'000'000};
    sigtimedwait(&watched, nullptr, &nap);
    StallTimer unused;
    lookForChanges(unused);
    if (waiting.seconds() > launcherGrace)
      kill(process, SIGKILL);
  }
}

/// Kills all remaining descendants, which could still write into the folder.
void Supervisor::endDescendants() {
  std::string self = std::to_string(getpid());
  for (;;) {
    std::ifstream list("/proc/" + self + "/task/" + self + "/children");
    for (pid_t child; list >> child;)
      kill(child, SIGKILL);
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD)
      return;
  }
}

bool Supervisor::failed() const {
  return hung || WIFSIGNALED(status) ||
         (WIFEXITED(status) && WEXITSTATUS(status) > 1);
}

std::string Supervisor::describe() const {
  if (hung)
    return "was stopped for " + std::to_string(int(stopTimeout)) + " s";
  if (WIFSIGNALED(status))
    return std::string("died: ") + strsignal(WTERMSIG(status));
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

std::optional<int64_t> Supervisor::lastStep() const {
  return checkpoints.empty() ? std::nullopt : newestStep(checkpoints);
}

/// Returns false if a signal asks to end during the pause.
bool Supervisor::pause(double seconds) {
  for (int64_t until = now() + int64_t(seconds * 1e9); now() < until;) {
    timespec nap = {0, 50'000'000};
    int number = sigtimedwait(&watched, nullptr, &nap);
    if (number == SIGTERM || number == SIGINT)
      return false;
  }
  return true;
}

int Supervisor::run(std::vector<std::string> command) {
  bool resumes =
      std::find(command.begin(), command.end(), "--resume") != command.end();
  double next = firstPause;
  std::optional<int64_t> from = lastStep();
  int64_t maxRestarts = options.restarts.value_or(0);
  for (int64_t restart = 0;; ++restart) {
    start(command);
    wait();
    if (!failed() || interrupted)
      return hung || WIFSIGNALED(status) ? faultStatus : WEXITSTATUS(status);
    std::string fault = "the run " + describe();
    if (restart == maxRestarts) {
      print(fault + (maxRestarts ? "; all restarts are used up" : ""));
      return faultStatus;
    }
    std::optional<int64_t> step = lastStep();
    next = step != from ? firstPause : next;
    from = step;
    print(fault + "; restart " + std::to_string(restart + 1) + " of " +
          std::to_string(maxRestarts) + " in " + printSeconds(next) + " from " +
          (step ? "step " + std::to_string(*step) : "the beginning"));
    if (!pause(next))
      return faultStatus;
    next = std::min(2 * next, longestPause);
    unsetenv("STAGEWRIGHT_INJECT"); // An injected fault occurs only once.
    if (step && !resumes) {
      command.emplace_back("--resume");
      resumes = true;
    }
  }
}

} // namespace

int supervise(const SupervisorOptions &options,
              std::vector<std::string> command, const std::string &checkpoints,
              double stopTimeout, PrintLine print) {
  if (options.restarts.value_or(0) < 0)
    raise("--max-restarts is ", *options.restarts, ", expected at least 0");
  if (launcherRank())
    raise("--max-restarts and --launcher are for the process that starts the "
          "ranks; instead of mpirun give pp-run --launcher='mpirun -n ...'");
  if (options.restarts.value_or(0) > 0 && checkpoints.empty())
    raise("--max-restarts needs --checkpoints=FOLDER");
  std::vector<std::string> words;
  std::istringstream launcher(options.launcher);
  for (std::string word; launcher >> word;)
    words.push_back(word);
  command.insert(command.begin(), words.begin(), words.end());
  return Supervisor(options, checkpoints, stopTimeout, print)
      .run(std::move(command));
}

} // namespace stagewright::runtime
