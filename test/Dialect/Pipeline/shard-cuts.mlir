// RUN: pp-opt %s --pipeline-shard="ways=2 hints=u*=1,d*=0 cuts=true" --pipeline-form-graph=layers=1 | FileCheck %s
// RUN: pp-compile %s --cluster=local:6 --tensor-parallel=2 --shard=u*=1,d*=0 --stages=3 --microbatches=2 --emit=schedule | FileCheck %s --check-prefix=STAGES
// RUN: pp-compile %s --cluster=local:6 --tensor-parallel=2 --shard=u*=1,d*=0 --stages=3 --microbatches=2 --emit=program | pp-opt --pipeline-send-once | FileCheck %s --check-prefix=STAGES
// RUN: pp-compile %s --cluster=local:2 --tensor-parallel=2 --shard=u*=1,d*=0 --microbatches=2 --emit=schedule | FileCheck %s --check-prefix=ONE

// Two perceptrons with residual connections: y = x + x u0 d0, n = y - mean(y), z = y + n u1 d1, out = 2 z, and out u2. The
// head of level 2 makes y, which both the norm and z read. Its tail, in which a stage can begin, makes n.

// CHECK-LABEL: pipeline.graph @step
// CHECK: %[[Y0:[^ ]*]] = pipeline.node "step.t2.s0.F"
// CHECK: %[[Y1:[^ ]*]] = pipeline.node "step.t2.s1.F"
// CHECK: pipeline.node "step.t2b.s0.F" {{.*}}(%[[Y0]])
// CHECK: pipeline.node "step.t2b.s1.F" {{.*}}(%[[Y1]])
// Nothing in level 4 is reduced. In the tail are only the copies that a stage would send to both shards.
// CHECK: %[[Z0:[^ ]*]] = pipeline.node "step.t4.s0.F" {{.*}}%[[Y0]])
// CHECK: %[[Z1:[^ ]*]] = pipeline.node "step.t4.s1.F"
// CHECK: %[[C0:[^ ]*]] = pipeline.node "step.t4b.s0.F" {{.*}}(%[[Z0]])
// CHECK: %[[C1:[^ ]*]] = pipeline.node "step.t4b.s1.F" {{.*}}(%[[Z1]])
// CHECK: pipeline.node "step.t5.s0.F" {{.*}}(%[[C0]], %[[C1]]

// Of three stages the second begins in level 2: its norm gets y, once, and passes it on to level 4. The third begins with copies.
// STAGES-LABEL: pipeline.graph @step
// STAGES: %[[Y0:[^ ]*]] = pipeline.node "step.t2.s0.F"
// STAGES: %[[N0:[^ ]*]]:2 = pipeline.node "step.t2b.s0.F" {{.*}}(%[[Y0]])
// STAGES: pipeline.node "step.t4.s0.F" {{.*}}(%{{[^,]*}}, %{{[^,]*}}, %[[N0]]#1)
// STAGES: pipeline.node "step.t4b.s0.F"
// STAGES: pipeline.boundary "step.t2.s0.F" result 0 from 2 to 4
// STAGES-NOT: pipeline.boundary "step.t2.s0.F"
// STAGES: pipeline.boundary "step.t4.s0.F" result 0 from 8 to 10
// STAGES-NOT: pipeline.boundary "step.t4.s0.F"

// A stage for all: no level has a tail.
// ONE-NOT: "step.t2b

func.func @step(%u0: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "u0"},
                %d0: tensor<6x4xf32> {pipeline.role = "parameter", pipeline.name = "d0"},
                %u1: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "u1"},
                %d1: tensor<6x4xf32> {pipeline.role = "parameter", pipeline.name = "d1"},
                %u2: tensor<4x6xf32> {pipeline.role = "parameter", pipeline.name = "u2"},
                %x: tensor<8x4xf32> {pipeline.role = "batch", pipeline.name = "x"}) -> (tensor<8x6xf32> {pipeline.role = "output"}) {
  %zero = arith.constant 0.0 : f32
  %quarter = arith.constant 0.25 : f32
  %two = arith.constant 2.0 : f32
  %eh = tensor.empty() : tensor<8x6xf32>
  %zh = linalg.fill ins(%zero : f32) outs(%eh : tensor<8x6xf32>) -> tensor<8x6xf32>
  %ex = tensor.empty() : tensor<8x4xf32>
  %zx = linalg.fill ins(%zero : f32) outs(%ex : tensor<8x4xf32>) -> tensor<8x4xf32>
  %er = tensor.empty() : tensor<8xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<8xf32>) -> tensor<8xf32>
  %h0 = linalg.matmul ins(%x, %u0 : tensor<8x4xf32>, tensor<4x6xf32>) outs(%zh : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p0 = linalg.matmul ins(%h0, %d0 : tensor<8x6xf32>, tensor<6x4xf32>) outs(%zx : tensor<8x4xf32>) -> tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %p0 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%ex : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<8x4xf32>) outs(%zr : tensor<8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.addf %out, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %n = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %m : tensor<8x4xf32>, tensor<8xf32>) outs(%ex : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.mulf %b, %quarter : f32
    %d = arith.subf %a, %s : f32
    linalg.yield %d : f32
  } -> tensor<8x4xf32>
  %h1 = linalg.matmul ins(%n, %u1 : tensor<8x4xf32>, tensor<4x6xf32>) outs(%zh : tensor<8x6xf32>) -> tensor<8x6xf32>
  %p1 = linalg.matmul ins(%h1, %d1 : tensor<8x6xf32>, tensor<6x4xf32>) outs(%zx : tensor<8x4xf32>) -> tensor<8x4xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%y, %p1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%ex : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    %d = arith.mulf %s, %two : f32
    linalg.yield %d : f32
  } -> tensor<8x4xf32>
  %w = linalg.matmul ins(%z, %u2 : tensor<8x4xf32>, tensor<4x6xf32>) outs(%zh : tensor<8x6xf32>) -> tensor<8x6xf32>
  return %w : tensor<8x6xf32>
}
