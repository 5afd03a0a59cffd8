// RUN: pp-sim %s --order=gpipe | FileCheck %s
// RUN: pp-sim %s --order=gpipe --collective-slowdown=1.5 | FileCheck %s --check-prefix=SLOW

// One stage on two devices, each with half of every microbatch: F = 2 s, B = 4 s, two microbatches. A layer's gradients take 2
// (1/2) 16 B / (16 B/s) = 1 s to reduce: those of "b" while the last backward of "a" runs, those of "a" after it.
pipeline.graph @step(%v: tensor<4xf32> {pipeline.role = "parameter"}, %w: tensor<4xf32> {pipeline.role = "parameter"},
                     %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"},
        tensor<4xf32> {pipeline.of = 1 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%v, %x) cost <flops = 2, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l:2 = pipeline.node "b.F" phase F layer 1 (%w, %h) cost <flops = 2, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d:2 = pipeline.node "b.B" phase B layer 1 (%l#1) cost <flops = 4, read = 0, written = 0> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %g = pipeline.node "a.W" phase W layer 0 (%d#0) cost <flops = 4, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l#0, %g, %d#1 results [0, 1, 2] : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @pair {
  pipeline.device @d0 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.link @d0 to @d1 bandwidth 16.0 latency 0.0
}
pipeline.program @plan of @step on @pair microbatches 2 {
  pipeline.stage 0 on [@d0, @d1] layers [0, 1]
}

// CHECK: 1 stage on pair, gpipe order, 2 microbatches
// CHECK: makespan 13 s
// CHECK: d0-d1   0      12 s     1 s
// CHECK: 0 all-reduce from 12 s to 13 s

// Half a second more for the last backward.
// SLOW: makespan 13.5 s
// SLOW: 0 all-reduce from 12.5 s to 13.5 s
