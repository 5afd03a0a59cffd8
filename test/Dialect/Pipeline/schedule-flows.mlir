// RUN: pp-opt %s -pipeline-schedule-flows > %t.mlir 2> %t.txt && FileCheck %s < %t.mlir && FileCheck %s --check-prefix=REMARK < %t.txt
// RUN: pp-opt %s -pipeline-schedule-flows=policy=guaranteed 2> /dev/null | FileCheck %s --check-prefix=GUARANTEED
// RUN: pp-opt %s -pipeline-schedule-flows=policy=fifo 2> /dev/null | FileCheck %s --check-prefix=FIFO
// RUN: pp-sim %s --policy=oes | FileCheck %s --check-prefix=SIM
// RUN: pp-sim %s --policy=fifo | FileCheck %s --check-prefix=SIMFIFO
// RUN: pp-opt %t.mlir -pipeline-verify-schedule | diff - %t.mlir

// NICs carry 4 bytes per second, and each of the three connections is guaranteed 2. A forward takes 1 s and leaves 16 bytes.
// Both transfers of stage 0 take 1-9 s, then 9-17; stage 1 runs 9-10 and 17-18. Its transfers take 10-17 at 2 bytes per second
// and to 17.5 at 4, then 18-22 at 4; stage 2 ends at 23. Only with guaranteed rates they take 10-18 and 18-26.
// CHECK: pipeline.degree = 2 : i64
// CHECK-SAME: {bytes = 32 : i64, from = 0 : i64, from_host = 0 : i64, rate = 2.000000e+00 : f64, to = 1 : i64, to_host = 1 : i64}
// CHECK: pipeline.flow_schedule = {critical_path = 1.500000e+01 : f64, degree = 2 : i64, link_load = 1.600000e+01 : f64, makespan = 2.300000e+01 : f64, policy = "oes"}
// REMARK: remark: oes rates: 23.0 s; at most 2 x critical path 15.0 s = 30.0 s, at least 16.0 s
// GUARANTEED: makespan = 2.700000e+01 : f64, policy = "guaranteed"
// In order of the starts stage 0 sends at 1-5 to stage 1, 5-9 to 2, 9-13 to 1, 13-17 to 2; stage 1 sends at 9-13 and 17-21.
// FIFO: makespan = 2.200000e+01 : f64, policy = "fifo"
// SIM: makespan 23 s
// SIMFIFO: makespan 22 s
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b", "c"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %m = pipeline.node "b.F" phase F layer 1 (%h) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %y = pipeline.node "c.F" phase F layer 2 (%h, %m) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %y results [0] : tensor<4xf32>
}
pipeline.cluster @hosts {
  pipeline.device @d0 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 1 flops 1.0 bandwidth 1.0
  pipeline.device @d2 class "unit" memory 1024 node 2 flops 1.0 bandwidth 1.0
  pipeline.fabric between bandwidth 4.0 latency 0.0 nic 4.0
}
pipeline.program @plan of @step on @hosts microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d2] layers [2]
}
pipeline.schedule @orders of @plan kind "1f1b" {
  pipeline.order 0 <0F0, 0F1>
  pipeline.order 1 <1F0, 1F1>
  pipeline.order 2 <2F0, 2F1>
}
