// RUN: pp-sim %s --order=gpipe | FileCheck %s --check-prefix=HALF
// RUN: pp-sim %s --order=gpipe --full-duplex | FileCheck %s --check-prefix=FULL

// F = 1 s, B = 1 s, 4 s a transfer, two microbatches. The forwards leave from 1 s to 9 s, so stage 1 runs F0 at 5 s, F1 at
// 9 s, B0 at 10 s, B1 at 11 s; the gradients leave from 11 s to 19 s; B1 of stage 0 ends at 20 s. Nothing goes both ways
// at once, so full duplex does not help GPipe.
// HALF: makespan 20 s
// HALF: d0 {{.*}} of 8 B (does not fit)
// HALF: 0 -> 1   4 s    4 s   16 s
// FULL: makespan 20 s

// In 1F1B with three microbatches, F2 leaves when the gradient of microbatch 1 does.
// RUN: pp-sim %s --order=1f1b --microbatches=3 | FileCheck %s --check-prefix=HALF3
// RUN: pp-sim %s --order=1f1b --microbatches=3 --full-duplex | FileCheck %s --check-prefix=FULL3
// The channel half duplex: F0 1-5, F1 5-9, B0 9-13 (ready at 7), B1 13-17 (ready at 11), and F2, ready at 15 after B0 of stage
// 0, 17-21; stage 1 runs it at 21 and its backward at 22; 23-27 back; 27-28. Full duplex: B0 7-11, B1 11-15, F2 starts on stage
// 0 after B0 at 12 and leaves 13-17; stage 1 17-19; back 19-23; 23-24.
// HALF3: makespan 28 s
// FULL3: makespan 24 s
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l:2 = pipeline.node "b.F" phase F layer 1 (%h) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d = pipeline.node "b.I" phase I layer 1 (%l#1) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "a.W" phase W layer 0 (%d) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l#0, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @pair {
  pipeline.device @d0 class "unit" memory 8 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.link @d0 to @d1 bandwidth 4.0 latency 0.0
}
pipeline.program @plan of @step on @pair microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
