// RUN: pp-opt --pipeline-form-graph --split-input-file --verify-diagnostics %s | FileCheck %s

// Annotated scopes are not scopes of the model: layers are those of h0 and h1. The loss, without parameters, goes with the layer
// before it. Names of transformations around a scope, and a second one of the same annotation, do not matter.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: layers = ["h0", "h1"]
// CHECK-SAME: pipeline.annotations = ["stagewright:replicate:2:0:model.py%3A3", "stagewright:replicate:2:0:model.py%3A3"]
#a0 = loc("jit(step)/jvp(stagewright:replicate:2:0:model.py%3A3)/jvp(stagewright:replicate:2:0:model.py%3A3)/h0/dot_general")
#a1 = loc("jit(step)/jvp(stagewright:replicate:2:0:model.py%3A3)/vmap(h1)/dot_general")
#b = loc("jit(step)/jvp()/tanh")
func.func @step(%x: tensor<4x4xf32> {pipeline.role = "batch"},
                %a: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "a"},
                %b: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "b"})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#a0)
  %1 = linalg.matmul ins(%0, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#a1)
  %2 = math.tanh %1 : tensor<4x4xf32> loc(#b)
  return %2 : tensor<4x4xf32>
}

// -----

// A layer is split where an annotation begins or ends: `blocks/0` has two products with replicate(2) and one without. An
// operation that reads no parameter belongs to the layer of the values that it reads.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: layers = ["blocks.0", "blocks.0.1", "blocks.1"]
// CHECK-SAME: pipeline.annotations = ["stagewright:replicate:2:0:model.py%3A3", "", "stagewright:split:2:1:model.py%3A7"]
// CHECK: func.func private @blocks.0.F
// CHECK-COUNT-2: linalg.matmul
// CHECK: math.tanh
// CHECK: func.func private @blocks.0.1.F
#a = loc("jit(step)/jvp(stagewright:replicate:2:0:model.py%3A3)/dot_general")
#b = loc("jit(step)/jvp(stagewright:split:2:1:model.py%3A7)/dot_general")
func.func @step(%x: tensor<4x4xf32> {pipeline.role = "batch"},
                %a: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/0/a"},
                %b: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/0/b"},
                %c: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/0/c"},
                %d: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "params/blocks/1/d"})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#a)
  %1 = linalg.matmul ins(%0, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#a)
  %2 = math.tanh %1 : tensor<4x4xf32>
  %3 = linalg.matmul ins(%2, %c : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = linalg.matmul ins(%3, %d : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#b)
  return %4 : tensor<4x4xf32>
}

// -----

// A loss after a layer without an annotation is planned with that layer.

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: pipeline.annotations = ["stagewright:replicate:2:0:model.py%3A3", "", ""]
#a = loc("jit(step)/jvp(stagewright:replicate:2:0:model.py%3A3)/h0/dot_general")
#b = loc("jit(step)/jvp(h1)/dot_general")
#c = loc("jit(step)/jvp(loss)/dot_general")
func.func @step(%x: tensor<4x4xf32> {pipeline.role = "batch"},
                %a: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "a"},
                %b: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "b"})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#a)
  %1 = linalg.matmul ins(%0, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#b)
  %2 = linalg.matmul ins(%1, %1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#c)
  return %2 : tensor<4x4xf32>
}

// -----

#nested = loc("jit(step)/jvp(stagewright:replicate:2:0:model.py%3A3)/stagewright:split:2:1:model.py%3A4/h0/dot_general")
func.func @step(%x: tensor<4x4xf32> {pipeline.role = "batch"}, %a: tensor<4x4xf32> {pipeline.role = "parameter"})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  // expected-error @unknown {{an operation is in replicate(2) at model.py:3 and in split(2) at model.py:4; annotations cannot be nested or apply to the same parameters, remove one of them}}
  %0 = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#nested)
  return %0 : tensor<4x4xf32>
}

// -----

#wrong = loc("jit(step)/jvp(stagewright:replicate:none)/h0/dot_general")
func.func @step(%x: tensor<4x4xf32> {pipeline.role = "batch"}, %a: tensor<4x4xf32> {pipeline.role = "parameter"})
    -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %z = arith.constant dense<0.0> : tensor<4x4xf32>
  // expected-error @unknown {{'stagewright:replicate:none' is not an annotation; expected stagewright:replicate:N:NUMBER:PLACE or stagewright:split:N:NUMBER:PLACE}}
  %0 = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x4xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32> loc(#wrong)
  return %0 : tensor<4x4xf32>
}
