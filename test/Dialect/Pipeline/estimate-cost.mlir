// RUN: pp-opt %s -split-input-file -pipeline-estimate-cost=cluster=local:1 | FileCheck %s
// RUN: pp-opt %s -split-input-file -pipeline-estimate-cost=cluster=h100 | FileCheck %s --check-prefix=GPU
// A small convolution is far from the rate of its type; a pooling is none, and takes the time of its 640 bytes at 3.35 TB/s.
// GPU: "conv.F" {{.*}} seconds = {H100 = 3.6{{[0-9]*}}E-8
// GPU: "pool.F" {{.*}} seconds = {H100 = 1.910{{[0-9]*}}E-10

// The flops of an operation are those of its region times the points of the iteration domain; bytes are those of the node's
// inputs and results, each value once.
// CHECK-LABEL: pipeline.graph @step
pipeline.graph @step(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %i: tensor<1x2x8x8xf32>, %f: tensor<3x2x3x3xf32>)
    -> (tensor<8x4xf32>, tensor<1x3x6x6xf32>, tensor<1x2x4x4xf32>, tensor<8x16xf32>, tensor<8xf32>)
    attributes {layers = ["a"]} {
  // CHECK: "matmul.F" {{.*}} cost <flops = 1024, read = 768, written = 128, seconds = {"cpu-core" = 4.480000e-08 : f64}>
  %0 = pipeline.node "matmul.F" @matmul phase F layer 0 (%x, %w) : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  // 2 * (3 * 6 * 6 outputs) * (2 * 3 * 3 filter elements)
  // CHECK: "conv.F" {{.*}} cost <flops = 3888,
  %1 = pipeline.node "conv.F" @conv phase F layer 0 (%i, %f) : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32>
  // (2 * 4 * 4 outputs) * (2 * 2 window)
  // CHECK: "pool.F" {{.*}} cost <flops = 128,
  %2 = pipeline.node "pool.F" @pool phase F layer 0 (%i) : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  // One multiplication and an exponential, which counts as 20; the same input twice is read once.
  // CHECK: "map.F" {{.*}} cost <flops = 2688, read = 512, written = 512,
  %3 = pipeline.node "map.F" @map phase F layer 0 (%x, %x) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // Ten trips of 8 additions, and a call of the same body twice.
  // CHECK: "loop.F" {{.*}} cost <flops = 96,
  %4 = pipeline.node "loop.F" @loop phase F layer 0 (%x) : (tensor<8x16xf32>) -> tensor<8xf32>
  pipeline.yield %0, %1, %2, %3, %4 results [0, 1, 2, 3, 4]
    : tensor<8x4xf32>, tensor<1x3x6x6xf32>, tensor<1x2x4x4xf32>, tensor<8x16xf32>, tensor<8xf32>
}
func.func private @matmul(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>) outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
func.func private @conv(%i: tensor<1x2x8x8xf32>, %f: tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32> {
  %e = tensor.empty() : tensor<1x3x6x6xf32>
  %0 = linalg.conv_2d_nchw_fchw ins(%i, %f : tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>)
    outs(%e : tensor<1x3x6x6xf32>) -> tensor<1x3x6x6xf32>
  return %0 : tensor<1x3x6x6xf32>
}
func.func private @pool(%i: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %e = tensor.empty() : tensor<1x2x4x4xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>} ins(%i, %w : tensor<1x2x8x8xf32>, tensor<2x2xf32>)
    outs(%e : tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}
func.func private @map(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = arith.mulf %x, %y : tensor<8x16xf32>
  %1 = math.exp %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
func.func private @row(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %s = tensor.extract_slice %x[0, 0] [8, 1] [1, 1] : tensor<8x16xf32> to tensor<8xf32>
  %0 = arith.addf %s, %s : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @loop(%x: tensor<8x16xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %a = func.call @row(%x) : (tensor<8x16xf32>) -> tensor<8xf32>
  %b = func.call @row(%x) : (tensor<8x16xf32>) -> tensor<8xf32>
  %0 = scf.for %k = %c0 to %c10 step %c1 iter_args(%acc = %a) -> tensor<8xf32> {
    %1 = arith.addf %acc, %b : tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----

// A node without a body keeps its counts and its own seconds; a missing class is estimated if the node has counts.
pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
  // CHECK: "a.F" {{.*}} cost <flops = 7, seconds = {"cpu-core" = 2.500000e-01 : f64}>
  %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, seconds = {"cpu-core" = 2.5e-01 : f64}> : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: "b.F" {{.*}} cost <flops = 78000000000, seconds = {"cpu-core" = 1.000000e+00 : f64}>
  %1 = pipeline.node "b.F" phase F layer 0 (%0) cost <flops = 78000000000> : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: "c.F" {{.*}} cost <seconds = {profiled = 2.000000e+00 : f64}>
  %2 = pipeline.node "c.F" phase F layer 0 (%1) cost <seconds = {"profiled" = 2.0 : f64}> : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %2 results [0] : tensor<8xf32>
}
