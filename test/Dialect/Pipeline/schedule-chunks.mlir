// RUN: pp-opt %s -pipeline-schedule=kind=interleaved | FileCheck %s --check-prefix=LOOP
// RUN: pp-opt %s -pipeline-schedule=kind=zb-v | FileCheck %s --check-prefix=V
// RUN: pp-opt %s -pipeline-partition="chunks=2 max-replicas=1 placement=v" -pipeline-schedule | FileCheck %s --check-prefix=PLAN
// RUN: not pp-opt %s -pipeline-partition="chunks=2 max-replicas=1 placement=v schedule=zb-v" -pipeline-schedule=kind=interleaved 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not pp-opt %s -pipeline-partition="max-replicas=1" -pipeline-schedule=kind=dualpipe 2>&1 | FileCheck %s --check-prefix=TWIN
// RUN: not pp-opt %s -pipeline-partition="chunks=2 max-replicas=1 placement=linear" 2>&1 | FileCheck %s --check-prefix=NEIGHBOURS

// NEIGHBOURS: error: no schedule of those asked for runs 2 chunks per device placed linear; place them loop or v, or ask for one chunk
// Without a program the stages are placed as the schedule needs them.
// LOOP: pipeline.stage 2 on [@d0] layers [2]
// LOOP: pipeline.schedule @interleaved of @plan kind "interleaved" {
// LOOP-NEXT: pipeline.order 0 <0F0, 0F1, 2F0, {{.*}}>
// LOOP-NEXT: pipeline.order 1 <1F0, 1F1, 3F0, {{.*}}>
// V: pipeline.stage 2 on [@d1] layers [2]
// V: pipeline.schedule @zb_v of @plan kind "zb-v" {
// V-NEXT: pipeline.order 0 <0F0, {{.*}}0W3{{.*}}>
// V-NEXT: pipeline.order 1 <1F0, 2F0, {{.*}}>

// The schedule that the plan was made for.
// PLAN: schedule = "[[NAME:[a-z0-9-]+]]">
// PLAN: pipeline.schedule @{{.*}} of @plan kind "[[NAME]]"

// OTHER: error: interleaved wants 2 or more chunks per device placed loop: partition with chunks=2 placement=loop; @plan has 2 per device, placed v
// TWIN: error: dualpipe wants every stage on two devices: partition with placement=twin; @plan has
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 4 : i64} {
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
}
