//===- Messenger.cpp - messages between processes by MPI ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A shared object of its own, so that the runtime does not need MPI to be
// there. Transfers are persistent requests; sends are synchronous (MPI 4.1,
// section 3.4): they end when a receive has been matched. Three communicators:
// the transfers of channels, what goes directly from one process to another or
// to all, and the word that the step has failed; sums have others (Sums.h).
//
//===----------------------------------------------------------------------===//

#include "Processes/Messenger.h"

#include "Error.h"
#include "Mpi/Sums.h"
#include "Processes/Patience.h"
#include "stagewright-rt/runtime.h"

#include <mpi.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace stagewright::runtime {

namespace {

/// What one call of MPI carries at most when bytes are counted.
constexpr int64_t most = 1 << 30;

/// A number of bytes as MPI counts them; above 2 GiB in lines of 64 bytes,
/// which slots are long enough for.
struct Extent {
  explicit Extent(int64_t bytes) {
    if (bytes <= INT_MAX) {
      count = int(bytes);
      return;
    }
    constexpr int64_t line = 64;
    int64_t lines = (bytes + line - 1) / line;
    if (lines > INT_MAX)
      raise("a message has ", bytes, " bytes; MPI carries ", INT_MAX * line);
    count = int(lines);
    check(MPI_Type_contiguous(int(line), MPI_BYTE, &type), "describe a line");
    check(MPI_Type_commit(&type), "describe a line");
  }
  ~Extent() {
    if (type != MPI_BYTE)
      MPI_Type_free(&type); // Requests keep what they need.
  }
  Extent(const Extent &) = delete;
  Extent &operator=(const Extent &) = delete;

  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

class MpiMessenger final : public Messenger {
public:
  MpiMessenger();

  int64_t self() const override { return number; }
  int64_t size() const override { return processes; }
  void renumber(int64_t wanted) override;
  int64_t prepareSend(const void *data, int64_t bytes, int64_t to,
                      int64_t tag) override;
  int64_t prepareReceive(void *data, int64_t bytes, int64_t from,
                         int64_t tag) override;
  int64_t prepareSum(void *data, sw_dtype dtype, int64_t elements,
                     std::span<const int64_t> ranks) override {
    int64_t sum = sums.prepare(channels, data, dtype, elements, ranks);
    transfers.push_back({MPI_REQUEST_NULL, Transfer::Sum, sum});
    return int64_t(transfers.size()) - 1;
  }
  void start(int64_t number) override {
    Transfer &transfer = transfers[size_t(number)];
    if (transfer.kind == Transfer::Sum)
      return sums.start(transfer.sum, transfer.request);
    check(MPI_Start(&transfer.request), "start a transfer");
  }
  bool done(int64_t transfer) override {
    return test(transfers[size_t(transfer)].request);
  }
  void progress() override { test(stopOrder); }
  void forgetTransfers(std::span<const int64_t> numbers, bool failed) override;
  bool gather(const void *mine, void *all, int64_t bytes,
              Patience patience) override;
  void broadcast(int64_t from, void *data, int64_t bytes) override;
  void sendNow(int64_t to, const void *data, int64_t bytes) override;
  void receiveNow(int64_t from, void *data, int64_t bytes) override;
  void tellStop() override;
  bool stopTold() override { return stopped = stopped || test(stopOrder); }
  [[noreturn]] void abort(int status, const std::string &error) override;
  void close() override;

private:
  bool test(MPI_Request &request) {
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "look at a transfer");
    return flag != 0;
  }
  int checked(int64_t tag) const {
    if (tag > tagLimit)
      raise("the plan has more than ", tagLimit,
            " slots for messages, which is what this MPI tells apart");
    return int(tag);
  }
  struct Transfer {
    MPI_Request request;
    enum Kind { Send, Receive, Sum } kind;
    int64_t sum = -1; ///< its number
  };
  int64_t keep(MPI_Request request, Transfer::Kind kind) {
    transfers.push_back({request, kind});
    return int64_t(transfers.size()) - 1;
  }
  void join(MPI_Comm from, int64_t key);
  void leave();

  MPI_Comm channels = MPI_COMM_NULL, calls = MPI_COMM_NULL,
           stops = MPI_COMM_NULL;
  int number = 0, processes = 1, tagLimit = 0;
  std::vector<Transfer> transfers;
  MpiSums sums;
  MPI_Request stopOrder = MPI_REQUEST_NULL;
  char word = 0;
  bool stopped = false;
};

MpiMessenger::MpiMessenger() {
  int given = 0;
  // The rank's thread and nobody else calls.
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given),
        "begin");
  join(MPI_COMM_WORLD, 0);
}

void MpiMessenger::join(MPI_Comm from, int64_t key) {
  for (MPI_Comm *comm : {&channels, &calls, &stops}) {
    check(MPI_Comm_split(from, 0, int(key), comm), "make a communicator");
    MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
  }
  MPI_Comm_rank(calls, &number);
  MPI_Comm_size(calls, &processes);
  int *limit = nullptr, found = 0;
  MPI_Comm_get_attr(channels, MPI_TAG_UB, &limit, &found);
  tagLimit = found ? *limit : 32767; // What the standard promises.
  check(MPI_Irecv(&word, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, stops, &stopOrder),
        "receive");
}

void MpiMessenger::leave() {
  if (!stopTold()) {
    MPI_Cancel(&stopOrder);
    MPI_Wait(&stopOrder, MPI_STATUS_IGNORE);
  }
  sums.leave();
  for (MPI_Comm *comm : {&channels, &calls, &stops})
    MPI_Comm_free(comm);
}

void MpiMessenger::renumber(int64_t wanted) {
  leave();
  join(MPI_COMM_WORLD, wanted);
}

int64_t MpiMessenger::prepareSend(const void *data, int64_t bytes, int64_t to,
                                  int64_t tag) {
  Extent extent(bytes);
  MPI_Request request;
  check(MPI_Ssend_init(data, extent.count, extent.type, int(to), checked(tag),
                       channels, &request),
        "prepare a send");
  return keep(request, Transfer::Send);
}

int64_t MpiMessenger::prepareReceive(void *data, int64_t bytes, int64_t from,
                                     int64_t tag) {
  Extent extent(bytes);
  MPI_Request request;
  check(MPI_Recv_init(data, extent.count, extent.type, int(from), checked(tag),
                      channels, &request),
        "prepare a receive");
  return keep(request, Transfer::Receive);
}

void MpiMessenger::forgetTransfers(std::span<const int64_t> numbers,
                                   bool failed) {
  for (int64_t number : numbers) {
    auto &[request, kind, sum] = transfers[size_t(number)];
    // All receives that are left wait for a step that does not come; sums have
    // been awaited.
    int ended = 0;
    if (!failed && kind != Transfer::Sum) {
      MPI_Request_get_status(request, &ended, MPI_STATUS_IGNORE);
      if (!ended && kind == Transfer::Receive)
        MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
    }
    request = MPI_REQUEST_NULL;
  }
}

bool MpiMessenger::gather(const void *mine, void *all, int64_t bytes,
                          Patience patience) {
  MPI_Request request;
  check(MPI_Iallgather(mine, int(bytes), MPI_BYTE, all, int(bytes), MPI_BYTE,
                       calls, &request),
        "gather");
  for (; !test(request); patience.pause())
    if (patience.isOver())
      return false;
  return true;
}

void MpiMessenger::broadcast(int64_t from, void *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += most)
    check(MPI_Bcast(static_cast<std::byte *>(data) + at,
                    int(std::min(most, bytes - at)), MPI_BYTE, int(from),
                    calls),
          "broadcast");
}

void MpiMessenger::sendNow(int64_t to, const void *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += most)
    check(MPI_Send(static_cast<const std::byte *>(data) + at,
                   int(std::min(most, bytes - at)), MPI_BYTE, int(to), 0,
                   calls),
          "send");
}

void MpiMessenger::receiveNow(int64_t from, void *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += most)
    check(MPI_Recv(static_cast<std::byte *>(data) + at,
                   int(std::min(most, bytes - at)), MPI_BYTE, int(from), 0,
                   calls, MPI_STATUS_IGNORE),
          "receive");
}

void MpiMessenger::tellStop() {
  for (int to = 0; to < processes; ++to) {
    if (to == number)
      continue;
    MPI_Request request; // One byte: it is gone when the call returns.
    check(MPI_Isend(&word, 1, MPI_CHAR, to, 0, stops, &request), "send");
    MPI_Request_free(&request);
  }
}

void MpiMessenger::abort(int status, const std::string &error) {
  if (!error.empty() && stopTold()) {
    // Who failed first says so and ends all.
    timespec rest = {5, 0};
    nanosleep(&rest, nullptr);
  } else if (!error.empty()) {
    tellStop();
    std::fprintf(stderr, "stagewright: error: %s\n", error.c_str());
  }
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

void MpiMessenger::close() {
  if (!stopTold()) {
    MPI_Cancel(&stopOrder);
    MPI_Wait(&stopOrder, MPI_STATUS_IGNORE);
  }
  check(MPI_Finalize(), "end");
}

} // namespace

} // namespace stagewright::runtime

extern "C" SW_EXPORT stagewright::runtime::Messenger *
stagewright_open_messenger(unsigned version, char *error, size_t room) {
  using namespace stagewright::runtime;
  try {
    if (version != SW_ABI_VERSION)
      raise("it has version ", SW_ABI_VERSION, ", the runtime ", version);
    static MpiMessenger messenger;
    return &messenger;
  } catch (const std::exception &problem) {
    std::snprintf(error, room, "%s", problem.what());
  }
  return nullptr;
}
