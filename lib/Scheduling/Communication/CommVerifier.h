//===- CommVerifier.h - checks of schedules with communication --*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_COMMVERIFIER_H
#define STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_COMMVERIFIER_H

#include "../OrderGrid.h"
#include "Messages.h"

namespace stagewright {

/// Checks lists against the rules of Communication.h. Their computations must
/// have passed verify().
class CommVerifier {
public:
  CommVerifier(const CommSchedule &schedule, const StageGraph &graph,
               const Dependences &dependences)
      : schedule(schedule), dependences(dependences),
        messages(dependences, graph), sends(messages.size(), kNowhere),
        receives(messages.size(), kNowhere), waits(messages.size(), kNowhere) {}

  Status run();

private:
  static constexpr size_t kNowhere = size_t(-1);

  Status enterAll();
  Status enter(OrderMark mark);
  Status checkEntries() const;
  Status checkChannels() const;
  Status checkBuffers() const;
  Status runRanks() const;

  std::string faultOf(const CommAction &entry, int64_t rank, size_t id) const;
  Error errorAbout(const std::string &message,
                   const std::vector<OrderMark> &marks) const;
  std::string textOf(OrderMark mark) const;
  size_t &placeOf(CommKind kind, size_t id) {
    return (kind == CommKind::Send      ? sends
            : kind == CommKind::Receive ? receives
                                        : waits)[id];
  }
  /// The position of action `number` in the list of its rank.
  OrderMark markOf(size_t number) const {
    return {dependences.rank(number), stepOf[number]};
  }

  /// What blocks a rank: the entry of another that has not been posted yet.
  struct Stop {
    size_t message = kNowhere; ///< None.
    CommKind wants = CommKind::Send;
  };
  class Run;

  const CommSchedule &schedule;
  const Dependences &dependences;
  Messages messages;
  std::vector<size_t> stepOf;                 ///< By number of an action.
  std::vector<size_t> sends, receives, waits; ///< By message: its step.
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_COMMVERIFIER_H
