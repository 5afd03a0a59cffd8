// RUN: pp-sim %s | FileCheck %s
// RUN: pp-sim %s --order=cap-a | FileCheck %s --check-prefix=CAP
// RUN: pp-sim %s --order=window --critical-path --grid | FileCheck %s --check-prefix=PATH
// RUN: pp-sim %s --order=gpipe --microbatches=1 --json | FileCheck %s --check-prefix=JSON
// RUN: sed 's/layers .0.$/layers [0] {recompute}/' %s | pp-sim --order=gpipe --microbatches=1 | FileCheck %s --check-prefix=AGAIN
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe | pp-sim | FileCheck %s --check-prefix=SCHEDULE
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe | pp-sim --microbatches=2 | FileCheck %s --check-prefix=FEWER

// Example E1 of test/Unit/Simulation/PipelineTest.cpp: F = 2 s, B = 4 s on both stages, 0.5 s a transfer, four microbatches. All orders
// take 31 s but K_A, which takes 32 s; the critical path is filled by stage 1.
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 2, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l:2 = pipeline.node "b.F" phase F layer 1 (%h) cost <flops = 2, read = 0, written = 0> : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d = pipeline.node "b.I" phase I layer 1 (%l#1) cost <flops = 4, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "a.W" phase W layer 0 (%d) cost <flops = 4, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l#0, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @pair {
  pipeline.device @d0 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.link @d0 to @d1 bandwidth 32.0 latency 0.0
}
pipeline.program @plan of @step on @pair microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}

// CHECK:      2 stages on pair, window order, 4 microbatches
// CHECK-NEXT: makespan 31 s, span 31 s, bubble 22.6 %, no order is faster than 31 s
// CHECK:      device  stage  compute  bubble          in flight  memory
// CHECK-NEXT: d0      0      24 s     7 s     22.6 %  4
// CHECK-NEXT: d1      1      24 s     7 s     22.6 %  1
// CHECK:      channel  there   back    busy
// CHECK-NEXT: 0 -> 1   500 ms  500 ms  4 s   12.9 %
// CHECK:      in other orders: greedy 31 s, cap-a 32 s, early-backward 31 s, gpipe 31 s, 1f1b

// CAP: cap-a order
// CAP: makespan 32 s
// CAP: d0      0      24 s     8 s     25.0 %  2

// PATH:      rank 0 |F0|F1|F2|F3|B0   |
// PATH:      start   end     block  waited for
// PATH-NEXT: 0 s     2 s     0F0    nothing
// PATH-NEXT: 2 s     2.5 s   0>1F0  input
// PATH-NEXT: 2.5 s   4.5 s   1F0    input
// PATH-NEXT: 4.5 s   8.5 s   1B0    input
// PATH-NEXT: 8.5 s   10.5 s  1F1    resource
// PATH:      26.5 s  27 s    1>0B3  input
// PATH-NEXT: 27 s    31 s    0B3    input

// One microbatch: 2 (2 + 4) + 2 * 0.5 = 13 s.
// JSON-DAG: "order": "gpipe order"
// JSON-DAG: "makespan_s": 13
// JSON-DAG: "lower_bound_plan_s": 13
// JSON-DAG: "bubble_share": 0.538

// Stage 0 runs its forward again: 2 s more.
// AGAIN: makespan 15 s

// SCHEDULE: 2 stages on pair, schedule gpipe, 4 microbatches
// SCHEDULE: makespan 31 s

// The file's generator makes the schedule of fewer microbatches: 13 s and 6 s for the other.
// FEWER: schedule gpipe, 2 microbatches
// FEWER: makespan 19 s
