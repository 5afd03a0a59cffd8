// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4" | FileCheck %s
// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4 max-replicas=1 stages=2" | FileCheck %s --check-prefix=ALONE
// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4" -pipeline-schedule | FileCheck %s --check-prefix=TURNS
// RUN: pp-opt %s -mlir-disable-threading -pipeline-partition="cluster=local:2 microbatches=4" > %t.one
// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4" > %t.many
// RUN: diff %t.one %t.many

// Without parameters nothing has to be reduced: two replicas of everything are as fast as any plan can be.
// CHECK: pipeline.program @plan of @step on @local microbatches 4 plan <time = [[TIME:.*]] : f64, bound = {{.*}}, planner = "spp", plan_bound = {{.*}}, schedule = "{{.*}}">
// CHECK-NEXT: pipeline.stage 0 on [@d0, @d1] layers [0, 1] {bound_by = "compute"}
// ALONE: pipeline.stage 0 on [@d0] layers [0]
// ALONE: pipeline.stage 1 on [@d1] layers [1]
// They take the microbatches in turn.
// TURNS: pipeline.order 0 "0F0 0F2"
// TURNS-NEXT: pipeline.order 1 "0F1 0F3"
pipeline.graph @step(%x: tensor<8xf32> {pipeline.role = "batch"}) -> (tensor<8xf32> {pipeline.role = "output"})
    attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 1000000, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
  %1 = pipeline.node "b.F" phase F layer 1 (%0) cost <flops = 2000000, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %1 results [0] : tensor<8xf32>
}
