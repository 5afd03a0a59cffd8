//===- Messenger.cpp - messages between processes by MPI ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A separate shared object, so that the runtime does not need MPI. Transfers
// are persistent requests. Sends are synchronous (MPI 4.1, section 3.4): they
// complete once a receive has been matched. There are three communicators: for
// the transfers of channels, for direct messages and collectives, and for
// reports about a failed step; sums have their own (Sums.h). Once connected, no
// wait for messages is unbounded: it polls for such reports and for processes
// that have died.
//
//===----------------------------------------------------------------------===//

#include "Processes/Messenger.h"

#include "Mpi/Calls.h"
#include "Mpi/Neighbours.h"
#include "Mpi/Sums.h"
#include "Mpi/SuspensionDetector.h"
#include "Processes/PollTimeout.h"
#include "stagewright-rt/runtime.h"
#include "stagewright/Runtime/Error.h"

#include <mpi.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
#include <vector>

namespace stagewright::runtime {

namespace {

/// Max bytes of one call: MPI counts them in an int.
constexpr int64_t maxPart = 1 << 30;
/// Polls of a message before a wait sleeps between polls.
constexpr int spins = 2000;

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
    return keep(MPI_REQUEST_NULL, Transfer::Sum,
                sums.prepare(channels, data, dtype, elements, ranks));
  }
  int64_t prepareGather(void *data, int64_t bytes,
                        std::span<const int64_t> ranks,
                        bool exchanges) override {
    return keep(MPI_REQUEST_NULL, Transfer::Sum,
                sums.prepareGather(channels, data, bytes, ranks, exchanges));
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
  bool await(int64_t number, PollTimeout timeout) override {
    return wait(transfers[size_t(number)].request, timeout);
  }
  void progress() override { stopReceived(); }
  void freeTransfers(std::span<const int64_t> numbers, bool failed) override;
  bool gather(const void *mine, void *all, int64_t bytes,
              PollTimeout timeout) override;
  void broadcast(int64_t from, void *data, int64_t bytes) override;
  void sendNow(int64_t to, const void *data, int64_t bytes) override;
  void receiveNow(int64_t from, void *data, int64_t bytes) override;
  void setReporter(std::function<FailureReport()> who) override {
    describeSelf = std::move(who);
  }
  void sendStop() override;
  bool stopReceived() override;
  int64_t deadProcess() override { return local.deadProcess(); }
  [[noreturn]] void abort(int status, const std::string &error) override;
  void close() override;

private:
  bool test(MPI_Request &request) {
    int flag = 0;
    check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "test a transfer");
    return flag != 0;
  }
  int checked(int64_t tag) const {
    if (tag > tagLimit)
      raise("the plan has more than ", tagLimit,
            " slots for messages, but this MPI has no more tags");
    return int(tag);
  }
  struct Transfer {
    MPI_Request request;
    enum Kind { Send, Receive, Sum } kind;
    int64_t sum = -1; ///< its number in `sums`
  };
  int64_t keep(MPI_Request request, Transfer::Kind kind, int64_t sum = -1) {
    transfers.push_back({request, kind, sum});
    return int64_t(transfers.size()) - 1;
  }
  void join(MPI_Comm from, int64_t key);
  void leave();
  void postReceive();
  void sendReport(const FailureReport &report);
  bool wait(MPI_Request &request, PollTimeout timeout);
  void complete(MPI_Request request, const char *what, int64_t other,
                int64_t bytes);

  MPI_Comm channels = MPI_COMM_NULL, calls = MPI_COMM_NULL,
           stops = MPI_COMM_NULL;
  int number = 0, processes = 1, tagLimit = 0;
  std::vector<Transfer> transfers;
  MpiSums sums;
  Neighbours local;
  std::function<FailureReport()> describeSelf;
  MPI_Request stopOrder = MPI_REQUEST_NULL;
  FailureReport received; ///< receive buffer of `stopOrder`
  std::vector<FailureReport>
      sentReports; ///< by receiver: send buffers of `reportSends`
  std::vector<MPI_Request> reportSends;
  FailureReports reports;
  bool stopped = false, hasReported = false;
};

MpiMessenger::MpiMessenger() {
  int given = 0;
  MpiSums::chooseAlgorithm();
  // Only the rank's thread calls MPI.
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given),
        "begin");
  SuspensionDetector::watch();
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
  tagLimit = found ? *limit : 32767; // The standard's minimum.
  reports.expect(processes);
  local.find(calls);
  postReceive();
}

void MpiMessenger::postReceive() {
  check(MPI_Irecv(&received, int(sizeof(FailureReport)), MPI_BYTE,
                  MPI_ANY_SOURCE, 0, stops, &stopOrder),
        "receive");
}

void MpiMessenger::leave() {
  MPI_Cancel(&stopOrder);
  MPI_Wait(&stopOrder, MPI_STATUS_IGNORE);
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

void MpiMessenger::freeTransfers(std::span<const int64_t> numbers,
                                 bool failed) {
  for (int64_t number : numbers) {
    auto &[request, kind, sum] = transfers[size_t(number)];
    // Pending receives are for a step that will not run. Sums have completed.
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

/// Polls until the request completes. False if `timeout` runs out, `grace`
/// seconds after another process reported a failure, or once one has died.
bool MpiMessenger::wait(MPI_Request &request, PollTimeout timeout) {
  bool hurried = false;
  for (; !test(request); timeout.pause()) {
    if (timeout.isCheckDue() && stopReceived() && !hurried) {
      timeout.restart(grace);
      hurried = true;
    }
    if (timeout.hasExpired())
      return false;
    if (timeout.isCheckDue() && timeout.isLongWait() && deadProcess() >= 0)
      return false;
  }
  return true;
}

/// Like wait(), but ends all processes if the wait fails.
void MpiMessenger::complete(MPI_Request request, const char *what,
                            int64_t other, int64_t bytes) {
  constexpr double slowest = 10e6; // Bytes per second of a slow network.
  if (wait(request, PollTimeout(spins, limit + double(bytes) / slowest)))
    return;
  FailureReport report;
  report.when = now(), report.awaited = other + 1;
  report.setText("rank " + std::to_string(number) +
                 ": waits after its actions " + what + " rank " +
                 std::to_string(other));
  describeSelf = [report] { return report; };
  abort(faultStatus, "");
}

bool MpiMessenger::gather(const void *mine, void *all, int64_t bytes,
                          PollTimeout timeout) {
  MPI_Request request;
  check(MPI_Iallgather(mine, int(bytes), MPI_BYTE, all, int(bytes), MPI_BYTE,
                       calls, &request),
        "gather");
  if (!timeout.isInfinite())
    return wait(request, timeout);
  if (!wait(request, PollTimeout(spins, limit)))
    abort(faultStatus, "");
  return true;
}

void MpiMessenger::broadcast(int64_t from, void *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += maxPart) {
    MPI_Request request;
    int64_t part = std::min(maxPart, bytes - at);
    check(MPI_Ibcast(static_cast<std::byte *>(data) + at, int(part), MPI_BYTE,
                     int(from), calls, &request),
          "broadcast");
    complete(request, "for a broadcast of", from, part);
  }
}

void MpiMessenger::sendNow(int64_t to, const void *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += maxPart) {
    MPI_Request request;
    int64_t part = std::min(maxPart, bytes - at);
    check(MPI_Isend(static_cast<const std::byte *>(data) + at, int(part),
                    MPI_BYTE, int(to), 0, calls, &request),
          "send");
    complete(request, "to send data to", to, part);
  }
}

void MpiMessenger::receiveNow(int64_t from, void *data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += maxPart) {
    MPI_Request request;
    int64_t part = std::min(maxPart, bytes - at);
    check(MPI_Irecv(static_cast<std::byte *>(data) + at, int(part), MPI_BYTE,
                    int(from), 0, calls, &request),
          "receive");
    complete(request, "for data from", from, part);
  }
}

void MpiMessenger::sendStop() {
  FailureReport report;
  if (describeSelf)
    report = describeSelf();
  else
    report.setText("rank " + std::to_string(number) + ": is not in a step");
  sendReport(report);
}

void MpiMessenger::sendReport(const FailureReport &report) {
  for (PollTimeout timeout(0, 0.2);
       !hasReported && !stopped && SuspensionDetector::resumedRecently() &&
       !timeout.hasExpired();
       timeout.pause())
    stopReceived(); // Another process may have reported.
  if (hasReported)
    return;
  hasReported = true;
  reports.add(number, report);
  sentReports.assign(size_t(processes), report);
  reportSends.assign(size_t(processes), MPI_REQUEST_NULL);
  for (int to = 0; to < processes; ++to)
    if (to != number)
      check(MPI_Isend(&sentReports[size_t(to)], int(sizeof(FailureReport)),
                      MPI_BYTE, to, 0, stops, &reportSends[size_t(to)]),
            "send");
}

bool MpiMessenger::stopReceived() {
  SuspensionDetector::heartbeat();
  for (;;) {
    int flag = 0;
    MPI_Status status;
    check(MPI_Test(&stopOrder, &flag, &status), "test a transfer");
    if (!flag)
      return stopped;
    reports.add(status.MPI_SOURCE, received);
    stopped = true;
    // A process that was suspended itself has nothing to report.
    hasReported = hasReported || SuspensionDetector::resumedRecently();
    postReceive();
    sendStop();
  }
}

/// Collects the reports of all live processes. The lowest-numbered process with
/// a report prints one text for all.
void MpiMessenger::abort(int status, const std::string &error) {
  if (!error.empty()) {
    FailureReport report;
    report.when = now(), report.raised = 1;
    report.setText(error);
    sendReport(report);
  }
  sendStop();
  auto missing = [this] {
    for (int p = 0; p < processes; ++p)
      if (!reports.has(p) && !local.died(p))
        return true;
    return false;
  };
  for (PollTimeout timeout(0, 0.2); missing() && !timeout.hasExpired();
       timeout.pause())
    stopReceived();
  if (reports.printer() == number) {
    std::vector<std::string> names;
    std::vector<bool> died;
    for (int p = 0; p < processes; ++p)
      names.push_back(local.name(p)), died.push_back(local.died(p));
    std::fprintf(stderr, "stagewright: error: %s\n",
                 reports.text(names, died).c_str());
  } else {
    // The printer ends all processes; wait for that in spite of signals.
    timespec rest = {3, 0};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
      ;
  }
  MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

void MpiMessenger::close() {
  char byte = 0;
  std::vector<char> all;
  all.resize(size_t(processes));
  limit = Deadline::first; // Another may still write files.
  gather(&byte, all.data(), 1, PollTimeout(0, 0));
  MPI_Cancel(&stopOrder);
  MPI_Wait(&stopOrder, MPI_STATUS_IGNORE);
  // Ends this process if another one hangs and so blocks MPI_Finalize.
  ::alarm(unsigned(Deadline::first));
  check(MPI_Finalize(), "end");
  ::alarm(0);
}

} // namespace

} // namespace stagewright::runtime

extern "C" SW_EXPORT stagewright::runtime::Messenger *
stagewright_open_messenger(unsigned version, char *error, size_t room) {
  using namespace stagewright::runtime;
  try {
    if (version != SW_ABI_VERSION)
      raise("its interface has version ", SW_ABI_VERSION,
            ", that of the runtime is ", version);
    static MpiMessenger messenger;
    return &messenger;
  } catch (const std::exception &problem) {
    std::snprintf(error, room, "%s", problem.what());
  }
  return nullptr;
}
