//===- Messages.h - what crosses from rank to rank --------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages of a schedule in a flat table: a class for every (phase that
// makes the value, from stage, to stage), and in each class one message per
// microbatch, with the numbers in Dependences of the actions that make and use
// it.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_MESSAGES_H
#define STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_MESSAGES_H

#include "stagewright/Scheduling/Communication.h"
#include "stagewright/Scheduling/Dependences.h"

namespace stagewright {

struct MessageClass {
  ActionKind value = ActionKind::Forward;
  int64_t from = 0, to = 0; ///< Stages.
  int64_t depth = 0;        ///< Min of the depths on its edges; 0: none given.
};

struct Message {
  size_t made = 0, firstUse = 0, lastUse = 0; ///< Numbers of actions.
};

class Messages {
public:
  Messages(const Dependences &dependences, const StageGraph &graph);

  size_t size() const { return messages.size(); }
  const Message &operator[](size_t id) const { return messages[id]; }
  size_t classOf(size_t id) const { return id / microbatches; }
  int64_t microbatchOf(size_t id) const { return id % microbatches; }
  size_t numClasses() const { return classes.size(); }
  const MessageClass &classNumber(size_t number) const {
    return classes[number];
  }

  int64_t fromRank(size_t id) const {
    return dependences.rank(messages[id].made);
  }
  int64_t toRank(size_t id) const {
    return dependences.rank(messages[id].firstUse);
  }
  bool crosses(size_t id) const { return fromRank(id) != toRank(id); }

  /// The message of class (value, from, to), or size() if there is none.
  size_t find(ActionKind value, int64_t from, int64_t to,
              int64_t microbatch) const;
  /// The message that the communication `entry` sends, receives or waits for,
  /// or size() if there is none.
  size_t find(const CommAction &entry) const;

  /// Calls `visit(id)` for the messages from other ranks whose first use is
  /// action `number`; visitLast() for those whose last use it is.
  template <typename Visit> void visitFirst(size_t number, Visit visit) const {
    forEachInto(number, [&](size_t id) {
      if (messages[id].firstUse == number && crosses(id))
        visit(id);
    });
  }
  template <typename Visit> void visitLast(size_t number, Visit visit) const {
    forEachInto(number, [&](size_t id) {
      if (messages[id].lastUse == number && crosses(id))
        visit(id);
    });
  }

  /// The entry of kind `kind` (a send, receive or wait) for a message.
  CommAction entry(CommKind kind, size_t id) const;

private:
  template <typename Visit> void forEachInto(size_t number, Visit visit) const {
    const Action &action = dependences.action(number);
    for (size_t k : into[action.stage])
      visit(k * microbatches + action.microbatch);
  }

  const Dependences &dependences;
  int64_t microbatches;
  std::vector<MessageClass> classes;
  std::vector<std::vector<size_t>> outOf, into; ///< Classes by stage.
  std::vector<Message> messages;
};

} // namespace stagewright

#endif // STAGEWRIGHT_LIB_SCHEDULING_COMMUNICATION_MESSAGES_H
