// RUN: pp-opt %s -split-input-file -verify-diagnostics -lower-pipeline-to-rank
// RUN: not pp-opt %s -split-input-file -lower-pipeline-to-rank 2>&1 | FileCheck %s

// Orders edited by hand are verified before a pass uses them; a note draws where they fail.

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
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
// CHECK: error: schedule lacks 1F1
// CHECK: note: the steps in brackets:
// CHECK-NEXT: rank 1, step 0: [1F0]
// expected-error @+2 {{schedule lacks 1F1}}
// expected-note @+1 {{the steps in brackets}}
pipeline.schedule @lacking of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
  pipeline.order 1 <1F0>
}

// -----

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
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
// CHECK: error: schedule deadlocks: rank 0 waits for 0F1 from rank 1, rank 1 waits for 0F0 from rank 0
// CHECK: note: the steps in brackets:
// CHECK-NEXT: rank 0, step 0: [1F1] 0F0
// CHECK-NEXT: rank 1, step 0: [1F0] 0F1
// expected-error @+2 {{schedule deadlocks: rank 0 waits for 0F1 from rank 1, rank 1 waits for 0F0 from rank 0}}
// expected-note @+1 {{the steps in brackets}}
pipeline.schedule @circle of @plan kind "gpipe" {
  pipeline.order 0 <1F1, 0F0>
  pipeline.order 1 <1F0, 0F1>
}

// -----

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
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
// expected-error @+2 {{schedule runs 0F1 on rank 1 although it runs 0F1 on rank 0}}
// expected-note @+1 {{rank 1, step 2: 1F0 1F1 [0F1]}}
pipeline.schedule @twice of @plan kind "gpipe" {
  pipeline.order 0 <0F0, 0F1>
  pipeline.order 1 <1F0, 1F1, 0F1>
}
