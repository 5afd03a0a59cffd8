// Rank 0, alone on its host, sends to rank 1 on two connections (stages 0 to 1 and 3 to 4) and to rank 2 on one (3 to 5). Each
// connection has a third of the 6 bytes per second of the NIC, so the first pair of ranks has twice the rate of the second.
// RUN: pp-opt %s -pipeline-schedule-flows -lower-pipeline-to-rank 2> /dev/null | FileCheck %s

// CHECK: module attributes {rank.flows = [{from = 0 : i64, rate = 4.000000e+00 : f64, to = 1 : i64}, {from = 0 : i64, rate = 2.000000e+00 : f64, to = 2 : i64}, {from = 2 : i64, rate = 6.000000e+00 : f64, to = 0 : i64}]}
func.func private @one(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func private @join(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.name = "y"})
    attributes {layers = ["a", "b", "c", "d", "e", "f"]} {
  %a = pipeline.node "a.F" @one phase F layer 0 (%x) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" @one phase F layer 1 (%a) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" @one phase F layer 2 (%b) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "d.F" @one phase F layer 3 (%c) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %e = pipeline.node "e.F" @one phase F layer 4 (%d) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %y = pipeline.node "f.F" @join phase F layer 5 (%d, %e) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %y results [0] : tensor<4xf32>
}
pipeline.cluster @hosts {
  pipeline.device @d0 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 1 flops 1.0 bandwidth 1.0
  pipeline.device @d2 class "unit" memory 1024 node 1 flops 1.0 bandwidth 1.0
  pipeline.fabric between bandwidth 6.0 latency 0.0 nic 6.0
}
pipeline.program @plan of @step on @hosts microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d2] layers [2]
  pipeline.stage 3 on [@d0] layers [3]
  pipeline.stage 4 on [@d1] layers [4]
  pipeline.stage 5 on [@d2] layers [5]
}
pipeline.schedule @orders of @plan kind "interleaved" {
  pipeline.order 0 <0F0, 0F1, 3F0, 3F1>
  pipeline.order 1 <1F0, 1F1, 4F0, 4F1>
  pipeline.order 2 <2F0, 2F1, 5F0, 5F1>
}
