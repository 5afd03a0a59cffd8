//===- Epilogues.cpp - elementwise work that the library fuses ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogues.h"
#include "ScalarFunction.h"
#include "stagewright/Conversion/BodiesToKernels/ContractionDims.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"
#include "stagewright/Conversion/RankToDevice/Passes.h"

namespace stagewright::device {

/// The library requires the row length of aux to be a multiple of this.
constexpr int64_t kAuxColumns = 8;

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

namespace {

/// A user of a product that the library can compute as an epilogue.
struct Use {
  linalg::GenericOp op;
  ScalarFunction function;
  StringRef kind;
  Value other; ///< the other operand, a row or an array; or null
};

std::optional<Use> classify(Operation *user, Value product) {
  auto op = dyn_cast<linalg::GenericOp>(user);
  if (!op || op->getNumResults() != 1 ||
      op->getResult(0).getType() != product.getType())
    return std::nullopt;
  FailureOr<ScalarFunction> function = ScalarFunction::get(op);
  using Leaf = ScalarFunction::Leaf;
  using Arguments = ArrayRef<Formula>;
  Leaf own{product, false};
  if (failed(function) || !llvm::is_contained(function->leaves(), own))
    return std::nullopt;
  Use use{op, *function, "", {}};
  if (function->leaves().size() == 1) {
    if (function->is({own}, [](Formulas &formulas, Arguments of) {
          return gelu(formulas, of[0]);
        }))
      use.kind = "gelu";
  } else if (function->leaves().size() == 2) {
    Leaf other = function->leaves()[function->leaves()[0] == own ? 1 : 0];
    use.other = other.array;
    bool adds = function->is(
        {own, other}, [](Formulas &, Arguments of) { return of[0] + of[1]; });
    if (adds && other.isRow)
      use.kind = "bias";
    else if (adds && other.array.getType() == product.getType())
      use.kind = "add";
    else if (other.isRow &&
             function->is({own, other}, [](Formulas &formulas, Arguments of) {
               return gelu(formulas, of[0] + of[1]);
             }))
      use.kind = "bias_gelu";
    else if (!other.isRow && other.array.getType() == product.getType() &&
             function->is({other, own}, [](Formulas &formulas, Arguments of) {
               return of[1] * geluDerivative(formulas, of[0]);
             }))
      use.kind = "dgelu";
  }
  if (use.kind.empty())
    return std::nullopt;
  return use;
}

/// `row` in type `element`, in which the library adds it to the product.
Value convertRow(OpBuilder &builder, Value row, Type element) {
  if (getElementTypeOrSelf(row) == element)
    return row;
  return bodies::createElementwise(
      builder, row.getLoc(), row, element,
      [&](OpBuilder &b, Location l, Value in) -> Value {
        if (in.getType().getIntOrFloatBitWidth() <
            element.getIntOrFloatBitWidth())
          return arith::ExtFOp::create(b, l, element, in);
        return arith::TruncFOp::create(b, l, element, in);
      });
}

/// Replaces `uses` by one operation at the first of them. Unless
/// `readsProduct`, the last result of that operation overwrites the product;
/// else the product is an input.
linalg::GenericOp write(linalg::ContractOp product, StringRef name,
                        ArrayRef<Use> uses, bool readsProduct) {
  Value result = product.getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  Operation *first = uses[0].op;
  for (const Use &use : uses)
    if (use.op->isBeforeInBlock(first))
      first = use.op;
  OpBuilder builder(first);
  Location loc = first->getLoc();
  AffineMap identity = builder.getMultiDimIdentityMap(unsigned(type.getRank()));
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  if (readsProduct) {
    inputs.push_back(result);
    maps.push_back(identity);
  } else if (Value other = uses[0].other) {
    bool isRow = cast<RankedTensorType>(other.getType()).getRank() == 1;
    inputs.push_back(isRow ? convertRow(builder, other, type.getElementType())
                           : other);
    maps.push_back(isRow ? identity.getMinorSubMap(1) : identity);
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    bool inPlace = !readsProduct && i + 1 == uses.size();
    inits.push_back(inPlace
                        ? result
                        : tensor::EmptyOp::create(builder, loc, type.getShape(),
                                                  type.getElementType())
                              .getResult());
    maps.push_back(identity);
  }
  SmallVector<utils::IteratorType> iterators(size_t(type.getRank()),
                                             utils::IteratorType::parallel);
  auto made = linalg::GenericOp::create(
      builder, loc, ValueRange(inits).getTypes(), inputs, inits, maps,
      iterators, [&](OpBuilder &b, Location l, ValueRange arguments) {
        auto leaf = [&](const ScalarFunction::Leaf &of) -> Value {
          bool own = of.array == result && !readsProduct;
          return own ? arguments.back() : arguments.front();
        };
        SmallVector<Value> yielded;
        for (const Use &use : uses)
          yielded.push_back(use.function.write(b, leaf));
        linalg::YieldOp::create(b, l, yielded);
      });
  made->setAttr(kEpilogue, builder.getStringAttr(name));
  for (auto [use, value] : llvm::zip_equal(uses, made.getResults())) {
    Operation *old = use.op;
    old->getResult(0).replaceAllUsesWith(value);
    old->erase();
  }
  return made;
}

} // namespace

linalg::GenericOp findEpilogue(linalg::ContractOp product) {
  Value result = product.getResult(0);
  auto type = cast<RankedTensorType>(result.getType());
  Type element = type.getElementType();
  // Products of 8-bit operands have other epilogues, if any, and no type of
  // bias that all devices support.
  if (getElementTypeOrSelf(product->getOperand(0)).getIntOrFloatBitWidth() == 8)
    return {};
  if ((!element.isF32() && !element.isF16() && !element.isBF16()) ||
      type.getRank() < 2 || !bodies::isZero(product.getOutputs()[0]))
    return {};
  SmallVector<Use> uses;
  bool keeps = false;
  SetVector<Operation *> users(result.user_begin(), result.user_end());
  for (Operation *user : users) {
    std::optional<Use> use = classify(user, result);
    use ? uses.push_back(*use) : void(keeps = true);
  }
  bool aligned = type.getDimSize(type.getRank() - 1) % kAuxColumns == 0;
  if (uses.size() == 1 && uses[0].kind == "gelu" && keeps && aligned)
    return write(product, "gelu_aux", uses, /*readsProduct=*/true);
  if (keeps)
    return {};
  if (uses.size() == 1 && (uses[0].kind != "dgelu" || aligned))
    return write(product, uses[0].kind, uses, /*readsProduct=*/false);
  if (uses.size() != 2 || !aligned || uses[0].other != uses[1].other)
    return {};
  if (uses[0].kind == "bias")
    std::swap(uses[0], uses[1]);
  if (uses[0].kind == "bias_gelu" && uses[1].kind == "bias")
    return write(product, "bias_gelu_aux", uses, /*readsProduct=*/false);
  return {};
}

//===----------------------------------------------------------------------===//
// Including
//===----------------------------------------------------------------------===//

/// Whether the loops `dims`, outermost first, index an operand of type `type`
/// with map `map` like one loop.
static bool walksAsOne(MemRefType type, AffineMap map,
                       ArrayRef<unsigned> dims) {
  auto [strides, offset] = type.getStridesAndOffset();
  auto placeOf = [&](unsigned dim) {
    return *map.getResultPosition(getAffineDimExpr(dim, map.getContext()));
  };
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    if (strides[placeOf(dims[i])] !=
        strides[placeOf(dims[i + 1])] * type.getDimSize(placeOf(dims[i + 1])))
      return false;
  return true;
}

bool isOneProduct(rank::ContractOp op) {
  SmallVector<AffineMap> maps = op.getMaps();
  bodies::ContractionDims dims = bodies::ContractionDims::get(maps);
  if (op.isConvolution() || !dims.complete || !dims.batch.empty())
    return false;
  // Rows and columns in the order of C, terms of the sum in that of A.
  SmallVector<unsigned> rows, columns, sum;
  for (AffineExpr expr : maps[2].getResults()) {
    unsigned dim = cast<AffineDimExpr>(expr).getPosition();
    bool isRow = llvm::is_contained(dims.m, dim);
    if (isRow && !columns.empty())
      return false;
    (isRow ? rows : columns).push_back(dim);
  }
  for (AffineExpr expr : maps[0].getResults())
    if (unsigned dim = cast<AffineDimExpr>(expr).getPosition();
        llvm::is_contained(dims.k, dim))
      sum.push_back(dim);
  auto walks = [&](unsigned i, Value operand, ArrayRef<unsigned> list) {
    return walksAsOne(cast<MemRefType>(operand.getType()), maps[i], list);
  };
  Value a = op.getLhs(), b = op.getRhs(), c = op.getWritten();
  return walks(2, c, rows) && walks(2, c, columns) && walks(0, a, rows) &&
         walks(0, a, sum) && walks(1, b, sum) && walks(1, b, columns);
}

Value productOf(linalg::GenericOp epilogue) {
  auto name = epilogue->getAttrOfType<StringAttr>(kEpilogue);
  auto kind = name ? rank::symbolizeEpilogue(name.getValue()) : std::nullopt;
  if (!kind)
    return {};
  return kind == rank::Epilogue::GeluAux ? epilogue.getDpsInputs()[0]
                                         : epilogue.getDpsInits().back();
}

/// The operation that stores `product`, if nothing comes between it and
/// `epilogue` but operations that compute addresses or allocate.
static rank::ContractOp writerOf(Value product, linalg::GenericOp epilogue) {
  Operation *before = epilogue->getPrevNode();
  while (before && (isMemoryEffectFree(before) || isa<memref::AllocOp>(before)))
    before = before->getPrevNode();
  auto writer = dyn_cast_or_null<rank::ContractOp>(before);
  return writer && writer.getWritten() == product ? writer : rank::ContractOp();
}

/// Lets `product` do what `epilogue` does.
static void include(rank::ContractOp product, linalg::GenericOp epilogue,
                    rank::Epilogue kind) {
  product->moveBefore(epilogue); // after the buffers of the epilogue exist
  Value input =
      epilogue.getNumDpsInputs() ? epilogue.getDpsInputs()[0] : Value();
  product.setEpilogue(kind);
  product.getWrittenMutable().assign(epilogue.getDpsInits()[0]);
  switch (kind) {
  case rank::Epilogue::Gelu:
    return;
  case rank::Epilogue::Bias:
  case rank::Epilogue::BiasGelu:
    return product.getBiasMutable().assign(input);
  case rank::Epilogue::BiasGeluAux:
    product.getBiasMutable().assign(input);
    return product.getAuxMutable().assign(epilogue.getDpsInits()[1]);
  case rank::Epilogue::GeluAux:
  case rank::Epilogue::Dgelu:
  case rank::Epilogue::Add:
    return product.getAuxMutable().assign(input);
  }
}

void includeEpilogues(Block &body, function_ref<void(Operation *)> outline) {
  for (auto epilogue :
       llvm::make_early_inc_range(body.getOps<linalg::GenericOp>())) {
    Value result = productOf(epilogue);
    if (!result)
      continue;
    auto name = cast<StringAttr>(epilogue->removeAttr(kEpilogue));
    rank::ContractOp product = writerOf(result, epilogue);
    auto isWhole = [](Value value) {
      return cast<MemRefType>(value.getType()).getLayout().isIdentity();
    };
    if (!product || !product.overwrites() || !isOneProduct(product) ||
        !llvm::all_of(epilogue->getOperands(), isWhole))
      continue;
    outline(epilogue);
    include(product, epilogue, *rank::symbolizeEpilogue(name.getValue()));
    epilogue.erase();
  }
}

} // namespace stagewright::device
