// RUN: pp-opt %s --pipeline-infer-roles --split-input-file --verify-diagnostics | FileCheck %s

// A hint about the hidden units of a perceptron splits columns of `up`, rows of `down`; one about heads in a fused projection
// splits each of its three chunks, and the rows of the output projection.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: pipeline.name = "up"{{[^}]*}}pipeline.split_derived, pipeline.split_dim = 1 : i64}
// CHECK-SAME: pipeline.name = "down"{{[^}]*}}pipeline.split_derived, pipeline.split_dim = 0 : i64}
// CHECK-SAME: pipeline.name = "whole", pipeline.position = 2 : i64, pipeline.role = "parameter"}
// CHECK-NOT: split_hint
func.func @step(%up: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "up"},
                %down: tensor<6x4xf32> {pipeline.role = "parameter", pipeline.name = "down"},
                %w: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "whole"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x4xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<8x6xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<8x6xf32>) -> tensor<8x6xf32>
  %ex = tensor.empty() : tensor<8x4xf32>
  %zx = linalg.fill ins(%zero : f32) outs(%ex : tensor<8x4xf32>) -> tensor<8x4xf32>
  %x0 = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%zx : tensor<8x4xf32>) -> tensor<8x4xf32>
  %h = linalg.matmul ins(%x0, %up : tensor<8x4xf32>, tensor<4x6xf32>) outs(%zh : tensor<8x6xf32>) -> tensor<8x6xf32>
  %h1 = pipeline.split_hint %h dim 1 : tensor<8x6xf32>
  %h2 = pipeline.split_hint %h1 dim 1 : tensor<8x6xf32>
  %y = linalg.matmul ins(%h2, %down : tensor<8x6xf32>, tensor<6x4xf32>) outs(%zx : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @step(
// CHECK-SAME: pipeline.name = "qkv"{{[^}]*}}pipeline.split_derived, pipeline.split_dim = 1 : i64, pipeline.split_outer = 3 : i64, pipeline.split_unit = 2 : i64}
func.func @step(%qkv: tensor<4x12xf32> {pipeline.role = "parameter", pipeline.name = "qkv"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x2x2xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x12xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x12xf32>) -> tensor<8x12xf32>
  %y = linalg.matmul ins(%x, %qkv : tensor<8x4xf32>, tensor<4x12xf32>) outs(%z : tensor<8x12xf32>) -> tensor<8x12xf32>
  %q = tensor.extract_slice %y[0, 0] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %k = tensor.extract_slice %y[0, 4] [8, 4] [1, 1] : tensor<8x12xf32> to tensor<8x4xf32>
  %heads = tensor.expand_shape %q [[0], [1, 2]] output_shape [8, 2, 2] : tensor<8x4xf32> into tensor<8x2x2xf32>
  %others = tensor.expand_shape %k [[0], [1, 2]] output_shape [8, 2, 2] : tensor<8x4xf32> into tensor<8x2x2xf32>
  %h = pipeline.split_hint %heads dim 1 : tensor<8x2x2xf32>
  %eh = tensor.empty() : tensor<8x2x2xf32>
  %r = linalg.add ins(%h, %others : tensor<8x2x2xf32>, tensor<8x2x2xf32>) outs(%eh : tensor<8x2x2xf32>) -> tensor<8x2x2xf32>
  return %r : tensor<8x2x2xf32>
}

// -----

// Over a grid the attributes have an entry for each axis. What the file states itself comes first.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: pipeline.name = "up"{{[^}]*}}pipeline.split_derived = array<i64: 1, 1>, pipeline.split_dim = array<i64: 1, 0>}
// CHECK-SAME: pipeline.name = "down"{{[^}]*}}pipeline.split_derived = array<i64: 1, 0>, pipeline.split_dim = array<i64: 0, 1>}
// CHECK-NOT: split_hint
func.func @step(%up: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "up"},
                %down: tensor<6x4xf32> {pipeline.role = "parameter", pipeline.name = "down", pipeline.split_dim = array<i64: -1, 1>},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x4xf32> {pipeline.role = "output"}) {
  %x1 = pipeline.split_hint %x dim 1 axis 1 : tensor<8x4xf32>
  %zero = arith.constant 0.0 : f32
  %eh = tensor.empty() : tensor<8x6xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<8x6xf32>) -> tensor<8x6xf32>
  %ex = tensor.empty() : tensor<8x4xf32>
  %zx = linalg.fill ins(%zero : f32) outs(%ex : tensor<8x4xf32>) -> tensor<8x4xf32>
  %h = linalg.matmul ins(%x1, %up : tensor<8x4xf32>, tensor<4x6xf32>) outs(%zh : tensor<8x6xf32>) -> tensor<8x6xf32>
  %h1 = pipeline.split_hint %h dim 1 axis 0 : tensor<8x6xf32>
  %h2 = pipeline.split_hint %h1 dim 1 axis 0 : tensor<8x6xf32>
  %y = linalg.matmul ins(%h2, %down : tensor<8x6xf32>, tensor<6x4xf32>) outs(%zx : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @step(
// CHECK-NOT: split_dim
func.func @step(%w: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x4xf32> {pipeline.role = "output"}) {
  // expected-remark @+1 {{the split of dimension 0 of 'tensor<8x4xf32>', and those of 1 other values, have no effect: no parameter is split with it}}
  %g = pipeline.split_hint %x dim 0 : tensor<8x4xf32>
  %h = pipeline.split_hint %g dim 0 : tensor<8x4xf32>
  %ex = tensor.empty() : tensor<8x4xf32>
  %y = linalg.matmul ins(%h, %w : tensor<8x4xf32>, tensor<4x4xf32>) outs(%ex : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

func.func @step(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{dimension must be less than 2, the rank of 'tensor<8x4xf32>', got 2}}
  %h = pipeline.split_hint %x dim 2 : tensor<8x4xf32>
  return %h : tensor<8x4xf32>
}

// -----

func.func @step(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{axis of a grid must be from 0 to 1, got 2}}
  %h = pipeline.split_hint %x dim 1 axis 2 : tensor<8x4xf32>
  return %h : tensor<8x4xf32>
}
