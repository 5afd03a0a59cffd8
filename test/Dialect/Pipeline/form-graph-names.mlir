// RUN: pp-opt --pipeline-form-graph=layers=1 --split-input-file %s | FileCheck %s

// Names of scopes may have parentheses with a slash inside.
// CHECK-LABEL: pipeline.graph @step
func.func @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output"}) {
  %0 = arith.addf %x, %x : tensor<4xf32> loc("jit(step)/mean(x/y) loss/add")
  return %0 : tensor<4xf32>
}

// -----

// The second visit of a scope gets a name that no scope has.
// CHECK-LABEL: pipeline.graph @step
// CHECK: layers = ["a", "a.1", "a.2"]
func.func @step(%w: tensor<4x4xf32> {pipeline.role="parameter"}, %x: tensor<4x4xf32> {pipeline.role="batch"}) -> (tensor<4x4xf32> {pipeline.role="output"}) {
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("jit(step)/a/dot")
  %1 = linalg.matmul ins(%0, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("jit(step)/a.1/dot")
  %2 = linalg.matmul ins(%1, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32> loc("jit(step)/a/dot")
  return %2 : tensor<4x4xf32>
}
