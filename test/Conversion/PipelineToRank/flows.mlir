// A flow schedule guarantees each pair of ranks on two hosts a rate. A NIC carries 6 bytes per second; that of d0 and d1 has
// three connections to other hosts, that of d3 two from others.
// RUN: pp-opt %s -pipeline-schedule-flows -lower-pipeline-to-rank 2> /dev/null > %t.mlir && FileCheck %s < %t.mlir
// RUN: pp-opt %s -pipeline-flow-analysis -lower-pipeline-to-rank | FileCheck %s --check-prefix=NONE
// RUN: pp-opt %s -stagewright-pipeline='to=host from=schedule policy=guaranteed' 2> /dev/null | FileCheck %s --check-prefix=HOST
// RUN: sed 's/rate = 2/rate = 0/' %t.mlir | not pp-opt - 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: sed 's/rank.flows = .*],/rank.flows = 1 : i64,/; s/rank.flows = .*]}/rank.flows = 1 : i64}/' %t.mlir | not pp-opt - 2>&1 | FileCheck %s --check-prefix=ARRAY
// RUN: sed 's/to = 3/to = 2/' %t.mlir | not pp-opt - 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/to = 3/to = 0/' %t.mlir | not pp-opt - 2>&1 | FileCheck %s --check-prefix=ITSELF
// RUN: sed 's/to = 3/to = 4/' %t.mlir | not pp-opt - 2>&1 | FileCheck %s --check-prefix=BEYOND

// CHECK: module attributes {rank.flows = [{from = 0 : i64, rate = 2.000000e+00 : f64, to = 2 : i64}, {from = 0 : i64, rate = 2.000000e+00 : f64, to = 3 : i64}, {from = 1 : i64, rate = 2.000000e+00 : f64, to = 2 : i64}, {from = 2 : i64, rate = 3.000000e+00 : f64, to = 3 : i64}]}
// NONE-NOT: rank.flows
// HOST: rank.flows
// ZERO: error: rank.flows has the rate 0.000000e+00 : f64, expected a finite number of bytes per second above 0
// ARRAY: error: rank.flows must be an array, got 1 : i64
// TWICE: error: rank.flows has two rates from rank 0 to rank 2, expected one
// BEYOND: error: rank.flows has a rate from rank 0 to rank 4, and there are 4 ranks
// ITSELF: error: rank.flows must have a rate from one rank to another, such as {from = 0 : i64, rate = 1.0e+06 : f64, to = 1 : i64}, got {from = 0 : i64, rate = 2.000000e+00 : f64, to = 0 : i64}
func.func private @one(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func private @join(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.name = "y"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %h = pipeline.node "a.F" @one phase F layer 0 (%x) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %m = pipeline.node "b.F" @one phase F layer 1 (%h) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %n = pipeline.node "c.F" @join phase F layer 2 (%h, %m) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = pipeline.node "d.F" @join phase F layer 3 (%h, %n) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %y results [0] : tensor<4xf32>
}
pipeline.cluster @hosts {
  pipeline.device @d0 class "unit" memory 1024 node 5 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 5 flops 1.0 bandwidth 1.0
  pipeline.device @d2 class "unit" memory 1024 node 7 flops 1.0 bandwidth 1.0
  pipeline.device @d3 class "unit" memory 1024 node 9 flops 1.0 bandwidth 1.0
  pipeline.fabric between bandwidth 6.0 latency 0.0 nic 6.0
}
pipeline.program @plan of @step on @hosts microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d2] layers [2]
  pipeline.stage 3 on [@d3] layers [3]
}
pipeline.schedule @orders of @plan kind "1f1b" {
  pipeline.order 0 <0F0, 0F1>
  pipeline.order 1 <1F0, 1F1>
  pipeline.order 2 <2F0, 2F1>
  pipeline.order 3 <3F0, 3F1>
}
