// The sharding in the model's own file applies to parameters that no hint matches.
//
// RUN: pp-opt %s --pipeline-shard="ways=2" | FileCheck %s --check-prefix=FILE
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=a=0" | FileCheck %s --check-prefix=BOTH
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=a=whole" | FileCheck %s --check-prefix=WHOLE
// RUN: not pp-opt %s --pipeline-shard="ways=2 hints=*=whole" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: pp-opt %s --pipeline-shard="ways=4" | FileCheck %s --check-prefix=UNEVEN
// RUN: sed 's/split_dim = 1 : i64/split_dim = 1 : i64, pipeline.split_derived/; s/split_dim = 0 : i64/split_dim = 0 : i64, pipeline.split_derived/' %s | pp-opt --pipeline-shard="ways=4" 2>&1 | FileCheck %s --check-prefix=DERIVED
// RUN: sed 's/split_dim = [01] : i64/&, pipeline.split_derived, pipeline.split_unit = 2 : i64/' %s > %t.units.mlir
// RUN: pp-opt %t.units.mlir --pipeline-shard="ways=3" 2>&1 | FileCheck %s --check-prefix=PAIRS --implicit-check-not=remark: --implicit-check-not=split_
// RUN: pp-opt %t.units.mlir --pipeline-shard="ways=2" 2>&1 | FileCheck %s --check-prefix=TORN
// RUN: sed 's/split_dim = 0/split_dim = 2/' %s | not pp-opt 2>&1 | FileCheck %s --check-prefix=RANGE

// FILE: func.func @step(%{{.*}}: tensor<4x3xf32> {pipeline.name = "a", pipeline.position = 0 : i64, pipeline.role = "parameter", pipeline.slice = 0 : i64, pipeline.slice_dim = 1 : i64, pipeline.slice_outer = 1 : i64},
// FILE-SAME: tensor<3x4xf32> {pipeline.name = "b"
// FILE-NOT: split_dim
// BOTH: func.func @step(%{{.*}}: tensor<2x6xf32> {pipeline.name = "a"
// BOTH-SAME: tensor<3x4xf32> {pipeline.name = "b"
// WHOLE: func.func @step(%{{.*}}: tensor<4x6xf32> {pipeline.name = "a"
// WHOLE-SAME: tensor<3x4xf32> {pipeline.name = "b"
// NOTHING: error: no parameter is split over the 2 shards: all hints say 'whole'; leave them out, or let one say 'auto'
// UNEVEN: func.func @step(%{{.*}}: tensor<4x2xf32> {pipeline.name = "a"{{.*}} tensor<4x2xf32> {{.*}} tensor<4x1xf32> {{.*}} tensor<4x1xf32>
// A split that follows only from constraints of other values is dropped if it is uneven, and the compiler chooses: here dimensions of 4.
// DERIVED: remark: layers are split over 4 shards as by --shard='a=0
// DERIVED: func.func @step(%{{.*}}: tensor<1x6xf32> {pipeline.name = "a"
// Three pairs, such as heads, are split over three shards. Over two shards the parts would be unequal, although 6 is even.
// PAIRS: func.func @step(%{{.*}}: tensor<4x2xf32> {pipeline.name = "a"
// PAIRS-SAME: tensor<2x4xf32> {pipeline.name = "b"
// TORN: remark: layers are split over 2 shards as by --shard=
// RANGE: error: 'pipeline.split_dim' of argument 1 must be an integer from 0 to 1, got 2

func.func @step(%a: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "a", pipeline.split_dim = 1 : i64},
                %b: tensor<6x4xf32> {pipeline.role = "parameter", pipeline.name = "b", pipeline.split_dim = 0 : i64},
                %x: tensor<4x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<4x4xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %h = linalg.matmul ins(%x, %a : tensor<4x4xf32>, tensor<4x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e2 = tensor.empty() : tensor<4x4xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%h, %b : tensor<4x6xf32>, tensor<6x4xf32>) outs(%z2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
