//===- EqualBodies.cpp - functions with equal bodies ----------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "stagewright/Analysis/EqualBodies.h"
#include "stagewright/Dialect/LLVM.h"
#include "llvm/ADT/Hashing.h"

namespace stagewright::pipeline {

namespace {
/// A hash that is equal for bodies that are equal up to names and locations:
/// values are numbered in order of appearance.
class BodyHash {
public:
  static llvm::hash_code of(func::FuncOp body) {
    BodyHash hash;
    hash.add(hash_value(body.getFunctionType()));
    hash.addRegion(body.getBody());
    return hash.state;
  }

private:
  void add(llvm::hash_code code) { state = llvm::hash_combine(state, code); }

  void addRegion(Region &region) {
    for (Block &block : region) {
      for (BlockArgument argument : block.getArguments())
        define(argument);
      for (Operation &op : block)
        addOperation(op);
    }
  }

  void addOperation(Operation &op) {
    add(hash_value(op.getName()));
    add(hash_value(op.getDiscardableAttrDictionary()));
    add(op.hashProperties());
    for (Value operand : op.getOperands())
      add(llvm::hash_value(numbers.lookup(operand)));
    for (Value result : op.getResults())
      define(result);
    for (Region &region : op.getRegions())
      addRegion(region);
  }

  void define(Value value) {
    numbers.try_emplace(value, numbers.size() + 1);
    add(hash_value(value.getType()));
  }

  llvm::hash_code state{0};
  llvm::DenseMap<Value, unsigned> numbers;
};
} // namespace

func::FuncOp EqualBodies::find(func::FuncOp body) {
  SmallVector<func::FuncOp, 1> &sameHash = byHash[BodyHash::of(body)];
  for (func::FuncOp other : sameHash)
    if (other.getFunctionType() == body.getFunctionType() &&
        other.getArgAttrsAttr() == body.getArgAttrsAttr() &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &body.getBody(),
            OperationEquivalence::IgnoreLocations))
      return other;
  sameHash.push_back(body);
  return body;
}

} // namespace stagewright::pipeline
