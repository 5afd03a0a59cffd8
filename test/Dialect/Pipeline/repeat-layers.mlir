// RUN: pp-opt %s --pipeline-repeat-layers=layers=0-1 | FileCheck %s
// RUN: pp-opt %s --pipeline-repeat-layers=layers=0-0,1-1 | FileCheck %s --check-prefix=EACH
// RUN: pp-opt %s --pipeline-repeat-layers=layers=0-1 --pipeline-partition="cluster=local:1 microbatches=2" \
// RUN:     --pipeline-schedule --lower-pipeline-to-rank | FileCheck %s --check-prefix=RANK

// a keeps k, and b keeps j; c reads z. Forwards no longer return k and j, and what b computes for c is not repeated.
// CHECK: layers = ["a", "b", "b.again", "a.again", "c"]
// CHECK: %[[Y:.*]] = pipeline.node "a.F" @a.F.part phase F layer 0(%arg0, %arg1)
// CHECK-NEXT: %[[Z:.*]] = pipeline.node "b.F" @b.F.part_{{[0-9]+}} phase F layer 1(%[[Y]])
// CHECK-NEXT: %[[L:.*]] = pipeline.node "c.F" @c.F phase F layer 4(%[[Z]])
// CHECK-NEXT: %[[D:.*]] = pipeline.node "c.B" @c.B phase B layer 4(%[[Z]])
// CHECK-NEXT: %[[A:.*]]:2 = pipeline.node "a.again" @a.F phase B layer 3(%arg0, %arg1)
// CHECK-NEXT: %[[J:.*]] = pipeline.node "b.again" @b.F.part phase B layer 2(%[[A]]#0)
// CHECK-NEXT: %[[E:.*]] = pipeline.node "b.B" @b.B phase B layer 1(%[[D]], %[[J]])
// CHECK-NEXT: pipeline.node "a.B" @a.B phase B layer 0(%[[E]], %[[A]]#1)
// CHECK-DAG: func.func private @a.F.part(
// CHECK-DAG: func.func private @a.F(
// CHECK-NOT: func.func private @b.F(

// If layers repeat separately, b reads what a has sent to it, which is kept.
// EACH: layers = ["a", "a.again", "b", "b.again", "c"]
// EACH: %[[Y:.*]] = pipeline.node "a.F" @a.F.part_{{[0-9]+}} phase F layer 0
// EACH: pipeline.node "b.again" @b.F.part phase B layer 3(%[[Y]])
// EACH: pipeline.node "a.again" @a.F.part phase B layer 1(%arg0, %arg1)

// RANK: rank.program @step.0 rank 0
// RANK: rank.call @a.F {{.*}} node "a.again"

pipeline.graph @step(%x: tensor<32x32xf32> {pipeline.role = "batch"}, %w: tensor<32x32xf32> {pipeline.role = "parameter"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<32x32xf32> {pipeline.role = "gradient", pipeline.of = 1})
    attributes {layers = ["a", "b", "c"]} {
  %a:2 = pipeline.node "a.F" @a.F phase F layer 0 (%x, %w)
      : (tensor<32x32xf32>, tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
  %b:2 = pipeline.node "b.F" @b.F phase F layer 1 (%a#0) : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>)
  %l = pipeline.node "c.F" @c.F phase F layer 2 (%b#0) : (tensor<32x32xf32>) -> tensor<f32>
  %d = pipeline.node "c.B" @c.B phase B layer 2 (%b#0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %e = pipeline.node "b.B" @b.B phase B layer 1 (%d, %b#1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %g = pipeline.node "a.B" @a.B phase B layer 0 (%e, %a#1) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, tensor<32x32xf32>
}
func.func private @a.F(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %k = arith.mulf %x, %w : tensor<32x32xf32>
  %y = math.exp %k : tensor<32x32xf32>
  return %y, %k : tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @b.F(%y: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %j = math.sin %y : tensor<32x32xf32>
  %z = math.exp %y : tensor<32x32xf32>
  return %z, %j : tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @c.F(%z: tensor<32x32xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce ins(%z : tensor<32x32xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
      (%in: f32, %out: f32) {
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return %sum : tensor<f32>
}
func.func private @c.B(%z: tensor<32x32xf32>) -> tensor<32x32xf32> {
  return %z : tensor<32x32xf32>
}
func.func private @b.B(%d: tensor<32x32xf32>, %j: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %e = arith.mulf %d, %j : tensor<32x32xf32>
  return %e : tensor<32x32xf32>
}
func.func private @a.B(%e: tensor<32x32xf32>, %k: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %g = arith.mulf %e, %k : tensor<32x32xf32>
  return %g : tensor<32x32xf32>
}
