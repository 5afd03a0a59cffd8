// RUN: not pp-opt %s -pipeline-schedule-flows=policy=tcp 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: sed '/^pipeline.schedule/,$d' %s | not pp-opt -pipeline-schedule-flows 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/<0F0, 0F1>/<0F1, 0F0>/' %s | not pp-opt -pipeline-schedule-flows 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: pp-opt %s -pipeline-schedule-flows -o %t.mlir
// RUN: sed 's/ degree = 1/ degree = 3/' %t.mlir | not pp-opt -pipeline-verify-schedule 2>&1 | FileCheck %s --check-prefix=DEGREE
// RUN: sed 's/makespan = [0-9.e+]*/makespan = 2.0e+00/' %t.mlir | not pp-opt -pipeline-verify-schedule 2>&1 | FileCheck %s --check-prefix=MAKESPAN
// RUN: sed 's/policy = "oes"/policy = "tcp"/' %t.mlir | not pp-opt -pipeline-verify-schedule 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: sed 's/, policy = "oes"//' %t.mlir | not pp-opt -pipeline-verify-schedule 2>&1 | FileCheck %s --check-prefix=NOPOLICY
// RUN: not pp-sim %s --policy=tcp 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not pp-sim %s --policy=oes --full-duplex 2>&1 | FileCheck %s --check-prefix=DUPLEX
// RUN: not pp-sim %s --policy=oes --order=window 2>&1 | FileCheck %s --check-prefix=WINDOW

// POLICY: error: {{.*}}unknown policy 'tcp'; there are oes, guaranteed, fair, fifo
// NONE: error: there is no pipeline.schedule; run pipeline-schedule first
// ORDER: error: channel 0 forwards carries microbatches 0 and 1 in an order that depends on rates, so no bound is known; use a schedule with microbatches in order
// DEGREE: error: 'pipeline.flow_schedule' states degree 3, and the schedule has 1; run pipeline-schedule-flows again
// MAKESPAN: error: 'pipeline.flow_schedule' states makespan 2, and the schedule has 11; run pipeline-schedule-flows again
// NOPOLICY: error: 'pipeline.flow_schedule' has no policy or degree; run pipeline-schedule-flows again
// DUPLEX: error: with --policy, flows share NICs in both directions; leave out --full-duplex and --no-nic
// WINDOW: error: the order 'window' is not defined where links share rates or a channel leads to a later microbatch; choose 1f1b or gpipe
pipeline.graph @step(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %m = pipeline.node "b.F" phase F layer 1 (%h) cost <flops = 1, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %m results [0] : tensor<4xf32>
}
pipeline.cluster @hosts {
  pipeline.device @d0 class "unit" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "unit" memory 1024 node 1 flops 1.0 bandwidth 1.0
  pipeline.fabric between bandwidth 4.0 latency 0.5 nic 4.0
}
pipeline.program @plan of @step on @hosts microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
pipeline.schedule @orders of @plan kind "1f1b" {
  pipeline.order 0 <0F0, 0F1>
  pipeline.order 1 <1F0, 1F1>
}
