//===- Processes.cpp - the processes of one launch ------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/Processes.h"

#include "OwnFolder.h"
#include "Processes/Hosts.h"
#include "Processes/NetworkSockets.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <dlfcn.h>
#include <memory>
#include <numeric>
#include <sched.h>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

std::unique_ptr<Processes> &only() {
  static std::unique_ptr<Processes> processes;
  return processes;
}

Messenger *openEngine(const std::string &engine) {
  std::string path = ownFolder() + "libstagewright-" + engine + ".so";
  // Open MPI loads plugins that look up its symbols globally in the process.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    raise("this runtime cannot run ranks as processes: ", dlerror(),
          "; build it where MPI is (Debian: libopenmpi-dev openmpi-bin), run "
          "the ranks as threads with --transport=threads, or let ranks on GPUs "
          "meet without MPI, with --rendezvous=HOST:PORT of rank 0");
  auto open =
      reinterpret_cast<OpenMessenger>(dlsym(library, openMessengerName));
  if (!open)
    raise("'", path, "' does not export '", openMessengerName, "'");
  char error[512] = {};
  Messenger *messenger = open(SW_ABI_VERSION, error, sizeof(error));
  if (!messenger)
    raise("'", path, "': ", error);
  return messenger;
}

/// Where a process runs; sent as plain bytes.
struct Site {
  HostSite host;
  cpu_set_t processors;
};

Site ownSite() {
  Site site;
  CPU_ZERO(&site.processors);
  sched_getaffinity(0, sizeof(site.processors), &site.processors);
  site.host = ownHost();
  return site;
}

std::vector<Site> sites(ProcessGroup &link) {
  Site mine = ownSite();
  std::vector<Site> all(size_t(link.size()));
  link.gather(&mine, all.data(), sizeof(Site), PollTimeout(0, 0));
  return all;
}

} // namespace

std::atomic<bool> Processes::asked{false};

bool Processes::interrupted() { return get() ? get()->anyAsked : asked.load(); }

Processes *Processes::get() { return only().get(); }

void Processes::connect(const std::string &engine) {
  if (get())
    return;
  ProcessGroup *link = nullptr;
  if (engine == "mpi")
    link = openEngine(engine);
  else if (engine == "sockets")
    link = joinSockets();
  else
    raise("the transport is '", engine,
          "', expected 'threads', 'mpi' or 'sockets'");
  only().reset(new Processes(link));
}

void Processes::connect(const Rendezvous &how) {
  if (get())
    return;
  static NetworkSockets sockets(how.rank, connectRanks(how));
  only().reset(new Processes(&sockets));
}

Messenger &Processes::messenger() {
  Messenger *messenger = link->messenger();
  if (!messenger)
    raise("processes that pp-run starts by itself, or that connect by a "
          "rendezvous, "
          "can only run ranks on GPUs, but the artifact's target is the "
          "processor; "
          "start them with mpirun or srun --mpi=pmix, or run the ranks as "
          "threads of one process");
  return *messenger;
}

void Processes::close() {
  link->close();
  only().reset();
}

std::vector<std::string> Processes::hosts() {
  std::vector<HostSite> all;
  for (const Site &site : sites(*link))
    all.push_back(site.host);
  return namesOf(all);
}

Processes::Neighbours Processes::neighbours() {
  std::vector<Site> all = sites(*link);
  const Site &mine = all[size_t(link->self())];
  Neighbours found;
  for (size_t p = 0; p < all.size(); ++p) {
    cpu_set_t both;
    CPU_AND(&both, &all[p].processors, &mine.processors);
    if (!(all[p].host == mine.host) || CPU_COUNT(&both) == 0)
      continue;
    ++found.count;
    found.place += int64_t(p) < link->self();
  }
  return found;
}

void Processes::prepareLater(int64_t calls) {
  if (underWay)
    return;
  std::vector<int64_t> all(size_t(link->size()));
  std::iota(all.begin(), all.end(), 0);
  later = messenger().prepareSum(&counts, SW_I64, 2, all);
  lag = calls;
}

void Processes::beginLater(bool failed) {
  counts = {failed, asked.load()};
  messenger().start(later);
  underWay = true;
  since = 0;
}

bool Processes::awaitLater(PollTimeout timeout) {
  if (!underWay)
    return true;
  if (!messenger().await(later, timeout))
    return false;
  underWay = false;
  anyAsked |= counts.asked != 0;
  return true;
}

bool Processes::agreeLater(const std::string &error, bool failed, int64_t when,
                           PollTimeout timeout) {
  if (++since < lag && !failed)
    return true;
  if (!awaitLater(timeout))
    return false;
  if (!counts.failed) {
    beginLater(failed);
    if (!failed)
      return true;
  }
  return awaitLater(timeout) && agree(error, when, false, timeout);
}

/// Completes the exchange under way; if none of its processes has failed, also
/// one about the later calls.
bool Processes::catchUp(PollTimeout timeout) {
  if (!awaitLater(timeout))
    return false;
  if (since > 0 && !counts.failed)
    beginLater(false);
  since = 0;
  return awaitLater(timeout);
}

bool Processes::settle(PollTimeout timeout) {
  return catchUp(timeout) && (!counts.failed || agree("", 0, false, timeout));
}

bool Processes::agree(const std::string &error, int64_t when, bool named,
                      PollTimeout timeout) {
  if (!catchUp(timeout))
    return false;
  counts.failed = 0;
  struct Word {
    int64_t when, length, asked;
  } mine = {when, int64_t(error.size()), asked.load()};
  std::vector<Word> all(size_t(link->size()));
  if (!link->gather(&mine, all.data(), sizeof(Word), timeout))
    return false;
  const Word *first = nullptr;
  size_t wrong = 0;
  for (const Word &word : all) {
    wrong += word.length > 0;
    anyAsked |= word.asked != 0;
    if (word.length > 0 && (!first || word.when < first->when))
      first = &word;
  }
  if (!first)
    return true;
  anyFailed = true;
  std::string text = error;
  text.resize(size_t(first->length));
  link->broadcast(first - all.data(), text.data(), first->length);
  if (named && wrong < all.size())
    text = "process " + std::to_string(first - all.data()) + ": " + text;
  throw Error(text);
}

} // namespace stagewright::runtime
