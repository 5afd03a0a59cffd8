//===- BatchSource.cpp - batches from another process ---------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/BatchSource.h"
#include "DType.h"
#include "stagewright/Runtime/Deadline.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

/// Limits on what a source may announce, which is allocated before it is read.
constexpr int64_t maxName = 4096, maxDimensions = 64, maxMessage = 1 << 16;
/// Seconds that a source has to end when the run does.
constexpr double graceSeconds = 1;

std::string print(sw_dtype dtype, const std::vector<int64_t> &shape) {
  return std::string(dtypeName(dtype)) + printShape(shape);
}

/// A command of ours: beside this program, in `bin` beside the folder of the
/// library that this code is in, or else in PATH.
std::string findCommand(const char *name) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders = {
      fs::read_symlink("/proc/self/exe").parent_path()};
  Dl_info here;
  if (dladdr(reinterpret_cast<const void *>(&parseSourceName), &here) != 0)
    folders.push_back(fs::path(here.dli_fname).parent_path() / "../bin");
  for (const fs::path &folder : folders)
    if (fs::path path = folder / name; access(path.c_str(), X_OK) == 0)
      return path.string();
  return name;
}

/// The command of a source: pp-run serves those in libraries.
std::vector<std::string> command(const std::string &what, uint64_t seed) {
  bool isPython = parseSourceName(what).isPython;
  return {findCommand(isPython ? "stagewright" : "pp-run"),
          isPython ? "source" : "--serve-source", what, std::to_string(seed)};
}

} // namespace

SourceName parseSourceName(const std::string &what) {
  size_t library = what.find(".so:"), python = what.find(".py:");
  if (python < library)
    return {true, {}, {}};
  if (library != std::string::npos)
    return {false, what.substr(0, library + 3), what.substr(library + 4)};
  if (!what.ends_with(".so"))
    raise("--source is '", what,
          "', expected FILE.py:NAME or LIBRARY.so[:TEXT]");
  return {false, what, {}};
}

Batch zeroBatch(const std::vector<SourceArgument> &arguments,
                int64_t microbatches) {
  Batch batch;
  for (const SourceArgument &it : arguments)
    batch.emplace_back(
        size_t(microbatches * tensorBytes(it.dtype, it.shape).value_or(0)));
  return batch;
}

BatchSource::BatchSource(const std::string &what, uint64_t seed,
                         std::vector<SourceArgument> arguments,
                         int64_t microbatches, double seconds)
    : what(what), arguments(std::move(arguments)), microbatches(microbatches),
      limit(seconds) {
  start(seed);
  try {
    if (receiveNumber() != 0)
      raiseMessage();
  } catch (const Error &error) {
    kill();
    raise("--source: '", what, "': ", error.what());
  }
}

void BatchSource::start(uint64_t seed) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    raise("--source: cannot make a socket: ", std::strerror(errno));
  socket = Socket(ends[0]);
  Socket theirs(ends[1]);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  // A process group of its own, so that Ctrl-C does not end the source: the run
  // ends only after its step, which needs the source.
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t none, all;
  sigemptyset(&none), sigfillset(&all);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP |
                                     POSIX_SPAWN_SETSIGMASK |
                                     POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setsigdefault(&how, &all);
  std::vector<std::string> words = command(what, seed);
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int error = posix_spawnp(&process, pointers[0], &files, &how, pointers.data(),
                           environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&how);
  if (error != 0)
    raise("--source: cannot start '", words[0], "': ", std::strerror(error),
          error == ENOENT ? "; install the Python package, whose command it is"
                          : "");
}

/// Whether the process ends within `seconds`.
bool BatchSource::ends(double seconds) {
  for (double waited = 0; process; waited += 0.005) {
    if (waitpid(process, &status, WNOHANG) == process)
      process = 0;
    else if (waited >= seconds)
      return false;
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void BatchSource::kill() {
  if (!process)
    return;
  ::kill(-process, SIGKILL); // With processes that it has started.
  waitpid(process, &status, 0);
  process = 0;
}

void BatchSource::stop() { shutdown(socket.get(), SHUT_RDWR); }

BatchSource::~BatchSource() {
  socket = Socket();
  if (!ends(graceSeconds))
    kill();
}

void BatchSource::receive(void *data, size_t bytes) {
  if (receiveAll(socket.get(), data, bytes, limit))
    return;
  if (errno == ETIMEDOUT)
    raise("the source has sent nothing for ", printSeconds(limit),
          "; if it is only slow, give more with --deadline");
  if (!ends(graceSeconds))
    raise("the source has closed its socket");
  if (WIFSIGNALED(status))
    raise("the source died: ", strsignal(WTERMSIG(status)));
  raise("the source ended with status ", WEXITSTATUS(status));
}

int64_t BatchSource::receiveNumber() {
  int64_t number = 0;
  receive(&number, sizeof(number));
  return number;
}

void BatchSource::raiseMessage() {
  std::string text(size_t(std::clamp<int64_t>(receiveNumber(), 0, maxMessage)),
                   ' ');
  receive(text.data(), text.size());
  raise(text);
}

Batch BatchSource::read(int64_t step) {
  Batch batch = zeroBatch(arguments, microbatches);
  for (int64_t microbatch = 0; microbatch < microbatches; ++microbatch) {
    try {
      int64_t request[2] = {step, microbatch};
      // If it fails, receive() finds the reason.
      (void)sendAll(socket.get(), request, sizeof(request), limit);
      receiveTensors(batch, microbatch);
    } catch (const Error &error) {
      kill(); // What it sends from now on has no meaning.
      raise("--source: '", what, "', step ", step + 1, ", microbatch ",
            microbatch, ": ", error.what());
    }
  }
  return batch;
}

void BatchSource::receiveTensors(Batch &batch, int64_t microbatch) {
  int64_t count = receiveNumber();
  if (count < 0)
    raiseMessage();
  std::vector<bool> has(arguments.size());
  for (int64_t i = 0; i < count; ++i)
    receiveTensor(batch, microbatch, has);
  for (size_t i = 0; i < has.size(); ++i)
    if (!has[i])
      raise("the batch has no '", arguments[i].name, "', but ", count, " of ",
            arguments.size(), " arguments");
}

void BatchSource::receiveTensor(Batch &batch, int64_t microbatch,
                                std::vector<bool> &has) {
  int64_t size = receiveNumber(), dtype = receiveNumber(),
          rank = receiveNumber();
  if (size < 0 || size > maxName || rank < 0 || rank > maxDimensions)
    raise("a tensor has a name of ", size, " bytes and ", rank,
          " dimensions, expected at most ", maxName, " and ", maxDimensions);
  std::vector<int64_t> shape(static_cast<size_t>(rank));
  receive(shape.data(), shape.size() * sizeof(int64_t));
  std::string name(size_t(size), ' '), names;
  receive(name.data(), name.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const SourceArgument &it = arguments[i];
    names += (i ? "', '" : "'") + it.name;
    if (it.name != name)
      continue;
    if (has[i])
      raise("the batch has '", name, "' twice");
    if (it.dtype != dtype || it.shape != shape)
      raise("'", name, "' is ", print(sw_dtype(dtype), shape),
            ", but the step takes ", print(it.dtype, it.shape));
    size_t bytes = batch[i].size() / size_t(microbatches);
    receive(batch[i].data() + size_t(microbatch) * bytes, bytes);
    has[i] = true;
    return;
  }
  raise("the batch has '", name, "', but the batch arguments are ", names, "'");
}

} // namespace stagewright::runtime
