//===- PipelineAttributes.cpp - attributes of the pipeline dialect --------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "stagewright/Dialect/Pipeline/IR/Pipeline.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace stagewright;
using namespace stagewright::pipeline;

#define GET_ATTRDEF_CLASSES
#include "stagewright/Dialect/Pipeline/IR/PipelineAttributes.cpp.inc"

//===----------------------------------------------------------------------===//
// ActionsAttr
//===----------------------------------------------------------------------===//

void ActionsAttr::print(AsmPrinter &printer) const {
  ArrayRef<Action> actions = getActions();
  printer << '<';
  for (auto [i, action] : llvm::enumerate(actions)) {
    bool opens = i + 1 < actions.size() && actions[i + 1].paired;
    printer << (i ? ", " : "") << (opens ? "(" : "") << toString(action)
            << (action.paired ? ")" : "");
  }
  printer << '>';
}

/// `2F0`: a number and a keyword, without a space between them.
static FailureOr<Action> parseAction(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t stage = 0;
  OptionalParseResult number = parser.parseOptionalDecimalInteger(stage);
  if (number.has_value() && failed(*number))
    return failure();
  StringRef rest, text;
  if (succeeded(parser.parseOptionalKeyword(&rest)))
    text = StringRef(loc.getPointer(), rest.end() - loc.getPointer());
  Result<Action> action = stagewright::parseAction(text);
  if (!action)
    return parser.emitError(loc, action.error().message);
  return *action;
}

/// `(3F1, 4B0)` after its first parenthesis.
static ParseResult parsePair(AsmParser &parser, SMLoc loc, Order &order) {
  FailureOr<Action> first = ::parseAction(parser);
  if (failed(first) || parser.parseComma())
    return failure();
  FailureOr<Action> second = ::parseAction(parser);
  if (failed(second) || parser.parseRParen())
    return failure();
  if (!isPair(*first, *second))
    return parser.emitError(loc)
           << "'(" << toString(*first) << ", " << toString(*second)
           << ")' is not a pair; write a forward, then a backward of another "
           << "microbatch or stage, as in (3F1, 4B0)";
  second->paired = true;
  order.push_back(*first);
  order.push_back(*second);
  return success();
}

Attribute ActionsAttr::parse(AsmParser &parser, Type) {
  Order order;
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalLParen()))
      return parsePair(parser, loc, order);
    FailureOr<Action> action = ::parseAction(parser);
    if (succeeded(action))
      order.push_back(*action);
    return LogicalResult(action);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseOne))
    return {};
  return get(parser.getContext(), order);
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Whether `number` is a valid cost: finite and at least 0.
static bool isCost(double number) {
  return number >= 0.0 && std::isfinite(number);
}

LogicalResult CostAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t flops, int64_t read, int64_t written,
                               DictionaryAttr seconds) {
  if (flops < 0 || read < 0 || written < 0)
    return emitError() << "costs cannot be negative, got flops " << flops
                       << ", read " << read << ", written " << written;
  if (!seconds)
    return success();
  for (NamedAttribute entry : seconds) {
    auto value = dyn_cast<FloatAttr>(entry.getValue());
    if (!value || !isCost(value.getValueAsDouble()))
      return emitError() << "seconds of device class '"
                         << entry.getName().getValue()
                         << "' must be a finite number of at least 0, got "
                         << entry.getValue();
  }
  return success();
}

LogicalResult
AveragingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t every, int64_t delay, FloatAttr xi,
                      StringAttr merge, FloatAttr allReduce, FloatAttr step) {
  if (every < 1 || delay < 0 || delay > every)
    return emitError() << "'every' must be at least 1 and 'delay' from 0 to "
                       << "'every', got " << every << " and " << delay;
  double share = xi.getValueAsDouble();
  if (!(share >= 0 && share <= 1))
    return emitError() << "xi must be from 0 to 1, got " << share;
  if (merge.getValue() != "convex" && merge.getValue() != "corrected")
    return emitError() << "merge must be convex or corrected, got " << merge;
  for (FloatAttr seconds : {allReduce, step})
    if (seconds && !isCost(seconds.getValueAsDouble()))
      return emitError() << "seconds must be finite numbers of at least 0, got "
                         << seconds;
  return success();
}

double AveragingAttr::progress() const {
  return isCorrected() ? 1
                       : 1 - (1 - getXi().getValueAsDouble()) *
                                 double(getDelay()) / double(getEvery());
}

LogicalResult AlternativeAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, StringAttr name, int64_t ways,
    BoolAttr, FloatAttr seconds, int64_t parameters, FloatAttr perSample,
    FloatAttr fixed, DictionaryAttr syncIn, DictionaryAttr syncOut) {
  if (ways < 1 || parameters < 0)
    return emitError() << "alternative " << name
                       << ": 'ways' must be at least 1 and 'parameters' at "
                       << "least 0, got " << ways << " and " << parameters;
  for (FloatAttr cost : {seconds, perSample, fixed})
    if (cost && !isCost(cost.getValueAsDouble()))
      return emitError() << "costs of alternative " << name
                         << " must be finite numbers of at least 0, got "
                         << cost;
  for (DictionaryAttr sync : {syncIn, syncOut}) {
    if (!sync)
      continue;
    for (NamedAttribute entry : sync) {
      auto bytes = dyn_cast<FloatAttr>(entry.getValue());
      int64_t layer;
      if (!bytes || !isCost(bytes.getValueAsDouble()) ||
          entry.getName().strref().getAsInteger(10, layer) || layer < 0)
        return emitError() << "alternative " << name
                           << ": 'sync_in' and 'sync_out' map layer numbers to "
                           << "bytes of at least 0, got " << entry.getName()
                           << " = " << entry.getValue();
    }
  }
  return success();
}

void PipelineDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "stagewright/Dialect/Pipeline/IR/PipelineAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "stagewright/Dialect/Pipeline/IR/PipelineOps.cpp.inc"
      >();
}
