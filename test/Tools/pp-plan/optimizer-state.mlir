// The state of the step's optimizer counts as memory of the stage that owns the parameter; a given number is used instead.
// RUN: pp-plan %s --cluster=local:1 --microbatches=1 --json | FileCheck %s --check-prefix=STATE
// RUN: pp-plan %s --cluster=local:1 --microbatches=1 --optimizer-state=7 --json | FileCheck %s --check-prefix=GIVEN
// STATE: "memory_bytes": 1600000
// GIVEN: "memory_bytes": 3600000

// w and its gradient have 400,000 bytes each, the state has twice as many, or as given, seven times as many.
pipeline.graph @step(%w: tensor<100000xf32> {pipeline.role = "parameter"})
    -> (tensor<100000xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"})
    attributes {layers = ["a"]} {
  %g = pipeline.node "a.F" phase F layer 0 (%w) cost <flops = 1000000, read = 0, written = 0>
      : (tensor<100000xf32>) -> tensor<100000xf32>
  pipeline.yield %g results [0] : tensor<100000xf32>
}
func.func @update(%w: tensor<100000xf32> {pipeline.role = "parameter", pipeline.of = 0},
                  %g: tensor<100000xf32> {pipeline.role = "gradient", pipeline.of = 0},
                  %m: tensor<100000xf32> {pipeline.role = "state"}, %v: tensor<100000xf32> {pipeline.role = "state"})
    -> (tensor<100000xf32> {pipeline.role = "parameter", pipeline.of = 0}) {
  return %w : tensor<100000xf32>
}
