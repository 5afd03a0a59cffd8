// Values that are added to two partial sums: all become one sum.
//
// RUN: pp-opt %s --split-input-file --pipeline-shard="ways=2 hints=*w=0,*c=1" | FileCheck %s

// One shard adds the whole bias, and the results of both are added up, once.
// CHECK-LABEL: func.func @step(
// CHECK-DAG: %[[A0:.*]] = linalg.matmul {{.*}}%arg0
// CHECK-DAG: %[[A1:.*]] = linalg.matmul {{.*}}%arg1
// CHECK-DAG: %[[B0:.*]] = linalg.matmul {{.*}}%arg2
// CHECK-DAG: %[[B1:.*]] = linalg.matmul {{.*}}%arg3
// CHECK: %[[BIAS:.*]] = linalg.generic {{.*}} ins(%[[A0]], %arg4 : tensor<8x6xf32>, tensor<6xf32>)
// CHECK-NOT: linalg.generic
// CHECK: %[[Y0:.*]] = linalg.add ins(%[[BIAS]], %[[B0]] : tensor<8x6xf32>, tensor<8x6xf32>)
// CHECK: %[[Y1:.*]] = linalg.add ins(%[[A1]], %[[B1]] : tensor<8x6xf32>, tensor<8x6xf32>)
// CHECK: arith.addf %[[Y0]], %[[Y1]] : tensor<8x6xf32>
// CHECK-NOT: arith.addf {{.*}} : tensor<
#bias = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>]
func.func @step(%aw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "aw"},
                %bw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "bw"},
                %b: tensor<6xf32> {pipeline.role = "parameter", pipeline.name = "b"},
                %c: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "c"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x6xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %aw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %q = linalg.matmul ins(%x, %bw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %s = linalg.generic {indexing_maps = #bias, iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<8x6xf32>, tensor<6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%in: f32, %add: f32, %out: f32):
    %r = arith.addf %in, %add : f32
    linalg.yield %r : f32
  } -> tensor<8x6xf32>
  %y = linalg.add ins(%s, %q : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// -----

// Each shard adds its columns.
// CHECK-LABEL: func.func @step(
// CHECK-DAG: %[[C0:.*]] = linalg.matmul {{.*}} -> tensor<8x3xf32>
// CHECK-DAG: %[[C1:.*]] = linalg.matmul {{.*}} -> tensor<8x3xf32>
// CHECK: tensor.pad %[[C0]] low[0, 0] high[0, 3]
// CHECK: tensor.pad %[[C1]] low[0, 3] high[0, 0]
// CHECK: arith.addf {{.*}} : tensor<8x6xf32>
// CHECK-NOT: arith.addf {{.*}} : tensor<
func.func @step(%aw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "aw"},
                %bw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "bw"},
                %c: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "c"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x6xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %aw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %q = linalg.matmul ins(%x, %bw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %v = linalg.matmul ins(%x, %c : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %s = linalg.add ins(%v, %p : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = linalg.add ins(%s, %q : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// -----

// What others read too is added up for them anyway: a later sum would be one more.
// CHECK-LABEL: func.func @step(
// CHECK-COUNT-4: arith.addf {{.*}} : tensor<4x6xf32>
// CHECK-NOT: arith.addf {{.*}} : tensor<
func.func @step(%aw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "aw"},
                %bw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "bw"},
                %c: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "c"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"},
                %r: tensor<8x6xf32> {pipeline.role = "batch", pipeline.name = "r"})
    -> (tensor<8x6xf32> {pipeline.role = "output"}, tensor<8x6xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %aw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %q = linalg.matmul ins(%x, %bw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %s = linalg.add ins(%r, %p : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = linalg.add ins(%s, %q : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %t = linalg.exp ins(%p : tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y, %t : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// The first addition transposes its result, also of the shard that does not have
// the whole value.
// CHECK-LABEL: func.func @step(
// CHECK-COUNT-2: linalg.generic
// CHECK: arith.addf {{.*}} : tensor<6x6xf32>
// CHECK-NOT: arith.addf {{.*}} : tensor<
#turned = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>]
func.func @step(%aw: tensor<6x6xf32> {pipeline.role = "parameter", pipeline.name = "aw"},
                %bw: tensor<6x6xf32> {pipeline.role = "parameter", pipeline.name = "bw"},
                %c: tensor<6x6xf32> {pipeline.role = "parameter", pipeline.name = "c"},
                %r: tensor<6x6xf32> {pipeline.role = "parameter", pipeline.name = "r"},
                %x: tensor<6x6xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<6x6xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  %p = linalg.matmul ins(%x, %aw : tensor<6x6xf32>, tensor<6x6xf32>) outs(%z : tensor<6x6xf32>) -> tensor<6x6xf32>
  %q = linalg.matmul ins(%x, %bw : tensor<6x6xf32>, tensor<6x6xf32>) outs(%z : tensor<6x6xf32>) -> tensor<6x6xf32>
  %s = linalg.generic {indexing_maps = #turned, iterator_types = ["parallel", "parallel"]}
      ins(%p, %r : tensor<6x6xf32>, tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) {
  ^bb0(%in: f32, %add: f32, %out: f32):
    %t = arith.addf %in, %add : f32
    linalg.yield %t : f32
  } -> tensor<6x6xf32>
  %y = linalg.add ins(%s, %q : tensor<6x6xf32>, tensor<6x6xf32>) outs(%e : tensor<6x6xf32>) -> tensor<6x6xf32>
  return %y : tensor<6x6xf32>
}

// -----

// In bf16 a whole value is added to the sum (of rows here, two by each shard),
// not to the partial value of one shard.
// CHECK-LABEL: func.func @step(
// CHECK-COUNT-4: arith.addf {{.*}} : tensor<4x6xbf16>
// CHECK-NOT: arith.addf {{.*}} : tensor<
func.func @step(%aw: tensor<4x6xbf16> {pipeline.role = "parameter", pipeline.name = "aw"},
                %bw: tensor<4x6xbf16> {pipeline.role = "parameter", pipeline.name = "bw"},
                %c: tensor<4x6xbf16> {pipeline.role = "parameter", pipeline.name = "c"},
                %r: tensor<8x6xbf16> {pipeline.role = "parameter", pipeline.name = "r"},
                %x: tensor<8x4xbf16> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x6xbf16> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<8x6xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<8x6xbf16>) -> tensor<8x6xbf16>
  %p = linalg.matmul ins(%x, %aw : tensor<8x4xbf16>, tensor<4x6xbf16>) outs(%z : tensor<8x6xbf16>) -> tensor<8x6xbf16>
  %q = linalg.matmul ins(%x, %bw : tensor<8x4xbf16>, tensor<4x6xbf16>) outs(%z : tensor<8x6xbf16>) -> tensor<8x6xbf16>
  %s = linalg.add ins(%p, %r : tensor<8x6xbf16>, tensor<8x6xbf16>) outs(%e : tensor<8x6xbf16>) -> tensor<8x6xbf16>
  %y = linalg.add ins(%s, %q : tensor<8x6xbf16>, tensor<8x6xbf16>) outs(%e : tensor<8x6xbf16>) -> tensor<8x6xbf16>
  return %y : tensor<8x6xbf16>
}

// -----

// Both partial values have two readers: p, q and p + q would be three sums.
// CHECK-LABEL: func.func @step(
// CHECK-COUNT-4: arith.addf {{.*}} : tensor<4x6xf32>
// CHECK-NOT: arith.addf {{.*}} : tensor<
func.func @step(%aw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "aw"},
                %bw: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "bw"},
                %c: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "c"},
                %r: tensor<8x6xf32> {pipeline.role = "parameter", pipeline.name = "r"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x6xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p = linalg.matmul ins(%x, %aw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %q = linalg.matmul ins(%x, %bw : tensor<8x4xf32>, tensor<4x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %a = linalg.add ins(%p, %r : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %d = linalg.add ins(%q, %r : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %b = linalg.add ins(%p, %q : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %f = linalg.add ins(%a, %d : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = linalg.add ins(%f, %b : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
