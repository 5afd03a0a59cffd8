// RUN: pp-opt %s --pipeline-shard="ways=2 hints=f=1:3:2" | FileCheck %s

// Of each of three chunks of three pairs of columns the first shard has two pairs, the second one. An operation that uses column
// numbers uses those of the whole: the number of the chunk times 6, plus the number in the part and the start of the part.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<2x12xf32> {pipeline.name = "f"{{[^}]*}}pipeline.slice_outer = 3 : i64, pipeline.slice_unit = 2 : i64}
// CHECK-SAME: tensor<2x6xf32> {pipeline.name = "f"{{[^}]*}}pipeline.slice_outer = 3 : i64, pipeline.slice_unit = 2 : i64}
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x12xf32>)
// CHECK: %[[J:.*]] = linalg.index 1
// CHECK: %[[CHUNK:.*]] = arith.divui %[[J]], %c4
// CHECK: %[[INSIDE:.*]] = arith.remui %[[J]], %c4
// CHECK: %[[FIRST:.*]] = arith.muli %[[CHUNK]], %c6
// CHECK: %[[NUMBER:.*]] = arith.addi %[[FIRST]], %[[INSIDE]]
// CHECK: arith.addi %[[NUMBER]], %c0
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4x6xf32>)
// CHECK: %[[J1:.*]] = linalg.index 1
// CHECK: %[[CHUNK1:.*]] = arith.divui %[[J1]], %c2
// CHECK: %[[INSIDE1:.*]] = arith.remui %[[J1]], %c2
// CHECK: %[[FIRST1:.*]] = arith.muli %[[CHUNK1]], %c6
// CHECK: %[[NUMBER1:.*]] = arith.addi %[[FIRST1]], %[[INSIDE1]]
// CHECK: arith.addi %[[NUMBER1]], %c4
func.func @step(%f: tensor<2x18xf32> {pipeline.role = "parameter", pipeline.name = "f"},
                %x: tensor<4x2xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4x18xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x18xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x18xf32>) -> tensor<4x18xf32>
  %y = linalg.matmul ins(%x, %f : tensor<4x2xf32>, tensor<2x18xf32>) outs(%z : tensor<4x18xf32>) -> tensor<4x18xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<4x18xf32>) outs(%e : tensor<4x18xf32>) {
  ^bb0(%in: f32, %out: f32):
    %j = linalg.index 1 : index
    %i = arith.index_cast %j : index to i32
    %c = arith.sitofp %i : i32 to f32
    %a = arith.mulf %in, %c : f32
    linalg.yield %a : f32
  } -> tensor<4x18xf32>
  return %n : tensor<4x18xf32>
}
