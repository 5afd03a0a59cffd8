// RUN: pp-opt %s --pipeline-shard="ways=2 hints=up=1,down=0 sequence-parallel=false" | FileCheck %s
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=up=1,down=0 sequence-parallel=false" --pipeline-form-graph=layers=1 | FileCheck %s --check-prefix=GRAPH
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=up=1,down=0" | FileCheck %s --check-prefix=ROWS
// RUN: pp-opt %s --pipeline-shard="ways=4 hints=up=1:3,down=0:3 sequence-parallel=false" | FileCheck %s --check-prefix=PARTS
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=up=1:3,down=0:3" | FileCheck %s --check-prefix=CHUNKS
// RUN: pp-opt %s --pipeline-shard="ways=2 hints=up=1:2:2,down=0:2:2" | FileCheck %s --check-prefix=UNITS
// RUN: pp-opt %s --pipeline-shard | FileCheck %s --check-prefix=NONE
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=2 --shard=up=1,down=0 --microbatches=2 --emit=schedule | FileCheck %s --check-prefix=PLAN

// A perceptron x up down, of which each shard has half of what lies between: it multiplies by its columns and rows, and
// what both make is added up in each.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %arg0: tensor<4x6xf32> {pipeline.name = "up"
// CHECK-SAME: pipeline.slice = 0 : i64, pipeline.slice_dim = 1 : i64, pipeline.slice_outer = 1 : i64}, %arg1: tensor<4x6xf32>
// CHECK-SAME: pipeline.slice = 1 : i64, pipeline.slice_dim = 1 : i64, pipeline.slice_outer = 1 : i64}, %arg2: tensor<6x4xf32>
// CHECK-SAME: pipeline.slice_dim = 0 : i64
// CHECK-SAME: tensor<4x6xf32> {pipeline.combine = "mean", pipeline.name = "gradient/up", pipeline.of = 0 : i64
// CHECK-SAME: tensor<4x6xf32> {pipeline.combine = "mean", pipeline.name = "gradient/up", pipeline.of = 1 : i64, pipeline.position = 1 : i64, pipeline.role = "gradient", pipeline.slice = 1 : i64
// CHECK: %[[H0:.*]] = linalg.matmul ins(%arg4, %arg0 :
// CHECK: %[[H1:.*]] = linalg.matmul ins(%arg4, %arg1 :
// CHECK: %[[Y0:.*]] = linalg.matmul ins(%[[H0]], %arg2 : tensor<8x6xf32>, tensor<6x4xf32>)
// CHECK: %[[Y1:.*]] = linalg.matmul ins(%[[H1]], %arg3 : tensor<8x6xf32>, tensor<6x4xf32>)
// CHECK: arith.addf %[[Y0]], %[[Y1]] {{.*}}: tensor<8x4xf32>
// CHECK: arith.addf %[[Y0]], %[[Y1]] {{.*}}: tensor<8x4xf32>

// Layers of one level do not read each other's values. The backward has no sums, because nothing reads dx.
// GRAPH-LABEL: pipeline.graph @step
// GRAPH: pipeline.node "net.t1.s0.F" {{.*}} layer 0
// GRAPH: pipeline.node "net.t1.s1.F" {{.*}} layer 1
// Both shards have the whole forward, and one of them has the loss.
// GRAPH: pipeline.node "net.t2.s0.F" {{.*}} layer 2(%net.t1.s0.F
// GRAPH: pipeline.node "net.t2.s1.F" {{.*}} layer 3(%net.t1.s0.F{{.*}}tensor<f32>)
// GRAPH: pipeline.node "net.t2.s1.{{[BIW]}}" {{.*}} layer 3
// GRAPH: pipeline.node "net.t2.s0.{{[BIW]}}" {{.*}} layer 2
// GRAPH: pipeline.node "net.t1.s1.{{[BIW]}}" {{.*}} layer 1
// GRAPH: pipeline.node "net.t1.s0.{{[BIW]}}" {{.*}} layer 0

// Each shard adds up half of the rows and uses them for its part of the loss, which both add up, and of dy, which both join.
// ROWS-DAG: %[[Y0:.*]] = linalg.matmul ins(%{{.*}}, %arg2 :
// ROWS-DAG: %[[Y1:.*]] = linalg.matmul ins(%{{.*}}, %arg3 :
// ROWS-DAG: %[[P00:.*]] = tensor.extract_slice %[[Y0]][0, 0] [4, 4]
// ROWS-DAG: %[[P10:.*]] = tensor.extract_slice %[[Y1]][0, 0] [4, 4]
// ROWS-DAG: %[[R0:.*]] = arith.addf %[[P00]], %[[P10]] {{.*}}: tensor<4x4xf32>
// ROWS-DAG: %[[P01:.*]] = tensor.extract_slice %[[Y0]][4, 0] [4, 4]
// ROWS-DAG: %[[P11:.*]] = tensor.extract_slice %[[Y1]][4, 0] [4, 4]
// ROWS-DAG: %[[R1:.*]] = arith.addf %[[P01]], %[[P11]] {{.*}}: tensor<4x4xf32>
// ROWS: %[[L0:.*]] = linalg.generic {{.*}} ins(%[[R0]] : tensor<4x4xf32>) outs({{.*}} : tensor<f32>)
// ROWS: %[[L1:.*]] = linalg.generic {{.*}} ins(%[[R1]] : tensor<4x4xf32>) outs({{.*}} : tensor<f32>)
// ROWS: %[[D0:.*]] = linalg.add ins(%[[R0]], %[[R0]] :
// ROWS: %[[D1:.*]] = linalg.add ins(%[[R1]], %[[R1]] :
// ROWS: tensor.insert_slice %[[D0]] into {{.*}}[0, 0] [4, 4]
// ROWS: arith.addf %[[L0]], %[[L1]] : tensor<f32>

// Without sequence parallelism each of four shards adds up a part, and all join the parts at once.
// PARTS: arith.addf {{.*}} : tensor<2x4xf32>
// PARTS: tensor.insert_slice {{.*}} : tensor<2x4xf32> into tensor<8x4xf32>

// CHUNKS: %arg0: tensor<4x6xf32> {{.*}}pipeline.slice_dim = 1 : i64, pipeline.slice_outer = 3 : i64}, %arg2: tensor<6x4xf32>

// The first shard has two of the three units of two columns of each chunk.
// UNITS: %arg0: tensor<4x8xf32> {{.*}}pipeline.slice_outer = 2 : i64, pipeline.slice_unit = 2 : i64}, %arg1: tensor<4x4xf32>
// UNITS: linalg.matmul {{.*}} outs({{.*}} : tensor<8x8xf32>)
// UNITS: linalg.matmul {{.*}} outs({{.*}} : tensor<8x4xf32>)

// NONE: tensor<4x12xf32>
// NONE-NOT: pipeline.slice

// PLAN: pipeline.stage 0 {{.*}}@d0
// PLAN: pipeline.stage 1 {{.*}}@d1

func.func @step(%up: tensor<4x12xf32> {pipeline.role = "parameter", pipeline.name = "up"},
                %down: tensor<12x4xf32> {pipeline.role = "parameter", pipeline.name = "down"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<f32> {pipeline.role = "loss"},
        tensor<4x12xf32> {pipeline.role = "gradient", pipeline.of = 0 : i64},
        tensor<12x4xf32> {pipeline.role = "gradient", pipeline.of = 1 : i64}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<8x4xf32>
  %eh = tensor.empty() : tensor<8x12xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<8x12xf32>) -> tensor<8x12xf32>
  %h = linalg.matmul ins(%x, %up : tensor<8x4xf32>, tensor<4x12xf32>) outs(%zh : tensor<8x12xf32>) -> tensor<8x12xf32> loc(#forward)
  %ey = tensor.empty() : tensor<8x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.matmul ins(%h, %down : tensor<8x12xf32>, tensor<12x4xf32>) outs(%zy : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#forward)
  %el = tensor.empty() : tensor<f32>
  %zl = linalg.fill ins(%zero : f32) outs(%el : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<8x4xf32>) outs(%zl : tensor<f32>) {
  ^bb0(%in: f32, %sum: f32):
    %q = arith.mulf %in, %in : f32
    %a = arith.addf %sum, %q : f32
    linalg.yield %a : f32
  } -> tensor<f32> loc(#forward)
  // dy = 2 y, ddown = h^T dy, dh = dy down^T, dup = x^T dh.
  %dy = linalg.add ins(%y, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%ey : tensor<8x4xf32>) -> tensor<8x4xf32> loc(#backward)
  %ed = tensor.empty() : tensor<12x4xf32>
  %zd = linalg.fill ins(%zero : f32) outs(%ed : tensor<12x4xf32>) -> tensor<12x4xf32>
  %ddown = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %dy : tensor<8x12xf32>, tensor<8x4xf32>) outs(%zd : tensor<12x4xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<12x4xf32> loc(#backward)
  %dh = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%dy, %down : tensor<8x4xf32>, tensor<12x4xf32>) outs(%zh : tensor<8x12xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<8x12xf32> loc(#backward)
  %eu = tensor.empty() : tensor<4x12xf32>
  %zu = linalg.fill ins(%zero : f32) outs(%eu : tensor<4x12xf32>) -> tensor<4x12xf32>
  %dup = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %dh : tensor<8x4xf32>, tensor<8x12xf32>) outs(%zu : tensor<4x12xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %sum, %m : f32
    linalg.yield %a : f32
  } -> tensor<4x12xf32> loc(#backward)
  return %loss, %dup, %ddown : tensor<f32>, tensor<4x12xf32>, tensor<12x4xf32>
}
#forward = loc("jit(step)/jvp(net)/op")
#backward = loc("jit(step)/transpose(jvp(net))/op")
