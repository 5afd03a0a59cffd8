// RUN: pp-opt --pipeline-split-slices --split-input-file %s | FileCheck %s
// RUN: pp-opt --pipeline-split-slices --split-input-file %s 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not pp-opt --pipeline-split-slices --pipeline-shard=ways=2 --split-input-file %s 2>&1 | FileCheck %s --check-prefix=STACK

// STACK: error: parameter 'w' is a row of stacked layers and cannot be split over shards as well, as the model's own file says; import the layers apart, or say 'w=whole'

// Every slice becomes an argument of the same position; the gradient's rows become results.
// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[A:.*]]: tensor<4xf32> {pipeline.name = "b", pipeline.position = 0 : i64, pipeline.role = "parameter"},
// CHECK-SAME: %[[W0:.*]]: tensor<4xf32> {pipeline.name = "w", pipeline.position = 1 : i64, pipeline.role = "parameter", pipeline.slice = 0 : i64, pipeline.split_dim = 0 : i64},
// CHECK-SAME: %[[W1:.*]]: tensor<4xf32> {pipeline.name = "w", pipeline.position = 1 : i64, pipeline.role = "parameter", pipeline.slice = 1 : i64, pipeline.split_dim = 0 : i64},
// CHECK-SAME: %[[V:.*]]: tensor<4xf32> {pipeline.name = "v", pipeline.position = 2 : i64, pipeline.role = "parameter"})
// CHECK-SAME: tensor<4xf32> {{{.*}}pipeline.of = 1 : i64, pipeline.position = 0 : i64, pipeline.role = "gradient", pipeline.slice = 0 : i64}
// CHECK-SAME: tensor<4xf32> {{{.*}}pipeline.of = 2 : i64, pipeline.position = 0 : i64, pipeline.role = "gradient", pipeline.slice = 1 : i64}
// CHECK-SAME: tensor<4xf32> {{{.*}}pipeline.of = 3 : i64, pipeline.position = 1 : i64, pipeline.role = "gradient"}
// CHECK: %[[G0:.*]] = arith.mulf %[[W0]], %[[A]]
// CHECK: %[[G1:.*]] = arith.mulf %[[W1]], %[[A]]
// CHECK: return %[[G0]], %[[G1]], %[[V]]
func.func @step(%b: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "b"},
                %w: tensor<2x4xf32> {pipeline.role = "parameter", pipeline.name = "w", pipeline.slices = 2 : i64, pipeline.split_dim = 1 : i64},
                %v: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "v"})
    -> (tensor<2x4xf32> {pipeline.role = "gradient", pipeline.of = 1 : i64, pipeline.slices = 2 : i64},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 2 : i64}) {
  %w0 = tensor.extract_slice %w[0, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %w1 = tensor.extract_slice %w[1, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %g0 = arith.mulf %w0, %b : tensor<4xf32>
  %g1 = arith.mulf %w1, %b : tensor<4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %s0 = tensor.insert_slice %g0 into %e[0, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<2x4xf32>
  // The importer may leave the row's dimension of size 1 on it.
  %e1 = tensor.empty() : tensor<1x4xf32>
  %r1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%g1 : tensor<4xf32>) outs(%e1 : tensor<1x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x4xf32>
  %s1 = tensor.insert_slice %r1 into %s0[1, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<2x4xf32>
  return %s1, %v : tensor<2x4xf32>, tensor<4xf32>
}

// -----

// Read as a whole: stays whole.
// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<2x4xf32> {{{.*}}pipeline.slices = 2 : i64}
// REMARK: remark: parameter 'w' (argument 0) stays whole: it is read by 'arith.addf', not row by row
func.func @step(%w: tensor<2x4xf32> {pipeline.role = "parameter", pipeline.name = "w", pipeline.slices = 2 : i64})
    -> (tensor<2x4xf32> {pipeline.role = "output"}) {
  %y = arith.addf %w, %w : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<2x4xf32> {{{.*}}pipeline.slices = 2 : i64}
// REMARK: remark: parameter 'w' (argument 0) stays whole: its gradient is not written row by row
func.func @step(%w: tensor<2x4xf32> {pipeline.role = "parameter", pipeline.name = "w", pipeline.slices = 2 : i64})
    -> (tensor<2x4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64, pipeline.slices = 2 : i64}) {
  %zero = arith.constant dense<0.0> : tensor<2x4xf32>
  return %zero : tensor<2x4xf32>
}
