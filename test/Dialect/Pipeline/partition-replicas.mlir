// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4" | FileCheck %s
// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4 max-replicas=1 stages=2" | FileCheck %s --check-prefix=ALONE
// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4" -pipeline-schedule | FileCheck %s --check-prefix=ORDER
// RUN: pp-opt %s -pipeline-partition="cluster=local:3 microbatches=4 plan='[0,1)x2:7+1 [1,2)'" | FileCheck %s --check-prefix=GIVEN
// RUN: not pp-opt %s -pipeline-partition="cluster=local:3 microbatches=4 plan='[0,1)x2:7+2 [1,2)'" 2>&1 | FileCheck %s --check-prefix=SAMPLES
// RUN: not pp-opt %s -pipeline-partition="cluster=local:9 microbatches=4 plan='[0,2)x9'" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: pp-opt %s -pipeline-partition="cluster=local:9 microbatches=4" | FileCheck %s --check-prefix=MOST
// RUN: not pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4 plan='[0,1)@d0+d1 [1,2)@d1'" 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not pp-opt %s -pipeline-partition="cluster=local:4 microbatches=4 plan='[0,1)x2 [1,2)' placement=twin" 2>&1 | FileCheck %s --check-prefix=TWIN
// RUN: pp-opt %s -mlir-disable-threading -pipeline-partition="cluster=local:2 microbatches=4" > %t.one
// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4" > %t.many
// RUN: diff %t.one %t.many

// Without parameters nothing has to be reduced: two replicas of everything are as fast as any plan can be.
// CHECK: pipeline.program @plan of @step on @local microbatches 4 plan <time = [[TIME:.*]] : f64, bound = {{.*}}, planner = "spp", plan_bound = {{.*}}, schedule = "{{.*}}">
// CHECK-NEXT: pipeline.stage 0 on [@d0, @d1] layers [0, 1] {bound_by = "compute", rows = array<i64: 4, 4>}
// ALONE: pipeline.stage 0 on [@d0] layers [0]
// ALONE: pipeline.stage 1 on [@d1] layers [1]
// One order for both replicas.
// ORDER: pipeline.order 0 <0F0, 0F1, 0F2, 0F3>
// ORDER-NOT: pipeline.order
// GIVEN: pipeline.stage 0 on [@d0, @d1] layers [0] {{{.*}}, rows = array<i64: 7, 1>}
// GIVEN: pipeline.stage 1 on [@d2] layers [1] {bound_by
// SAMPLES: error: stage 0 of the plan gives its replicas 9 samples, a microbatch has 8
// Nine replicas of everything would be as fast as eight, with one of them idle.
// MOST: rows = array<i64: 1, 1, 1, 1, 1, 1, 1, 1>
// SHARED: error: stages 0 and 1 of the plan share device 'd1'; a plan that is given has one stage per device
// TWIN: error: a plan that is given says itself where its stages lie; leave out chunks= and placement=, or the schedule that needs them
// NONE: error: stage 0 has 9 replicas for the 8 samples of a microbatch, and one gets none; give it at most 8, or larger microbatches
pipeline.graph @step(%x: tensor<8xf32> {pipeline.role = "batch"}) -> (tensor<8xf32> {pipeline.role = "output"})
    attributes {layers = ["a", "b"]} {
  %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 1000000, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
  %1 = pipeline.node "b.F" phase F layer 1 (%0) cost <flops = 2000000, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
  pipeline.yield %1 results [0] : tensor<8xf32>
}
