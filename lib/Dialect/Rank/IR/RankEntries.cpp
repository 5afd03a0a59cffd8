//===- RankEntries.cpp - entry, action, table and choice ------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assembly and verifiers of what gives a program its order. Labels such as
// entry_c1 are those of the constraints in RankProgramOps.td and of their
// tests.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/Rank/IR/Rank.h"
#include <numeric>

using namespace mlir;
using namespace stagewright::rank;

void EntryOp::getAsmBlockArgumentNames(Region &region,
                                       OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() == 1)
    setName(region.getArgument(0), "M");
}

ParseResult EntryOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument microbatches;
  microbatches.type = parser.getBuilder().getIndexType();
  return failure(parser.parseLParen() || parser.parseArgument(microbatches) ||
                 parser.parseRParen() ||
                 parser.parseRegion(*result.addRegion(), microbatches) ||
                 parser.parseOptionalAttrDict(result.attributes));
}

void EntryOp::print(OpAsmPrinter &printer) {
  printer << " (" << getBody().getArgument(0) << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

LogicalResult EntryOp::verify() {
  if (getBody().getNumArguments() == 1 &&
      getBody().getArgument(0).getType().isIndex()) // entry_c1
    return success();
  return emitOpError() << "needs one argument of type index, the number of "
                       << "microbatches, got (" << getBody().getArgumentTypes()
                       << ")";
}

LogicalResult ActionOp::verify() {
  if ((*this)->getParentOfType<EntryOp>() &&
      !(*this)->getParentOfType<ActionOp>()) // action_c1
    return success();
  return emitOpError() << "must lie in a 'rank.entry' and in no other action";
}

LogicalResult TableOp::verify() {
  if (getCases().empty() ||
      getCases().size() != getMicrobatches().size()) // table_c1
    return emitOpError() << "needs a case and a microbatch in each of its "
                         << "rows, got " << getCases().size() << " and "
                         << getMicrobatches().size();
  for (int64_t number :
       llvm::concat<const int64_t>(getCases(), getMicrobatches()))
    if (number < 0) // table_c1
      return emitOpError() << "cases and microbatches are not negative, got "
                           << number;
  if ((*this)->getParentOfType<EntryOp>()) // table_c2
    return success();
  return emitOpError() << "must lie in a 'rank.entry'";
}

LogicalResult ChooseOp::verify() {
  int64_t rows =
      std::accumulate(getLanes().begin(), getLanes().end(), int64_t(0));
  if (getLanes().empty() || int64_t(getTurns().size()) != rows ||
      llvm::any_of(getLanes(),
                   [](int64_t lane) { return lane < 1; })) // choose_c1
    return emitOpError() << "needs rows in each of its lanes and a turn for "
                         << "each, got lanes [" << getLanes() << "] and "
                         << getTurns().size() << " turns";
  int64_t lanes = getLanes().size();
  bool paired = getAfter().size() % 2 == 0;
  for (size_t i = 0; paired && i < getAfter().size(); i += 2)
    for (int64_t lane : {getAfter()[i], getAfter()[i + 1]})
      paired &= lane >= 0 && lane < lanes &&
                getAfter()[i] != getAfter()[i + 1]; // choose_c2
  if (!paired)
    return emitOpError() << "needs pairs of two different lanes of " << lanes
                         << " after 'after'";
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (!isa<scf::ForOp>((*this)->getParentOp()) ||
      !(*this)->getParentOfType<EntryOp>() || !program.getOnly()) // choose_c3
    return emitOpError() << "must lie in a loop of a 'rank.entry' for one "
                         << "number of microbatches";
  auto isTable = [&](Operation *user) {
    auto table = dyn_cast<TableOp>(user);
    return table && int64_t(table.getCases().size()) == rows;
  };
  if (getRow().use_empty() ||
      !llvm::all_of(getRow().getUsers(), isTable)) // choose_c4
    return emitOpError() << "must be read by a 'rank.table' of its " << rows
                         << " rows";
  return success();
}
