// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4 chunks=2 max-replicas=1 placement=loop" | FileCheck %s --check-prefix=LOOP
// RUN: pp-opt %s -pipeline-partition="cluster=local:2 microbatches=4 schedule=zb-v chunks=2 max-replicas=1 placement=v" | FileCheck %s --check-prefix=V
// RUN: pp-opt %s -pipeline-partition="cluster=local:4 microbatches=8 schedule=dualpipe placement=twin" | FileCheck %s --check-prefix=TWIN
// RUN: pp-opt %s -pipeline-partition="cluster=local:4 microbatches=4 schedule=interleaved chunks=2 placement=loop stages=4 max-replicas=1" | FileCheck %s --check-prefix=SOME
// RUN: pp-opt %s -pipeline-partition="cluster=local:4 microbatches=8 schedule=zb-h1" | FileCheck %s --check-prefix=SPLIT

// Several stages lie on one device, or a stage on two. The plan names the schedule that its time is for, and cuts for it.
// LOOP: pipeline.program @plan of @step on @local microbatches 4 plan <time = {{.*}}, planner = "placed", {{.*}}, schedule = "{{.+}}">
// LOOP-NEXT: pipeline.stage 0 on [@d0] layers [0]
// LOOP-NEXT: pipeline.stage 1 on [@d1] layers [1]
// LOOP-NEXT: pipeline.stage 2 on [@d0] layers [2]
// LOOP-NEXT: pipeline.stage 3 on [@d1] layers [3]
// V: schedule = "zb-v">
// V-NEXT: pipeline.stage 0 on [@d0] layers [0]
// V-NEXT: pipeline.stage 1 on [@d1] layers [1]
// V-NEXT: pipeline.stage 2 on [@d1] layers [2]
// V-NEXT: pipeline.stage 3 on [@d0] layers [3]
// TWIN: schedule = "dualpipe">
// TWIN-NEXT: pipeline.stage 0 on [@d0, @d3] layers [0]
// TWIN-NEXT: pipeline.stage 1 on [@d1, @d2] layers [1]
// TWIN-NEXT: pipeline.stage 2 on [@d2, @d1] layers [2]
// TWIN-NEXT: pipeline.stage 3 on [@d3, @d0] layers [3]

// As many stages as are asked for lie on the first devices.
// SOME: schedule = "interleaved">
// SOME-NEXT: pipeline.stage 0 on [@d0] layers [0]
// SOME-NEXT: pipeline.stage 1 on [@d1] layers [1]
// SOME-NEXT: pipeline.stage 2 on [@d0] layers [2]
// SOME-NEXT: pipeline.stage 3 on [@d1] layers [3]

// A schedule that no planner simulates gets its time all the same.
// SPLIT: planner = "placed", {{.*}}schedule = "zb-h1">
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %a = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" phase F layer 2 (%b) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "d.F" phase F layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<f32>
  %di = pipeline.node "d.I" phase I layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %ci = pipeline.node "c.I" phase I layer 2 (%di) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %bi = pipeline.node "b.I" phase I layer 1 (%ci) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %aw = pipeline.node "a.W" phase W layer 0 (%bi) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %d, %aw results [0, 1] : tensor<f32>, tensor<4xf32>
}
