//===- ChildProcesses.cpp - a process for every rank ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Runtime/Supervision.h"

#include "Processes/Sockets.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace stagewright::runtime {

namespace {

void require(int result, const char *what) {
  if (result < 0)
    raise("cannot ", what, ": ", std::strerror(errno));
}

struct Child {
  pid_t process = 0;
  int ending = -1;        ///< pidfd; readable when the process has ended
  int errorPipe = -1;     ///< pipe for its error; -1: closed
  std::string errorBytes; ///< read so far: time and error; see Sockets::abort
  int status = 0;         ///< from waitpid
  bool ended = false, killed = false; ///< killed by us

  bool hasError() const { return errorBytes.size() > sizeof(int64_t); }
  int64_t when() const {
    int64_t time = 0;
    std::memcpy(&time, errorBytes.data(), sizeof(time));
    return time;
  }
  std::string error() const { return errorBytes.substr(sizeof(int64_t)); }
  bool died() const { return ended && WIFSIGNALED(status) && !killed; }
  bool failed() const {
    return ended && (WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
  }
};

class ChildProcesses {
public:
  explicit ChildProcesses(int64_t count)
      : children(size_t(count)), sockets(size_t(count)) {}

  /// Starts the children. Returns true in a child, false in the parent.
  bool start();
  int waitForAll(double grace, PrintLine print);

private:
  void becomeChild(size_t number, pid_t parent);
  void pollChildren(int milliseconds);
  void read(Child &child);
  void endOthers();
  void forwardSignal();
  const Child *firstError() const;
  std::string cause() const;
  int status() const;

  std::vector<Child> children;
  std::vector<std::vector<int>> sockets; ///< by child and peer
  std::vector<int> pipes;                ///< by child: its end of the pipe
};

bool ChildProcesses::start() {
  size_t count = children.size();
  for (auto &row : sockets)
    row.assign(count, -1);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = a + 1; b < count; ++b) {
      int ends[2];
      require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
              "make a socket between two processes");
      sockets[a][b] = ends[0], sockets[b][a] = ends[1];
    }
    int ends[2];
    require(pipe2(ends, O_CLOEXEC), "make a pipe to a process");
    children[a].errorPipe = ends[0];
    pipes.push_back(ends[1]);
  }
  std::cout.flush(); // Else children would print the buffer too.
  pid_t parent = getpid();
  for (size_t number = 0; number < count; ++number) {
    Child &child = children[number];
    child.process = fork();
    require(child.process, "start a process");
    if (child.process == 0) {
      becomeChild(number, parent);
      return true;
    }
    child.ending = int(syscall(SYS_pidfd_open, child.process, 0));
    require(child.ending, "open a descriptor of a process");
  }
  for (auto &row : sockets)
    for (int socket : row)
      close(socket);
  for (int pipe : pipes)
    close(pipe);
  return false;
}

/// In a child: arranges that it dies with its parent, and closes the sockets of
/// the others: while a copy is open, the death of its owner is not noticed.
void ChildProcesses::becomeChild(size_t number, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    std::_Exit(1);
  std::string place =
      std::to_string(number) + "," + std::to_string(pipes[number]);
  for (size_t other = 0; other < children.size(); ++other) {
    place += "," + std::to_string(sockets[number][other]);
    close(children[other].errorPipe);
    if (other == number)
      continue;
    close(pipes[other]);
    for (int socket : sockets[other])
      close(socket);
  }
  for (size_t other = 0; other < number; ++other)
    close(children[other].ending);
  setenv(socketsVariable, place.c_str(), 1);
}

void ChildProcesses::read(Child &child) {
  char text[4096];
  ssize_t size = ::read(child.errorPipe, text, sizeof(text));
  if (size > 0) {
    child.errorBytes.append(text, size_t(size));
  } else if (size == 0 || errno != EINTR) {
    close(child.errorPipe);
    child.errorPipe = -1;
  }
}

/// Waits until a child writes or ends, or for `milliseconds`; -1: no timeout.
void ChildProcesses::pollChildren(int milliseconds) {
  std::vector<pollfd> entries;
  for (const Child &child : children) {
    entries.push_back({child.ended ? -1 : child.ending, POLLIN, 0});
    entries.push_back({child.errorPipe, POLLIN, 0});
  }
  if (poll(entries.data(), nfds_t(entries.size()), milliseconds) <= 0)
    return;
  for (size_t i = 0; i < children.size(); ++i) {
    Child &child = children[i];
    if (entries[2 * i].revents)
      child.ended = waitpid(child.process, &child.status, 0) == child.process;
    if (entries[2 * i + 1].revents)
      read(child);
  }
}

void ChildProcesses::endOthers() {
  for (Child &child : children)
    if (!child.ended && !child.killed) {
      child.killed = true;
      kill(child.process, SIGKILL);
    }
}

/// The child whose error came first by the clock; null if none has one.
const Child *ChildProcesses::firstError() const {
  const Child *first = nullptr;
  for (const Child &child : children)
    if (child.hasError() && (!first || child.when() < first->when()))
      first = &child;
  return first;
}

/// The error to print: children that died by a signal, then the error that came
/// first by the clock (it makes others fail, whose errors may be read earlier),
/// then children that were killed because they did not answer. Empty if the
/// children have printed the error.
std::string ChildProcesses::cause() const {
  auto name = [this](size_t i) {
    return "the process of rank " + std::to_string(i) + " (" +
           std::to_string(children[i].process) + ")";
  };
  std::vector<std::string> parts;
  for (size_t i = 0; i < children.size(); ++i)
    if (children[i].died())
      parts.push_back(name(i) +
                      " died: " + strsignal(WTERMSIG(children[i].status)));
  if (const Child *first = firstError())
    parts.push_back(first->error());
  for (size_t i = 0; i < children.size(); ++i)
    if (children[i].killed && !children[i].hasError())
      parts.push_back(name(i) + " did not answer");
  std::string text;
  for (const std::string &part : parts)
    text += (text.empty() ? "" : "; ") + part;
  return text;
}

/// The exit status after a failure: a fault if a child died by a signal, unless
/// it was killed here; else that of the child with the first error; or, if no
/// child has sent an error, a fault if one was killed here, else the max of all
/// statuses. So an error in the user's input, which would occur again after a
/// restart, does not count as a fault.
int ChildProcesses::status() const {
  const Child *first = firstError();
  int result = 0;
  for (const Child &child : children) {
    if (child.died() || (child.killed && !first))
      return faultStatus;
    if (child.failed() && !child.killed && (!first || first == &child))
      result = std::max(result, WEXITSTATUS(child.status));
  }
  return result == 0 ? faultStatus : result;
}

volatile std::sig_atomic_t requestedBy = 0;

/// Forwards a SIGTERM or SIGINT, a request to end cleanly, to the children.
void ChildProcesses::forwardSignal() {
  if (int number = requestedBy) {
    requestedBy = 0;
    for (const Child &child : children)
      if (!child.ended)
        kill(child.process, number);
  }
}

int ChildProcesses::waitForAll(double grace, PrintLine print) {
  for (int number : {SIGTERM, SIGINT})
    std::signal(number, [](int which) { requestedBy = which; });
  auto open = [](const Child &child) { return !child.ended; };
  auto wrong = [](const Child &child) {
    return child.failed() || !child.errorBytes.empty();
  };
  int64_t failure = 0;
  while (std::any_of(children.begin(), children.end(), open)) {
    if (failure == 0) {
      forwardSignal();
      pollChildren(1000);
      if (std::any_of(children.begin(), children.end(), wrong))
        failure = now();
      continue;
    }
    double left = grace - double(now() - failure) * 1e-9;
    if (left <= 0)
      endOthers();
    pollChildren(left > 0 ? int(left * 1e3) + 1 : 1000);
  }
  for (Child &child : children)
    while (child.errorPipe >= 0)
      read(child);
  if (std::string error = cause(); !error.empty())
    print("error: " + error);
  return failure ? status() : 0;
}

} // namespace

std::optional<int> runChildren(int64_t count, double grace, PrintLine print) {
  ChildProcesses processes(count);
  if (processes.start())
    return std::nullopt;
  return processes.waitForAll(grace, print);
}

} // namespace stagewright::runtime
