// RUN: pp-opt %s -pipeline-flow-analysis | FileCheck %s

// 16 bytes for each of two microbatches. Stage 0 sends to both others, stage 2 receives from both; stage 3 is on its host.
// CHECK: pipeline.program @plan
// CHECK: } {pipeline.degree = 2 : i64,
// CHECK-SAME: pipeline.flows = [{bytes = 32 : i64, from = 0 : i64, from_host = 0 : i64, to = 1 : i64, to_host = 4 : i64},
// CHECK-SAME: {bytes = 32 : i64, from = 0 : i64, from_host = 0 : i64, to = 2 : i64, to_host = 7 : i64},
// CHECK-SAME: {bytes = 32 : i64, from = 1 : i64, from_host = 4 : i64, to = 2 : i64, to_host = 7 : i64}],
// CHECK-SAME: pipeline.nics = [{host = 0 : i64, in = 0 : i64, out = 2 : i64}, {host = 4 : i64, in = 1 : i64, out = 1 : i64},
// CHECK-SAME: {host = 7 : i64, in = 2 : i64, out = 0 : i64}]}
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b", "c", "d"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %m = pipeline.node "b.F" phase F layer 1 (%h) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %y = pipeline.node "c.F" phase F layer 2 (%h, %m) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %z = pipeline.node "d.F" phase F layer 3 (%y) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %z results [0] : tensor<4xf32>
}
pipeline.cluster @hosts {
  pipeline.device @d0 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 4 flops 1.0 bandwidth 1.0
  pipeline.device @d2 class "unit" memory 1024 node 7 flops 1.0 bandwidth 1.0
  pipeline.device @d3 class "unit" memory 1024 node 7 flops 1.0 bandwidth 1.0
  pipeline.fabric inside bandwidth 8.0 latency 0.0 between bandwidth 4.0 latency 0.0 nic 4.0
}
pipeline.program @plan of @step on @hosts microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d2] layers [2]
  pipeline.stage 3 on [@d3] layers [3]
}
