// RUN: pp-opt %s -pipeline-schedule=kind=1f1b -pipeline-schedule-communication | FileCheck %s
// RUN: pp-opt %s -pipeline-schedule=kind=zb-v -pipeline-schedule-communication | FileCheck %s --check-prefix=V
// RUN: not pp-opt %s -pipeline-schedule-communication=receive-buffers=0 2>&1 | FileCheck %s --check-prefix=BUFFERS

// Sends and receives are posted, an action waits for what it needs; a communicator for every direction.
// CHECK: pipeline.schedule @one_f_one_b of @plan kind "1f1b" {
// CHECK-NEXT: pipeline.order 0 "0F0 0F1 0B0 0F2 0B1 0F3 0B2 0B3" {pipeline.communication = "{{.*}}0F0 0SEND_F0 {{.*}}0B3{{.*}}"}
// CHECK-NEXT: pipeline.order 1 "1F0 1B0 {{.*}}" {pipeline.communication = "1RECV_F0 {{.*}}1B0 1SEND_B0 {{.*}}"}
// CHECK: pipeline.channels = [{from = 0 : i64, round = {{[01]}} : i64, to = 1 : i64}, {from = 1 : i64, round = {{[01]}} : i64, to = 0 : i64}]

// The turn of a V needs no message: stage 1 does not send to stage 2.
// V-NOT: 1SEND_F
// V: pipeline.order 1 "1F0 2F0 {{.*}}" {pipeline.communication = "{{.*}} 2F0 2SEND_F0 {{.*}}"}
// BUFFERS: error: buffers must be at least 1, got receive-buffers=0 and send-buffers=2
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
