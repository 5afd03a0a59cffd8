// RUN: pp-opt %s -split-input-file -verify-diagnostics -pipeline-schedule
// RUN: not pp-opt %s -split-input-file -pipeline-schedule=kind=zigzag 2>&1 | FileCheck %s
// RUN: not pp-opt %s -split-input-file -pipeline-schedule=objective=fast 2>&1 | FileCheck %s --check-prefix=OBJECTIVE
// RUN: not pp-opt %s -split-input-file -pipeline-schedule=group=-1 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not pp-opt %s -split-input-file -pipeline-schedule=effort=-1 2>&1 | FileCheck %s --check-prefix=EFFORT
// RUN: not pp-opt %s -split-input-file -pipeline-schedule="kind=gpipe csv=orders.csv" 2>&1 | FileCheck %s --check-prefix=BOTH
// CHECK: error: unknown schedule 'zigzag'; there are gpipe, 1f1b, {{.*}}, plan (what the plan was made for) and auto (the best that is found)
// OBJECTIVE: error: objective must be makespan or span, got 'fast'
// GROUP: error: group must be at least 1, or 0 for the schedule's own choice, got -1
// EFFORT: error: effort must be from 0 to {{.*}}, got {{.*}}
// BOTH: error: orders come from kind=gpipe or from a file, not both

pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %k = pipeline.node "b.F" phase F layer 1 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %k results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @+1 {{a stage lies on 2 devices, but the stages are neither twins (stage s on device s and on its mirror image) nor replicas (stages that share a device share all their devices, in the same order)}}
  pipeline.stage 0 on [@d0, @d1] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}

// -----

pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %k = pipeline.node "b.F" phase F layer 1 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %k results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
// expected-error @+1 {{1f1b wants one stage per device: partition with chunks=1; @plan has 2 per device, placed linear}}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d0] layers [1]
}

// -----

pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b", "c"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  %k = pipeline.node "b.F" phase F layer 1 (%h) : (tensor<4xf32>) -> tensor<4xf32>
  %l = pipeline.node "c.F" phase F layer 2 (%k) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
// expected-error @+1 {{3 stages lie on 2 devices; schedules want equally many on each}}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d1] layers [2]
}
