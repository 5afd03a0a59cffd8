//===- NetworkSockets.cpp - connections of a rendezvous -------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Processes/NetworkSockets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

/// Max seconds to wait for reports of the others: longer than NCCL may take to
/// abandon transfers in progress (Peers.cpp).
constexpr double answerTime = 1;

/// Seconds by which the other processes delay their exit, so that the one that
/// reports can print: launchers end all processes when the first has ended.
constexpr double speakTime = 0.1;

std::vector<int> release(std::vector<Socket> sockets) {
  std::vector<int> numbers;
  for (Socket &socket : sockets)
    numbers.push_back(socket.release());
  return numbers;
}

} // namespace

NetworkSockets::NetworkSockets(int64_t self, Connections connections)
    : Sockets(self, -1, release(std::move(connections.calls))),
      reportSockets(std::move(connections.reports)),
      ended(reportSockets.size()) {
  received.expect(size());
}

void NetworkSockets::renumber(int64_t wanted) {
  std::vector<int64_t> numbers = exchangeNumbers(wanted);
  std::vector<Socket> other(reportSockets.size());
  for (size_t p = 0; p < reportSockets.size(); ++p)
    other[size_t(numbers[p])] = std::move(reportSockets[p]);
  reportSockets = std::move(other);
}

/// Receives the reports that have arrived.
void NetworkSockets::receiveReports() {
  for (size_t p = 0; p < reportSockets.size(); ++p) {
    if (int64_t(p) == number || ended[p] || received.has(int64_t(p)))
      continue;
    int socket = reportSockets[p].get();
    bool closed = hasClosed(socket); // Checked first: a report precedes it.
    FailureReport report;
    if (hasReceived(socket, sizeof(report)) &&
        receiveAll(socket, &report, sizeof(report), 0))
      received.add(int64_t(p), report);
    else
      ended[p] = closed;
  }
}

/// Sends a report to all others. An error after another process's report is
/// taken as its consequence, not as a cause.
void NetworkSockets::sendReport(const std::string &error) {
  bool isFirst = received.printer() < 0;
  FailureReport report;
  report.when = now();
  report.raised = isFirst && !error.empty();
  report.setText(error);
  received.add(number, report);
  for (size_t p = 0; p < reportSockets.size(); ++p)
    if (int64_t(p) != number)
      sendAll(reportSockets[p].get(), &report, sizeof(report), 0);
}

/// The message for the user. A process without a report whose connection is
/// open did not answer.
std::string NetworkSockets::failureText() {
  std::vector<std::string> names;
  std::vector<bool> died;
  std::string silent;
  for (size_t p = 0; p < reportSockets.size(); ++p) {
    names.push_back("the process of rank " + std::to_string(p));
    died.push_back(ended[p] && !received.has(int64_t(p)));
    if (!ended[p] && !received.has(int64_t(p)))
      silent += "; " + names[p] + " did not answer";
  }
  std::string text = received.text(names, died);
  // If no report has an error, received.text() has already named the silent
  // processes.
  return text.find(" did not answer") == std::string::npos ? text + silent
                                                           : text;
}

void NetworkSockets::abort(int status, const std::string &error) {
  receiveReports();
  sendReport(error);
  for (int socket : peers) // The others notice this at once.
    if (socket >= 0)
      ::shutdown(socket, SHUT_RDWR);
  auto isMissing = [this] {
    for (size_t p = 0; p < reportSockets.size(); ++p)
      if (!ended[p] && !received.has(int64_t(p)))
        return true;
    return false;
  };
  for (PollTimeout timeout(0, std::min(answerTime, limit / 2));
       isMissing() && !timeout.hasExpired(); timeout.pause())
    receiveReports();
  if (received.printer() == number)
    std::fprintf(stderr, "stagewright: error: %s\n", failureText().c_str());
  else
    ::usleep(unsigned(speakTime * 1e6));
  std::_Exit(status);
}

} // namespace stagewright::runtime
