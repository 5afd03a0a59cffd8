// RUN: pp-opt %s --split-input-file --pipeline-shard="ways=2 hints=w=1,t=0,f=1:3" | FileCheck %s

// The max of a row that is split: of each part, then of both.
// CHECK-LABEL: func.func @step(
// CHECK: %[[Y0:.*]] = linalg.matmul {{.*}} -> tensor<4x3xf32>
// CHECK: %[[Y1:.*]] = linalg.matmul {{.*}} -> tensor<4x3xf32>
// CHECK: %[[M0:.*]] = linalg.generic {{.*}} ins(%[[Y0]] : tensor<4x3xf32>)
// CHECK: %[[M1:.*]] = linalg.generic {{.*}} ins(%[[Y1]] : tensor<4x3xf32>)
// CHECK: arith.maximumf %[[M0]], %[[M1]] : tensor<4xf32>
func.func @step(%w: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %t: tensor<8x2xf32> {pipeline.role = "parameter", pipeline.name = "t"},
                %f: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "f"},
                %x: tensor<4x2xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x2xf32>, tensor<2x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %em = tensor.empty() : tensor<4xf32>
  %zm = linalg.fill ins(%low : f32) outs(%em : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<4x6xf32>) outs(%zm : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.maximumf %out, %in : f32
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %m : tensor<4xf32>
}

// -----

// Rows of a table whose rows are split: the shard that has the row provides it, the other provides zeros, and the sum is the row.
// CHECK-LABEL: func.func @step(
// CHECK: linalg.generic
// CHECK: %[[PLACE:.*]] = arith.subi %{{.*}}, %c0
// CHECK: %[[HAS:.*]] = arith.cmpi ult, %[[PLACE]], %c4
// CHECK: %[[THERE:.*]] = arith.select %[[HAS]], %[[PLACE]], %c0
// CHECK: %[[ROW:.*]] = tensor.extract %arg{{[0-9]+}}[%[[THERE]], %{{.*}}] : tensor<4x2xf32>
// CHECK: arith.select %[[HAS]], %[[ROW]], %{{.*}} : f32
// CHECK: linalg.generic
// CHECK: arith.subi %{{.*}}, %c4
// CHECK: arith.addf {{.*}} : tensor<4x2xf32>
func.func @step(%w: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %t: tensor<8x2xf32> {pipeline.role = "parameter", pipeline.name = "t"},
                %f: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "f"},
                %ids: tensor<4xindex> {pipeline.role = "batch", pipeline.name = "ids"}) -> (tensor<4x2xf32> {pipeline.role = "output"}) {
  %e = tensor.empty() : tensor<4x2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<4x2xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %id = tensor.extract %ids[%i] : tensor<4xindex>
    %row = tensor.extract %t[%id, %j] : tensor<8x2xf32>
    linalg.yield %row : f32
  } -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}

// -----

// Three arrays side by side, each split: a shard's part of the second array is the second of its parts. Column numbers are
// those of the whole, and a value that no rule can split is joined.
// CHECK-LABEL: func.func @step(
// CHECK: %[[Y0:.*]] = linalg.matmul {{.*}} -> tensor<4x3xf32>
// CHECK: %[[Y1:.*]] = linalg.matmul {{.*}} -> tensor<4x3xf32>
// CHECK: %[[S0:.*]] = tensor.extract_slice %[[Y0]][0, 1] [4, 1] [1, 1] : tensor<4x3xf32> to tensor<4x1xf32>
// CHECK: %[[S1:.*]] = tensor.extract_slice %[[Y1]][0, 1] [4, 1] [1, 1] : tensor<4x3xf32> to tensor<4x1xf32>
// CHECK: linalg.index 1
// CHECK-NOT: arith.addi
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: arith.addi %[[J]], %c1
// CHECK: %[[A:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [4, 1] [1, 1] : tensor<4x1xf32> into tensor<4x2xf32>
// CHECK: tensor.insert_slice %{{.*}} into %[[A]][0, 1] [4, 1] [1, 1] : tensor<4x1xf32> into tensor<4x2xf32>
// CHECK: tensor.extract_slice {{.*}}[0, 0] [4, 1] [1, 2]
func.func @step(%w: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %t: tensor<8x2xf32> {pipeline.role = "parameter", pipeline.name = "t"},
                %f: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "f"},
                %x: tensor<4x2xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4x1xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.matmul ins(%x, %f : tensor<4x2xf32>, tensor<2x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %s = tensor.extract_slice %y[0, 2] [4, 2] [1, 1] : tensor<4x6xf32> to tensor<4x2xf32>
  %en = tensor.empty() : tensor<4x2xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<4x2xf32>) outs(%en : tensor<4x2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %j = linalg.index 1 : index
    %i = arith.index_cast %j : index to i32
    %c = arith.sitofp %i : i32 to f32
    %a = arith.mulf %in, %c : f32
    linalg.yield %a : f32
  } -> tensor<4x2xf32>
  %o = tensor.extract_slice %n[0, 0] [4, 1] [1, 2] : tensor<4x2xf32> to tensor<4x1xf32>
  return %o : tensor<4x1xf32>
}

// -----

// From a split by columns to one by rows: each shard sends to each other only the rows of its columns that the other needs.
// CHECK-LABEL: func.func @step(
// CHECK: %[[Y0:.*]] = linalg.matmul {{.*}} -> tensor<8x3xf32>
// CHECK: %[[Y1:.*]] = linalg.matmul {{.*}} -> tensor<8x3xf32>
// CHECK-DAG: %[[P00:.*]] = tensor.extract_slice %[[Y0]][0, 0] [4, 3]
// CHECK-DAG: %[[P10:.*]] = tensor.extract_slice %[[Y1]][0, 0] [4, 3]
// CHECK-DAG: %[[P01:.*]] = tensor.extract_slice %[[Y0]][4, 0] [4, 3]
// CHECK-DAG: %[[P11:.*]] = tensor.extract_slice %[[Y1]][4, 0] [4, 3]
// CHECK-DAG: tensor.insert_slice %[[P10]] into {{.*}}[0, 3] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x6xf32>
// CHECK-DAG: tensor.insert_slice %[[P11]] into {{.*}}[0, 3] [4, 3] [1, 1] : tensor<4x3xf32> into tensor<4x6xf32>
func.func @step(%w: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                %t: tensor<8x6x2xf32> {pipeline.role = "parameter", pipeline.name = "t"},
                %f: tensor<2x6xf32> {pipeline.role = "parameter", pipeline.name = "f"},
                %x: tensor<8x2xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x6x2xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x2xf32>, tensor<2x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  %es = tensor.empty() : tensor<8x6x2xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>, affine_map<(i, j, k) -> (i, j, k)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%t, %y : tensor<8x6x2xf32>, tensor<8x6xf32>) outs(%es : tensor<8x6x2xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<8x6x2xf32>
  return %s : tensor<8x6x2xf32>
}
