//===- AttentionOps.cpp - attention, its verifier and its buffers ---------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "stagewright/Dialect/Pipeline/IR/DestinationStyle.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace stagewright::pipeline {

//===----------------------------------------------------------------------===//
// The view
//===----------------------------------------------------------------------===//

/// The names of the operands of `op`: no "keep" without dropout (`drops`), and
/// no "mask" if that is missing.
static SmallVector<StringRef> namesOf(Operation *op,
                                      ArrayRef<StringLiteral> all, bool drops) {
  SmallVector<StringRef> names(all.begin(), all.end());
  if (!drops)
    llvm::erase(names, "keep");
  if (op->getNumOperands() + 1 == names.size())
    llvm::erase(names, "mask");
  return names;
}

static std::optional<float> numberOf(std::optional<APFloat> number) {
  return number ? std::optional(number->convertToFloat()) : std::nullopt;
}

std::optional<Attention> Attention::get(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Attention>>(op)
      .Case<AttentionOp, AttentionGradientOp, AttentionQueryGradientOp,
            AttentionKeyGradientOp>([](auto op) {
        Attention view{op,
                       op.getInputs(),
                       op.getOutputs(),
                       op.getIndexingMaps(),
                       op.getScale().convertToFloat(),
                       numberOf(op.getCap()),
                       op.getCausal(),
                       numberOf(op.getFill()),
                       numberOf(op.getKept()),
                       namesOf(op, op.getOperandNames(), bool(op.getKept())),
                       {}};
        if (view.maps.empty())
          return std::optional(view);
        view.extents.assign(
            cast<AffineMapAttr>(view.maps[0]).getValue().getNumDims(), 0);
        for (auto [operand, map] : llvm::zip(
                 op->getOperands(), view.maps.getAsValueRange<AffineMapAttr>()))
          for (auto [result, extent] :
               llvm::zip(map.getResults(),
                         cast<ShapedType>(operand.getType()).getShape()))
            if (auto dim = dyn_cast<AffineDimExpr>(result);
                dim && dim.getPosition() < view.extents.size())
              view.extents[dim.getPosition()] = extent;
        return std::optional(view);
      })
      .Default([](Operation *) { return std::nullopt; });
}

static size_t positionOf(const Attention &view, StringRef name) {
  return size_t(llvm::find(view.names, name) - view.names.begin());
}

Value Attention::operand(StringRef name) const {
  return has(name) ? op->getOperand(unsigned(positionOf(*this, name)))
                   : Value();
}

AffineMap Attention::map(StringRef name) const {
  return cast<AffineMapAttr>(maps[positionOf(*this, name)]).getValue();
}

ShapedType Attention::type(StringRef name) const {
  return cast<ShapedType>(operand(name).getType());
}

int64_t Attention::heads() const {
  int64_t heads = 1;
  for (int64_t extent : ArrayRef(extents).take_front(batches()))
    heads *= extent;
  return heads;
}

double Attention::flops() const {
  double points = double(heads()) * double(queries()) * double(keys());
  // The contractions: scores and output; in gradients the scores again, the
  // gradient of the weights, and the gradients that the op computes.
  double widths = isa<AttentionOp>(op) ? double(width() + valueWidth())
                  : isa<AttentionGradientOp>(op)
                      ? 3.0 * double(width()) + 2.0 * double(valueWidth())
                  : isa<AttentionQueryGradientOp>(op)
                      ? 2.0 * double(width()) + double(valueWidth())
                      : 2.0 * double(width() + valueWidth());
  return 2 * points * widths / (causal ? 2 : 1);
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

static LogicalResult verifyMaps(Operation *op, const Attention &view) {
  if (view.names.size() != op->getNumOperands()) // attention_c1
    return op->emitOpError()
           << "needs " << view.names.size() << " operands ("
           << llvm::join(view.names, ", ") << "), got " << op->getNumOperands();
  size_t outputs = llvm::TypeSwitch<Operation *, size_t>(op)
                       .Case([](AttentionGradientOp) { return 3; })
                       .Case([](AttentionQueryGradientOp) { return 1; })
                       .Default([](Operation *) { return 2; });
  auto given = cast<DestinationStyleOpInterface>(op).getNumDpsInits();
  if (size_t(given) != outputs) // attention_c1
    return op->emitOpError() << "needs " << outputs << " of its operands as "
                             << "outputs, got " << given;
  if (view.maps.size() != op->getNumOperands())
    return op->emitOpError()
           << "needs one map for each of its operands, got " << view.maps.size()
           << " maps and " << op->getNumOperands() << " operands";
  if (view.extents.size() < 4)
    return op->emitOpError() << "needs maps of at least four dimensions, got "
                             << view.extents.size();
  for (StringRef name : view.names) {
    AffineMap map = view.map(name);
    ShapedType type = view.type(name);
    if (map.getNumDims() != view.extents.size() ||
        !map.isProjectedPermutation() || !type.hasStaticShape() ||
        type.getRank() != int64_t(map.getNumResults()))
      return op->emitOpError()
             << name << " of type " << type << " does not fit its map "
             << AffineMapAttr::get(map);
    for (auto [i, extent] : llvm::enumerate(type.getShape()))
      if (view.extents[map.getDimPosition(unsigned(i))] != extent)
        return op->emitOpError()
               << name << " has " << extent
               << " elements along a dimension in which another operand has "
               << view.extents[map.getDimPosition(unsigned(i))];
  }
  return success();
}

/// Which of the last four dimensions an operand has, as characters: a letter
/// for one that it must have, "-" for one that it must not, "*" for either.
static StringRef dimsOf(StringRef name) {
  name.consume_front("d_");
  return llvm::StringSwitch<StringRef>(name)
      .Case("query", "q-w-")
      .Case("key", "-kw-")
      .Case("value", "-k-v")
      .Case("output", "q--v")
      .Cases({"mask", "keep"}, "**--")
      .Default("q---");
}

static LogicalResult verifyDims(Operation *op, const Attention &view) {
  auto keyBatches = [&](StringRef name) {
    llvm::SmallBitVector batches(view.batches());
    for (unsigned dim = 0; dim < view.batches(); ++dim)
      batches[dim] = view.map(name).isFunctionOfDim(dim);
    return batches;
  };
  for (StringRef name : view.names) {
    StringRef dims = dimsOf(name);
    for (unsigned i = 0; i < 4; ++i) // attention_c2
      if (dims[i] != '*' && view.map(name).isFunctionOfDim(
                                view.batches() + i) != (dims[i] != '-'))
        return op->emitOpError()
               << name << " must" << (dims[i] == '-' ? " not" : "")
               << " have dimension " << view.batches() + i;
    bool isKey = dims[1] == 'k';
    bool isElementwise = name == "mask" || name == "keep";
    if (!isElementwise && (isKey ? keyBatches(name) != keyBatches("key")
                                 : !keyBatches(name).all())) // attention_c3
      return op->emitOpError()
             << name
             << (isKey ? " has other batch dimensions than key"
                       : " lacks a batch dimension");
    Type element = view.type(name).getElementType();
    bool isMask = name == "mask" && element.isInteger(1);
    bool isStatistic = name == "statistics" || name == "delta";
    bool fits = isStatistic      ? element.isF32()
                : name == "keep" ? element.isInteger(1)
                                 : isMask || element.isF32() ||
                                       element.isF16() || element.isBF16();
    if (!fits) // attention_c4
      return op->emitOpError()
             << name << " cannot have elements of type " << element;
  }
  if (view.causal && view.queries() != view.keys()) // attention_c5
    return op->emitOpError()
           << "is causal and needs as many queries as keys, got "
           << view.queries() << " and " << view.keys();
  bool fills =
      view.has("mask") && view.type("mask").getElementType().isInteger(1);
  if (fills != view.fill.has_value()) // attention_c6
    return op->emitOpError() << "needs fill exactly if its mask is of i1";
  if (view.causal && fills) // attention_c8
    return op->emitOpError() << "is causal and has a mask of i1; leave out "
                                "'causal' and let the mask hide later keys";
  if (view.cap && !(*view.cap > 0)) // attention_c7
    return op->emitOpError() << "cap is " << *view.cap << ", not above 0";
  return success();
}

static LogicalResult verifyAttention(Operation *op) {
  Attention view = *Attention::get(op);
  return success(succeeded(verifyMaps(op, view)) &&
                 succeeded(verifyDims(op, view)));
}

LogicalResult AttentionOp::verify() { return verifyAttention(*this); }
LogicalResult AttentionGradientOp::verify() { return verifyAttention(*this); }
LogicalResult AttentionQueryGradientOp::verify() {
  return verifyAttention(*this);
}
LogicalResult AttentionKeyGradientOp::verify() {
  return verifyAttention(*this);
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

void listEffects(DestinationStyleOpInterface op,
                 SmallVectorImpl<MemoryEffects::EffectInstance> &effects,
                 bool readsInits) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    if (!op.isDpsInit(&operand) || readsInits)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

bufferization::AliasingValueList aliasesOf(DestinationStyleOpInterface op,
                                           OpOperand &operand) {
  if (!op.isDpsInit(&operand))
    return {};
  return {{op.getTiedOpResult(&operand),
           bufferization::BufferRelation::Equivalent}};
}

LogicalResult
bufferizeInPlace(DestinationStyleOpInterface op, RewriterBase &rewriter,
                 const bufferization::BufferizationOptions &options,
                 bufferization::BufferizationState &state) {
  if (!op.hasPureTensorSemantics())
    return success();
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> buffer =
        bufferization::getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    operands.push_back(*buffer);
  }
  rewriter.setInsertionPoint(op);
  OperationState made(op->getLoc(), op->getName(), operands, TypeRange(),
                      op->getDiscardableAttrDictionary().getValue());
  made.propertiesAttr = op->getPropertiesAsAttribute();
  rewriter.create(made);
  unsigned first = unsigned(operands.size()) - op.getNumDpsInits();
  bufferization::replaceOpWithBufferizedValues(
      rewriter, op, ArrayRef(operands).drop_front(first));
  return success();
}

} // namespace stagewright::pipeline
