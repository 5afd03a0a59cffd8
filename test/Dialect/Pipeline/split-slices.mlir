// RUN: pp-opt --pipeline-split-slices --split-input-file %s | FileCheck %s
// RUN: pp-opt --pipeline-split-slices --split-input-file %s 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: pp-opt --pipeline-split-slices --pipeline-shard="ways=2 hints=*=0" --split-input-file %s | FileCheck %s --check-prefix=PARTS

// Parts of rows: slice 3 is part 1 of row 1.
// PARTS: func.func @step
// PARTS-SAME: tensor<2xf32> {pipeline.name = "w", pipeline.position = 1 : i64, pipeline.role = "parameter", pipeline.slice = 3 : i64, pipeline.slice_dim = 0 : i64, pipeline.slice_outer = 1 : i64, pipeline.slice_parts = 2 : i64}

// Over a grid each axis has an entry; one that splits the stack itself is dropped, as over one axis.
// RUN: sed 's/split_dim = 1 : i64/split_dim = array<i64: 0, 1>, pipeline.split_outer = array<i64: 1, 2>/' %s | pp-opt --pipeline-split-slices --split-input-file | FileCheck %s --check-prefix=GRID
// GRID: pipeline.slice = 1 : i64, pipeline.split_dim = array<i64: -1, 0>, pipeline.split_outer = array<i64: 1, 2>}
// RUN: sed 's/split_dim = 1 : i64/split_dim = array<i64: 0, -1>, pipeline.split_outer = array<i64: 2, 1>/' %s | pp-opt --pipeline-split-slices --split-input-file | FileCheck %s --check-prefix=STACK --implicit-check-not=split_
// STACK: pipeline.slice = 1 : i64}

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

// A parameter that is read as a whole stays whole.
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

// -----

// The optimizer and its state for the parameter are split too: what it computes for all rows is computed for each row.
// CHECK-LABEL: func.func @step
// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[W0:.*]]: tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "parameter", pipeline.slice = 0 : i64},
// CHECK-SAME: %[[W1:.*]]: tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "parameter", pipeline.slice = 1 : i64},
// CHECK-SAME: %[[DW0:.*]]: tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient", pipeline.slice = 0 : i64},
// CHECK-SAME: %[[DW1:.*]]: tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient", pipeline.slice = 1 : i64},
// CHECK-SAME: %[[M0:.*]]: tensor<4xf32> {pipeline.role = "state", pipeline.slice = 0 : i64},
// CHECK-SAME: %[[M1:.*]]: tensor<4xf32> {pipeline.role = "state", pipeline.slice = 1 : i64}, %[[COUNT:.*]]: tensor<f32>
// CHECK-SAME: -> (tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "parameter", pipeline.slice = 0 : i64},
// CHECK-SAME: tensor<4xf32> {pipeline.of = 5 : i64, pipeline.role = "state", pipeline.slice = 1 : i64},
// CHECK-SAME: tensor<f32> {pipeline.of = 6 : i64, pipeline.role = "state"})
// CHECK: linalg.add ins({{.*}} : tensor<1x4xf32>
func.func @step(%w: tensor<2x4xf32> {pipeline.role = "parameter", pipeline.name = "w", pipeline.slices = 2 : i64})
    -> (tensor<2x4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64, pipeline.slices = 2 : i64}) {
  %w0 = tensor.extract_slice %w[0, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %w1 = tensor.extract_slice %w[1, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
  %g = arith.mulf %w0, %w1 : tensor<4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %s0 = tensor.insert_slice %g into %e[0, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<2x4xf32>
  %s1 = tensor.insert_slice %g into %s0[1, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<2x4xf32>
  return %s1 : tensor<2x4xf32>
}
func.func @update(%w: tensor<2x4xf32> {pipeline.role = "parameter", pipeline.of = 0 : i64},
                  %dw: tensor<2x4xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64},
                  %m: tensor<2x4xf32> {pipeline.role = "state"}, %count: tensor<f32> {pipeline.role = "state"})
    -> (tensor<2x4xf32> {pipeline.role = "parameter", pipeline.of = 0 : i64}, tensor<2x4xf32> {pipeline.role = "state", pipeline.of = 2 : i64},
        tensor<f32> {pipeline.role = "state", pipeline.of = 3 : i64}) {
  %e = tensor.empty() : tensor<2x4xf32>
  %m1 = linalg.add ins(%m, %dw : tensor<2x4xf32>, tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %w1 = linalg.sub ins(%w, %m1 : tensor<2x4xf32>, tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %w1, %m1, %count : tensor<2x4xf32>, tensor<2x4xf32>, tensor<f32>
}

// -----

// A parameter needs no name.
// REMARK: remark: parameter '' (argument 0) stays whole
func.func @step(%w: tensor<2x4xf32> {pipeline.role = "parameter", pipeline.position = 0 : i64, pipeline.slices = 2 : i64})
    -> (tensor<2x4xf32> {pipeline.role = "output", pipeline.position = 0 : i64}) {
  %y = arith.addf %w, %w : tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
