// RUN: pp-opt %s -split-input-file -pipeline-partition="planner=balance cluster=local:3 microbatches=4 schedule=1f1b" | FileCheck %s
// RUN: pp-opt %s -split-input-file -pipeline-partition="cluster=%inputs/cluster-two-classes.json microbatches=4 planner=balance" | FileCheck %s --check-prefix=LAB

// Four equal layers and a skip connection from the first to the last: a value that skips a stage goes straight to its
// user, and one that two stages use has two boundaries.
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b", "c"]} {
  %a = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" phase F layer 2 (%a, %b) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %d = pipeline.node "c.I" phase I layer 2 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %e = pipeline.node "b.I" phase I layer 1 (%d) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %f = pipeline.node "a.W" phase W layer 0 (%e) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %c, %f results [0, 1] : tensor<f32>, tensor<4xf32>
}
// CHECK:      pipeline.cluster @local {
// CHECK-NEXT:   pipeline.device @d0 class "cpu-core" memory 17179869184 node 0 flops 7.800000e+10 bandwidth 2.000000e+10
// CHECK:        pipeline.link @d0 to @d1 bandwidth 1.000000e+10 latency 2.000000e-06
// CHECK:      pipeline.program @plan of @step on @local microbatches 4
// CHECK-SAME:   plan <time = {{.*}} : f64, bound = {{.*}} : f64, planner = "balance", plan_bound = {{.*}} : f64, schedule = "1f1b"> {
// CHECK-NEXT:   pipeline.stage 0 on [@d0] layers [0] {bound_by = "compute"}
// CHECK-NEXT:   pipeline.stage 1 on [@d1] layers [1] {bound_by = "compute"}
// CHECK-NEXT:   pipeline.stage 2 on [@d2] layers [2] {bound_by = "compute"}
// CHECK-NEXT:   pipeline.boundary "a.F" result 0 from 0 to 1 : tensor<4xf32>
// CHECK-NEXT:   pipeline.boundary "a.F" result 0 from 0 to 2 : tensor<4xf32>
// CHECK-NEXT:   pipeline.boundary "b.F" result 0 from 1 to 2 : tensor<4xf32>
// CHECK-NEXT:   pipeline.boundary "c.I" result 0 from 2 to 1 : tensor<4xf32>
// CHECK-NEXT:   pipeline.boundary "b.I" result 0 from 1 to 0 : tensor<4xf32>
// CHECK-NEXT: }

// The device that is four times as fast gets two of three layers.
// LAB: pipeline.program @plan of @step on @lab
// LAB:   pipeline.stage 0 on [@fast] layers [0, 1]
// LAB:   pipeline.stage 1 on [@slow] layers [2]
