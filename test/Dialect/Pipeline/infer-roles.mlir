// RUN: pp-opt --pipeline-infer-roles --split-input-file %s | FileCheck %s
// RUN: pp-opt --pipeline-infer-roles --split-input-file %s 2>&1 | FileCheck %s --check-prefix=REMARK

// A training step: what follows from its roles is filled in.
// CHECK-LABEL: func.func @step
// CHECK-SAME: {pipeline.name = "w", pipeline.position = 0 : i64, pipeline.role = "parameter"}
// CHECK-SAME: {pipeline.batch_dim = 0 : i64, pipeline.name = "batch1", pipeline.position = 1 : i64, pipeline.role = "batch"}
// CHECK-SAME: {pipeline.combine = "mean", pipeline.name = "loss", pipeline.position = 0 : i64, pipeline.role = "loss"}
// CHECK-SAME: {pipeline.combine = "sum", pipeline.name = "gradient/w", pipeline.of = 0 : i64, pipeline.position = 1 : i64, pipeline.role = "gradient"}
func.func @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "w"}, %x: tensor<8x4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64, pipeline.combine = "sum"}) {
  %loss = arith.constant dense<0.0> : tensor<f32>
  %dw = arith.constant dense<0.0> : tensor<4xf32>
  return %loss, %dw : tensor<f32>, tensor<4xf32>
}

// -----

// An inference graph: large constants become parameters that keep their data; small ones and index tables stay.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[X:.*]]: tensor<2x1024xf32> {pipeline.batch_dim = 0 : i64, pipeline.name = "batch0", pipeline.position = 0 : i64, pipeline.role = "batch"}
// CHECK-SAME: %[[W:.*]]: tensor<1024xf32> {pipeline.name = "parameter1", pipeline.position = 1 : i64, pipeline.role = "parameter", pipeline.value = dense_resource<weights> : tensor<1024xf32>}
// CHECK-SAME: -> (tensor<2x1024xf32> {pipeline.batch_dim = 0 : i64, pipeline.combine = "concat", pipeline.name = "output0", pipeline.position = 0 : i64, pipeline.role = "output"})
// CHECK-NOT: dense_resource<weights>
// CHECK: dense_resource<table> : tensor<1024xi32>
// CHECK: dense<[1.000000e+00, 2.000000e+00]>
// CHECK: linalg.broadcast ins(%[[W]]
// REMARK: remark: @forward is taken as the step because it is the only public function
func.func @forward(%x: tensor<2x1024xf32>) -> tensor<2x1024xf32> {
  %weights = arith.constant dense_resource<weights> : tensor<1024xf32>
  %table = arith.constant dense_resource<table> : tensor<1024xi32>
  %small = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<2x1024xf32>
  %w = linalg.broadcast ins(%weights : tensor<1024xf32>) outs(%e : tensor<2x1024xf32>) dimensions = [0]
  %s = linalg.broadcast ins(%small : tensor<2xf32>) outs(%e : tensor<2x1024xf32>) dimensions = [1]
  %t = tensor.extract_slice %table[0] [1] [1] : tensor<1024xi32> to tensor<1xi32>
  %y = arith.addf %x, %w : tensor<2x1024xf32>
  %z = arith.addf %y, %s : tensor<2x1024xf32>
  return %z : tensor<2x1024xf32>
}

// -----

// Elided weights are parameters too, and helpers of the frontend are inlined.
// CHECK-LABEL: func.func @step
// CHECK-SAME: pipeline.value = dense_resource<__elided__>
// CHECK-NOT: call
func.func @step(%x: tensor<2048xf32>) -> tensor<2048xf32> {
  %w = arith.constant dense_resource<__elided__> : tensor<2048xf32>
  %y = func.call @relu(%x, %w) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  return %y : tensor<2048xf32>
}
// CHECK-NOT: @relu
func.func private @relu(%x: tensor<2048xf32>, %w: tensor<2048xf32>) -> tensor<2048xf32> {
  %y = arith.maximumf %x, %w : tensor<2048xf32>
  return %y : tensor<2048xf32>
}
