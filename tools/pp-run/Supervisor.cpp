//===- Supervisor.cpp - restarts a run after a fault ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Supervisor.h"

#include "Faults/StallTimer.h"
#include "Launch.h"
#include "Recording/Recorder.h"
#include "Training/Checkpoint.h"
#include "stagewright/Runtime/Error.h"

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

using namespace stagewright::runtime;

namespace {

constexpr const char *restartsOption = "--max-restarts";
constexpr const char *launcherOption = "--launcher";
/// Seconds before the first restart. The pause doubles before each later
/// restart without a new checkpoint, up to the second value.
constexpr double firstPause = 0.5, longestPause = 30;
/// Seconds that a launcher has to end its processes.
constexpr double launcherGrace = 5;

/// The arguments without the options of the supervisor.
std::vector<std::string> forTheRun(const std::vector<std::string> &given) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < given.size(); ++i) {
    bool ours = false;
    for (std::string option : {restartsOption, launcherOption}) {
      if (given[i] == option)
        ++i, ours = true;
      else if (given[i].starts_with(option + "="))
        ours = true;
      if (ours)
        break;
    }
    if (!ours)
      kept.push_back(given[i]);
  }
  return kept;
}

class Supervisor {
public:
  Supervisor(const SupervisorOptions &options, std::string checkpoints,
             double stopTimeout)
      : options(options), checkpoints(std::move(checkpoints)),
        stopTimeout(stopTimeout) {
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
  std::cerr << "pp-run: error: cannot start '" << words[0]
            << "': " << std::strerror(errno) << std::endl;
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
    std::cerr << "pp-run: the run " << describe();
    if (restart == maxRestarts) {
      std::cerr << (maxRestarts ? "; all restarts are used up" : "")
                << std::endl;
      return faultStatus;
    }
    std::optional<int64_t> step = lastStep();
    next = step != from ? firstPause : next;
    from = step;
    std::cerr << "; restart " << restart + 1 << " of " << maxRestarts << " in "
              << next << " s from "
              << (step ? "step " + std::to_string(*step) : "the beginning")
              << std::endl;
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

void declareSupervisor(CLI::App &app, SupervisorOptions &options) {
  const char *group = "Faults";
  app.add_option(restartsOption, options.restarts,
                 "Max restarts after a fault, each from the last checkpoint")
      ->type_name("N")
      ->group(group);
  app.add_option(launcherOption, options.launcher,
                 "Start the run with this command, as 'mpirun -n 4', and "
                 "forward SIGTERM and SIGINT to all its processes")
      ->type_name("COMMAND")
      ->group(group);
}

int supervise(const SupervisorOptions &options,
              const std::vector<std::string> &arguments,
              const std::string &checkpoints, double stopTimeout) {
  if (options.restarts.value_or(0) < 0)
    raise(restartsOption, " is ", *options.restarts, ", expected at least 0");
  if (launcherRank())
    raise(restartsOption, " and ", launcherOption,
          " are for the process that starts the ranks; instead of mpirun give "
          "pp-run ",
          launcherOption, "='mpirun -n ...'");
  if (options.restarts.value_or(0) > 0 && checkpoints.empty())
    raise(restartsOption, " needs --checkpoints=FOLDER");
  std::vector<std::string> command;
  std::istringstream words(options.launcher);
  for (std::string word; words >> word;)
    command.push_back(word);
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  for (std::string &argument : forTheRun(arguments))
    command.push_back(std::move(argument));
  return Supervisor(options, checkpoints, stopTimeout).run(std::move(command));
}
