// Two equal stages without hops have the credits of 1F1B.
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe -pipeline-assign-credits | FileCheck %s
// CHECK: pipeline.schedule {{.*}} kind "gpipe" credits [2, 1] {
// Without a schedule the pass makes one; credits may be given.
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -pipeline-assign-credits=credits=3,2 | FileCheck %s --check-prefix=GIVEN
// GIVEN: kind "1f1b" credits [3, 2] {
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -pipeline-assign-credits=spare=1 | pp-opt -pipeline-verify-schedule | FileCheck %s --check-prefix=SPARE
// SPARE: credits [3, 2] {
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 4 : i64} {
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %a = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" phase F layer 2 (%b) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "d.F" phase F layer 3 (%c) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<f32>
  %di = pipeline.node "d.I" phase I layer 3 (%c) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %ci = pipeline.node "c.I" phase I layer 2 (%di) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %bi = pipeline.node "b.I" phase I layer 1 (%a, %ci) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %aw = pipeline.node "a.W" phase W layer 0 (%bi) cost <flops = 100000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %d, %aw results [0, 1] : tensor<f32>, tensor<4xf32>
}
}
