// RUN: pp-opt %s --pipeline-repeat-layers=layers=0-0 | FileCheck %s

// W reads what I repeats. A result of the step is still made in the forward; backwards read the repeated one.
// The layer no longer offers to recompute a part.
// CHECK: layers = ["a", "a.again", "b"]
// CHECK-SAME: pipeline.annotations = ["stagewright:replicate:2:0:model.py%3A3", "stagewright:replicate:2:0:model.py%3A3", ""]
// CHECK: %[[Y:.*]] = pipeline.node "a.F" @a.F.part phase F layer 0(%arg0, %arg1) :
// CHECK-NEXT: %[[L:.*]] = pipeline.node "b.F" @b.F phase F layer 2(%[[Y]])
// CHECK-NEXT: %[[D:.*]] = pipeline.node "b.B" @b.B phase I layer 2(%[[Y]])
// CHECK-NEXT: %[[A:.*]]:2 = pipeline.node "a.again" @a.F phase I layer 1(%arg0, %arg1)
// CHECK-NEXT: %[[E:.*]] = pipeline.node "a.I" @a.B phase I layer 0(%[[D]], %[[A]]#1)
// CHECK-NEXT: %[[G:.*]] = pipeline.node "a.W" @a.B phase W layer 0(%[[A]]#0, %[[A]]#1)
// CHECK-NEXT: pipeline.yield %[[L]], %[[Y]], %[[G]]
// CHECK-NOT: @a.less
// CHECK-NOT: @a.rest

pipeline.graph @step(%x: tensor<8xf32> {pipeline.role = "batch"}, %w: tensor<8xf32> {pipeline.role = "parameter"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<8xf32> {pipeline.role = "output"},
        tensor<8xf32> {pipeline.role = "gradient", pipeline.of = 1})
    attributes {layers = ["a", "b"], pipeline.annotations = ["stagewright:replicate:2:0:model.py%3A3", ""]} {
  %a:2 = pipeline.node "a.F" @a.F phase F layer 0 (%x, %w)
      {levels = [#pipeline.level<forward = @a.less, again = @a.rest, results = [0], inputs = [-1, -2], remade = [1]>]} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %l = pipeline.node "b.F" @b.F phase F layer 1 (%a#0) : (tensor<8xf32>) -> tensor<f32>
  %d = pipeline.node "b.B" @b.B phase I layer 1 (%a#0) : (tensor<8xf32>) -> tensor<8xf32>
  %e = pipeline.node "a.I" @a.B phase I layer 0 (%d, %a#1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %g = pipeline.node "a.W" @a.B phase W layer 0 (%a#0, %a#1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %l, %a#0, %g results [0, 1, 2] : tensor<f32>, tensor<8xf32>, tensor<8xf32>
}
func.func private @a.F(%x: tensor<8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %k = arith.mulf %x, %w : tensor<8xf32>
  %y = math.exp %k : tensor<8xf32>
  return %y, %k : tensor<8xf32>, tensor<8xf32>
}
func.func private @b.F(%y: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce ins(%y : tensor<8xf32>) outs(%zero : tensor<f32>) dimensions = [0]
      (%in: f32, %out: f32) {
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return %sum : tensor<f32>
}
func.func private @b.B(%y: tensor<8xf32>) -> tensor<8xf32> {
  return %y : tensor<8xf32>
}
func.func private @a.B(%d: tensor<8xf32>, %k: tensor<8xf32>) -> tensor<8xf32> {
  %g = arith.mulf %d, %k : tensor<8xf32>
  return %g : tensor<8xf32>
}
func.func private @a.less(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %k = arith.mulf %x, %w : tensor<8xf32>
  %y = math.exp %k : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @a.rest(%x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %k = arith.mulf %x, %w : tensor<8xf32>
  return %k : tensor<8xf32>
}
