//===- Accumulate.cpp - bodies that add to an accumulator -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that is summed over microbatches becomes `accumulator + result`, in
// place: a linalg.generic whose output is the accumulator. The operation that
// makes the result can then be fused with the addition, or add to the
// accumulator itself, as a contraction does. If several results go to one sum,
// they are added one after another to one accumulator argument: with an
// argument for each, two arguments would alias, but kernels assume that
// arguments do not. Layers share bodies, so there is one variant for each body
// with the same written and the same summed results.
//
//===----------------------------------------------------------------------===//

#include "RankPlan.h"
#include "stagewright/Conversion/BodiesToKernels/TensorUtils.h"

namespace stagewright::torank {

llvm::MapVector<int64_t, std::vector<unsigned>> NodePlan::sums() const {
  llvm::MapVector<int64_t, std::vector<unsigned>> found;
  for (auto [number, result] : accumulated)
    found[result].push_back(number);
  return found;
}

FailureOr<func::FuncOp> getVariant(const NodePlan &plan, SymbolTable &symbols,
                                   Variants &made) {
  pipeline::NodeOp node = plan.node;
  auto body = symbols.lookup<func::FuncOp>(*node.getCallee());
  if (!body || body.isExternal() || !body.getBody().hasOneBlock())
    return emitError(node.getLoc()) << "body @" << *node.getCallee()
                                    << " must be a function of one block";
  std::vector<unsigned> written(plan.written.begin(), plan.written.end());
  std::vector<std::vector<unsigned>> summed;
  for (const auto &[ignored, numbers] : plan.sums())
    summed.push_back(numbers);
  if (summed.empty() && written.size() == node.getNumResults())
    return body;
  func::FuncOp &variant = made[{body, written, summed}];
  if (variant)
    return variant;

  variant = body.clone();
  variant.setName((body.getName() + ".sum").str());
  symbols.insert(variant, std::next(Block::iterator(body)));
  Block &block = variant.getBody().front();
  auto end = cast<func::ReturnOp>(block.getTerminator());
  OpBuilder builder(end);
  SmallVector<Value> results;
  for (unsigned number : written)
    results.push_back(end.getOperand(number));
  for (const std::vector<unsigned> &numbers : summed) {
    Type type = end.getOperand(numbers.front()).getType();
    unsigned index = variant.getNumArguments();
    auto marks = builder.getDictionaryAttr(builder.getNamedAttr(
        rank::RankDialect::kAccumulate, builder.getUnitAttr()));
    if (failed(variant.insertArgument(index, type, marks, body.getLoc())))
      return failure();
    Value sum = block.getArgument(index);
    for (unsigned number : numbers)
      sum = bodies::createUpdate(builder, end.getLoc(), sum,
                                 end.getOperand(number));
    results.push_back(sum);
  }
  end->setOperands(results);
  SmallVector<Type> types(ValueRange(results).getTypes());
  variant.setFunctionType(
      builder.getFunctionType(block.getArgumentTypes(), types));
  variant.removeResAttrsAttr();
  return variant;
}

} // namespace stagewright::torank
