// RUN: pp-opt %s -split-input-file -verify-diagnostics -pipeline-schedule
// RUN: not pp-opt %s -split-input-file -pipeline-schedule=kind=zigzag 2>&1 | FileCheck %s
// CHECK: error: unknown schedule 'zigzag'; there are gpipe, 1f1b, eager-1f1b, early-backward, window

pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
pipeline.program @plan of @step on @local microbatches 2 {
  // expected-error @+1 {{lies on 2 devices; schedules run each stage on one device, partition with max-replicas=1}}
  pipeline.stage 0 on [@d0, @d1] layers [0]
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
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  // expected-error @+1 {{lies on device @d0 like stage 0; schedules run one stage per device, use fewer stages}}
  pipeline.stage 1 on [@d0] layers [1]
}
