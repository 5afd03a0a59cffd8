// RUN: pp-opt --pipeline-merge-backward --split-input-file %s | FileCheck %s

// I and W of a layer become one body: what only passed between them disappears, what both did is done once.

// CHECK: %[[H:.*]] = pipeline.node "a.F"
// CHECK: %[[B:.*]]:2 = pipeline.node "b.B" @b.B phase B layer 1(%[[H]]) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// A layer with only I or only W is renamed in the same way.
// CHECK: %[[A:.*]] = pipeline.node "a.B" @a.B phase B layer 0(%[[B]]#0)
// CHECK: pipeline.yield %[[H]], %[[A]], %[[B]]#1 results [0, 1, 2]
// CHECK: func.func private @b.B
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
// CHECK: func.func private @a.B
// CHECK-NOT: func.func
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %i:2 = pipeline.node "b.I" @i phase I layer 1 (%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %w = pipeline.node "b.W" @w phase W layer 1 (%h, %i#1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "a.W" @d phase W layer 0 (%i#0) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h, %d, %w results [0, 1, 2] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @i(%h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = math.exp %h : tensor<4xf32>
  %s = arith.mulf %e, %h : tensor<4xf32>
  return %e, %s : tensor<4xf32>, tensor<4xf32>
}
func.func private @w(%h: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %e = math.exp %h : tensor<4xf32>
  %p = arith.addf %e, %s : tensor<4xf32>
  return %p : tensor<4xf32>
}
func.func private @d(%g: tensor<4xf32>) -> tensor<4xf32> {
  %n = arith.negf %g : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// The W of a layer may read the I of a later one that stands behind its own I; a body that is only declared is left.
// CHECK: %[[LATER:.*]] = pipeline.node "b.B" @b.B phase B layer 1
// CHECK-DAG: pipeline.node "a.B" @a.B{{.*}} phase B layer 0(%{{.*}}, %[[LATER]])
// CHECK-DAG: pipeline.node "c.I" @declared phase I layer 2
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {layers = ["a", "b", "c"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %i = pipeline.node "a.I" @n phase I layer 0 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  %j = pipeline.node "b.I" @n phase I layer 1 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  %w = pipeline.node "a.W" @s phase W layer 0 (%h, %j) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "c.I" @declared phase I layer 2 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %i, %w, %d results [0, 1, 2] : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @n(%h: tensor<4xf32>) -> tensor<4xf32> {
  %e = math.exp %h : tensor<4xf32>
  return %e : tensor<4xf32>
}
func.func private @s(%h: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %p = arith.addf %h, %s : tensor<4xf32>
  return %p : tensor<4xf32>
}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>
