//===- Actions.h - actions of schedules in attributes -----------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attributes need in order to hold actions: hashing, printing, parsing.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_DIALECT_ACTIONS_H
#define STAGEWRIGHT_DIALECT_ACTIONS_H

#include "mlir/IR/DialectImplementation.h"
#include "stagewright/Scheduling/Schedule.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/Twine.h"

/// Parses a kind of action from its letter.
template <> struct mlir::FieldParser<stagewright::ActionKind> {
  template <typename Parser>
  static FailureOr<stagewright::ActionKind> parse(Parser &parser) {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef keyword;
    if (failed(parser.parseKeyword(&keyword)))
      return failure();
    if (keyword.size() == 1)
      if (auto kind = stagewright::actionKind(keyword.front()))
        return *kind;
    return LogicalResult(parser.emitError(loc)
                         << "expected F, B, I, W, R or U, got '" << keyword
                         << "'");
  }
};

namespace stagewright {

inline llvm::hash_code hash_value(const Action &action) {
  return llvm::hash_combine(letter(action.kind), action.stage,
                            action.microbatch, action.paired);
}

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os, ActionKind kind) {
  return os << letter(kind);
}

/// Parses an attribute that holds a kind of action, written as its letter.
template <typename Attribute>
mlir::ParseResult parseActionKind(mlir::AsmParser &parser,
                                  Attribute &attribute) {
  auto kind = mlir::FieldParser<ActionKind>::parse(parser);
  if (succeeded(kind))
    attribute = Attribute::get(parser.getContext(), *kind);
  return mlir::LogicalResult(kind);
}

template <typename Attribute>
void printActionKind(mlir::AsmPrinter &printer, mlir::Operation *,
                     Attribute attribute) {
  printer << letter(attribute.getValue());
}

} // namespace stagewright

#endif // STAGEWRIGHT_DIALECT_ACTIONS_H
