// RUN: pp-opt --pipeline-unify-bodies %s | FileCheck %s

// Equal up to names and locations: one body. Another constant: another body. A body that is also called stays.

// CHECK: pipeline.node "a.F" @a.F
// CHECK: pipeline.node "b.F" @a.F
// CHECK: pipeline.node "c.F" @c.F
// CHECK: pipeline.node "d.F" @a.F
// CHECK: func.func private @a.F
// CHECK-NOT: @b.F
// CHECK: func.func private @c.F
// CHECK: func.func private @d.F
// CHECK: call @d.F
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b", "c", "d"]} {
  %a = pipeline.node "a.F" @a.F phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" @b.F phase F layer 1 (%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" @c.F phase F layer 2 (%b) : (tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "d.F" @d.F phase F layer 3 (%c) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %d results [0] : tensor<4xf32>
}
func.func private @a.F(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = arith.constant dense<1.0> : tensor<4xf32>
  %y = arith.addf %x, %k : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @b.F(%other: tensor<4xf32>) -> tensor<4xf32> {
  %name = arith.constant dense<1.0> : tensor<4xf32>
  %z = arith.addf %other, %name : tensor<4xf32>
  return %z : tensor<4xf32>
}
func.func private @c.F(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = arith.constant dense<2.0> : tensor<4xf32>
  %y = arith.addf %x, %k : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @d.F(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = arith.constant dense<1.0> : tensor<4xf32>
  %y = arith.addf %x, %k : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @d.F(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
