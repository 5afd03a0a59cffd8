//===- RaiseAttention.cpp - pipeline-raise-attention ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention/MatchAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Utils/Utils.h"
#include "mlir/Pass/PassManager.h"
#include "stagewright/Analysis/Work.h"
#include "stagewright/Dialect/Pipeline/IR/Attention.h"
#include "stagewright/Dialect/Pipeline/IR/Roles.h"
#include "stagewright/Dialect/Pipeline/Transforms/EnsureGraph.h"
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h"

namespace stagewright::pipeline {
#define GEN_PASS_DEF_RAISEATTENTION
#include "stagewright/Dialect/Pipeline/Transforms/Passes.h.inc"

namespace {

/// Max width of a head, in elements: rows of several blocks must fit into the
/// shared memory of a GPU.
constexpr int64_t kMostWidth = 256;

/// Max operations after a product that are searched for a softmax.
constexpr size_t kMostFollowed = 64;

/// Extent of dimension `dim` of attention; 1 if `of` does not have it.
int64_t widthOf(const Indexed &of, unsigned dim) {
  auto shape = cast<RankedTensorType>(of.value.getType()).getShape();
  for (auto [i, extent] : llvm::enumerate(shape))
    if (of.map.getDimPosition(unsigned(i)) == dim)
      return extent;
  return 1;
}

/// The order of the operations of a block. Operations may be added, but none
/// may be moved or erased. MLIR's own order would be renumbered, over the whole
/// block, after every few additions.
class Order {
public:
  explicit Order(Block &block) {
    for (Operation &op : block)
      numbers[&op] = int64_t(numbers.size() + 1) * kStride;
  }

  bool isBefore(Operation *a, Operation *b) const {
    return numberOf(a) < numberOf(b);
  }

  /// The later of two operations; null is before all.
  Operation *later(Operation *a, Operation *b) const {
    if (!a || !b)
      return a ? a : b;
    return isBefore(a, b) ? b : a;
  }

private:
  /// More operations than are ever added at one place.
  static constexpr int64_t kStride = int64_t(1) << 24;

  int64_t numberOf(Operation *op) const {
    for (int64_t behind = 0;; ++behind, op = op->getPrevNode()) {
      if (!op)
        return behind;
      if (auto number = numbers.find(op); number != numbers.end())
        return number->second + behind;
    }
  }

  llvm::DenseMap<Operation *, int64_t> numbers;
};

class Writer {
public:
  Writer(AttentionMatch match, Block &block, const Order &order)
      : match(std::move(match)), block(block), order(order),
        builder(block.getParentOp()) {}

  /// Whether all operands are computed before the first use of any result.
  bool fits() {
    forward = lastOf({match.query, match.key, match.value});
    for (const auto &of : {match.mask, match.keep})
      if (of)
        forward = order.later(forward, of->value.getDefiningOp());
    if (match.output && !precedes(forward, *match.output))
      return false;
    if (!match.dOutput)
      return true;
    backward = order.later(forward, match.dOutput->value.getDefiningOp());
    if (match.output)
      backward = order.later(backward, match.output->value.getDefiningOp());
    return precedes(backward, *match.dQuery) &&
           precedes(backward, *match.dKey) && precedes(backward, *match.dValue);
  }

  void write() {
    // Insert at the product of weights and values, if there is one.
    Operation *at =
        match.output ? match.output->value.getDefiningOp() : nullptr;
    Location loc = at ? at->getLoc() : match.dQuery->value.getLoc();
    at ? builder.setInsertionPoint(at) : insertAfter(backward);
    for (auto *of : {&match.mask, &match.keep})
      if (*of)
        dropUnits(**of);
    Indexed output = match.output ? *match.output : *match.dOutput;
    AffineMap rows = rowMap();
    auto made = create<AttentionOp>(
        loc, {match.query, match.key, match.value}, {},
        {{outputType(output), output.map}, {rowType(output, rows), rows}});
    Indexed result{made->getResult(0), output.map};
    Indexed statistics{made->getResult(1), rows};
    if (match.output)
      match.output->value.replaceAllUsesWith(result.value);
    if (!match.dOutput)
      return;
    loc = match.dQuery->value.getLoc();
    insertAfter(order.later(backward, made));
    auto gradient = create<AttentionGradientOp>(
        loc, {match.query, match.key, match.value},
        {result, statistics, *match.dOutput},
        {{outputType(*match.dQuery), match.dQuery->map},
         {outputType(*match.dKey), match.dKey->map},
         {outputType(*match.dValue), match.dValue->map}});
    match.dQuery->value.replaceAllUsesWith(gradient->getResult(0));
    match.dKey->value.replaceAllUsesWith(gradient->getResult(1));
    match.dValue->value.replaceAllUsesWith(gradient->getResult(2));
  }

private:
  using Made = std::pair<RankedTensorType, AffineMap>;

  Operation *lastOf(ArrayRef<Indexed> values) {
    Operation *last = nullptr;
    for (const Indexed &of : values)
      last = order.later(last, of.value.getDefiningOp());
    return last;
  }

  bool precedes(Operation *op, const Indexed &made) {
    return !op || llvm::all_of(made.value.getUsers(), [&](Operation *user) {
      user = block.findAncestorOpInBlock(*user);
      return order.isBefore(op, user);
    });
  }

  void insertAfter(Operation *op) {
    op ? builder.setInsertionPointAfter(op)
       : builder.setInsertionPointToStart(&block);
  }

  /// Drops the axes of extent 1 that are no dimension of attention.
  void dropUnits(Indexed &of) {
    llvm::SmallBitVector units(of.map.getNumResults());
    for (auto [axis, expr] : llvm::enumerate(of.map.getResults()))
      units[unsigned(axis)] = isa<AffineConstantExpr>(expr);
    if (units.none())
      return;
    of = {
        tensor::dropGivenUnitDims(builder, of.value.getLoc(), of.value, units),
        of.map.dropResults(units)};
  }

  static RankedTensorType outputType(const Indexed &of) {
    return cast<RankedTensorType>(of.value.getType());
  }

  /// The map of a value per row of the scores: all batches, and queries.
  AffineMap rowMap() {
    return AffineMap::getMultiDimIdentityMap(match.batches + 4,
                                             builder.getContext())
        .getMajorSubMap(match.batches + 1);
  }

  RankedTensorType rowType(const Indexed &output, AffineMap rows) {
    SmallVector<int64_t> shape(rows.getNumResults());
    for (auto [i, extent] : llvm::enumerate(outputType(output).getShape()))
      if (unsigned dim = output.map.getDimPosition(unsigned(i));
          dim < shape.size())
        shape[dim] = extent;
    return RankedTensorType::get(shape, builder.getF32Type());
  }

  template <typename Op>
  Operation *create(Location loc, ArrayRef<Indexed> first,
                    ArrayRef<Indexed> second, ArrayRef<Made> made) {
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    SmallVector<Indexed> all(first);
    for (const auto &of : {match.mask, match.keep})
      if (of)
        all.push_back(*of);
    llvm::append_range(all, second);
    for (const Indexed &of : all) {
      inputs.push_back(of.value);
      maps.push_back(of.map);
    }
    for (auto [type, map] : made) {
      outputs.push_back(tensor::EmptyOp::create(builder, loc, type.getShape(),
                                                type.getElementType()));
      maps.push_back(map);
    }
    bool fills = match.mask &&
                 getElementTypeOrSelf(match.mask->value.getType()).isInteger(1);
    auto number = [&](std::optional<double> of) {
      return of ? builder.getF32FloatAttr(float(*of)) : FloatAttr();
    };
    auto op = Op::create(
        builder, loc, ValueRange(outputs).getTypes(), inputs, outputs,
        builder.getAffineMapArrayAttr(maps), number(match.scale),
        number(match.cap), match.causal ? builder.getUnitAttr() : UnitAttr(),
        number(fills ? match.fill : std::nullopt), number(match.kept));
    return op;
  }

  AttentionMatch match;
  Block &block;
  const Order &order;
  OpBuilder builder;
  Operation *forward = nullptr, *backward = nullptr;
};

struct RaiseAttentionPass : impl::RaiseAttentionBase<RaiseAttentionPass> {
  using RaiseAttentionBase::RaiseAttentionBase;

  void runOnOperation() override {
    FunctionOpInterface step = findAnnotatedStep(getOperation());
    if (!step) {
      if (failed(run(createInferRoles())))
        return signalPassFailure();
      step = findAnnotatedStep(getOperation());
    }
    if (!step || !step.getFunctionBody().hasOneBlock())
      return;
    Block &block = step.getFunctionBody().front();
    eraseDead(block);
    SmallVector<linalg::LinalgOp> products;
    for (auto op : block.getOps<linalg::LinalgOp>())
      if (isContraction(op) && op->getNumResults() == 1)
        products.push_back(op);
    Order order(block);
    for (linalg::LinalgOp product : products)
      raise(product, block, order);
    eraseDead(block);
  }

  /// Whether `value` is a parameter, perhaps cast, transposed or sliced.
  static bool isWeight(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      if (linalgOp ? linalgOp.getNumDpsInputs() != 1
                   : op->getNumOperands() == 0)
        return false;
      value = op->getOperand(0);
    }
    auto argument = cast<BlockArgument>(value);
    auto step =
        dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return step &&
           argumentRole(step, argument.getArgNumber()) == Role::Parameter;
  }

  /// Whether an exponential and a maximum are computed from `product` by
  /// elementwise operations and reductions. Then it may be the scores of
  /// attention, and a remark reports why it is not raised.
  static bool feedsSoftmax(linalg::LinalgOp product) {
    llvm::SetVector<Operation *> seen;
    seen.insert(product);
    bool exponential = false, maximum = false;
    for (size_t i = 0; i < std::min<size_t>(seen.size(), kMostFollowed); ++i) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(seen[i]);
      if (i > 0 && linalgOp && isContraction(linalgOp))
        continue;
      seen[i]->walk([&](Operation *inner) {
        exponential |= isa<math::ExpOp>(inner);
        maximum |= linalgOp && linalgOp.getNumReductionLoops() > 0 &&
                   isa<arith::MaximumFOp, arith::MaxNumFOp>(inner);
      });
      if (exponential && maximum)
        return true;
      seen.insert(seen[i]->user_begin(), seen[i]->user_end());
    }
    return false;
  }

  void raise(linalg::LinalgOp product, Block &block, const Order &order) {
    auto type = cast<RankedTensorType>(product->getResult(0).getType());
    if (!type.hasStaticShape() || !isa<FloatType>(type.getElementType()) ||
        type.getElementType().getIntOrFloatBitWidth() > 32 ||
        type.getNumElements() * int64_t(sizeof(float)) <= scoreBytes)
      return;
    std::string why = tryRaise(product, block, order);
    if (why.empty()) {
      ++numRaised;
      return;
    }
    // A product with one weight makes logits (of tokens, of experts). The
    // product that makes a weight's gradient has no softmax after it.
    bool isLogits = product.getNumDpsInputs() > 1 &&
                    isWeight(product.getDpsInputs()[0]) !=
                        isWeight(product.getDpsInputs()[1]);
    if (!isLogits && feedsSoftmax(product))
      product->emitRemark()
          << "attention does not become one kernel: " << why << "; its scores, "
          << type.getNumElements() * int64_t(sizeof(float))
          << " bytes of one microbatch in float32, stay an array";
  }

  /// Raises `product`, or returns why it cannot be raised.
  static std::string tryRaise(linalg::LinalgOp product, Block &block,
                              const Order &order) {
    FailureOr<Scores> scores = Scores::collect(product);
    if (failed(scores))
      return "an operation reads values computed from its scores and is "
             "neither elementwise, nor a reduction over one dimension, nor a "
             "product";
    std::string why;
    std::optional<AttentionMatch> match = matchAttention(*scores, why);
    if (!match)
      return why;
    int64_t width = std::max(widthOf(match->query, match->batches + 2),
                             widthOf(match->value, match->batches + 3));
    if (width > kMostWidth)
      return "its heads are " + std::to_string(width) +
             " wide, a kernel takes at most " + std::to_string(kMostWidth);
    Writer writer(std::move(*match), block, order);
    if (!writer.fits())
      return "one of its inputs is computed after the first use of one of its "
             "results";
    writer.write();
    return "";
  }

  static void eraseDead(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
};

} // namespace
} // namespace stagewright::pipeline
