// What was edited by hand is verified before it is used.
// RUN: pp-opt %s -pipeline-schedule=kind=1f1b > %t.mlir
// RUN: pp-opt %t.mlir -pipeline-verify-schedule | diff - %t.mlir
// RUN: sed 's/<1F0, 1B0, 1F1, 1B1/<1F1, 1B0, 1F0, 1B1/' %t.mlir | not pp-opt -pipeline-verify-schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/<1F0, 1B0, 1F1, 1B1/<1F1, 1B0, 1F0, 1B1/' %t.mlir | not pp-sim 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/<0F0, 0F1, 0B0/<0F0, 0B0, 0F1/' %t.mlir | pp-opt -pipeline-verify-schedule | FileCheck %s --check-prefix=VALID

// ORDER: error: rank 1 runs 1B0 before 1F0, which it waits for
// VALID: pipeline.order 0 <0F0, 0B0, 0F1
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 4 : i64} {
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %a = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" phase F layer 2 (%b) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "d.F" phase F layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<f32>
  %di = pipeline.node "d.I" phase I layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %ci = pipeline.node "c.I" phase I layer 2 (%di) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %bi = pipeline.node "b.I" phase I layer 1 (%ci) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %aw = pipeline.node "a.W" phase W layer 0 (%bi) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %d, %aw results [0, 1] : tensor<f32>, tensor<4xf32>
}
}
