// RUN: pp-opt %s -split-input-file -pipeline-schedule=kind=1f1b | FileCheck %s --check-prefixes=CHECK,ALT
// RUN: pp-opt %s -split-input-file -pipeline-schedule=kind=gpipe | FileCheck %s --check-prefixes=CHECK,GPIPE
// RUN: pp-opt %s -split-input-file -pipeline-schedule=kind=early-backward | FileCheck %s --check-prefixes=CHECK,EARLY
// RUN: pp-opt %s -split-input-file -pipeline-schedule=kind=window | FileCheck %s --check-prefixes=CHECK,WINDOW

pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l:2 = pipeline.node "b.F" phase F layer 1 (%h) : (tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
  %d = pipeline.node "b.I" phase I layer 1 (%l#1) : (tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "a.W" phase W layer 0 (%d, %h) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l#0, %g results [0, 1] : tensor<f32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
// CHECK-LABEL: pipeline.program @plan
pipeline.program @plan of @step on @local microbatches 3 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}
// ALT:        pipeline.schedule @one_f_one_b of @plan kind "1f1b" {
// ALT-NEXT:     pipeline.order 0 <0F0, 0F1, 0B0, 0F2, 0B1, 0B2>
// ALT-NEXT:     pipeline.order 1 <1F0, 1B0, 1F1, 1B1, 1F2, 1B2>
// GPIPE:      pipeline.schedule @gpipe of @plan kind "gpipe" {
// GPIPE-NEXT:   pipeline.order 0 <0F0, 0F1, 0F2, 0B0, 0B1, 0B2>
// GPIPE-NEXT:   pipeline.order 1 <1F0, 1F1, 1F2, 1B0, 1B1, 1B2>
// EARLY:      pipeline.schedule @early_backward of @plan kind "early-backward" {
// EARLY-NEXT:   pipeline.order 0 <0F0, 0F1, 0F2, 0B0, 0B1, 0B2>
// EARLY-NEXT:   pipeline.order 1 <1F0, 1B0, 1F1, 1B1, 1F2, 1B2>
// WINDOW:      pipeline.schedule @window of @plan kind "window" {
// WINDOW-NEXT:   pipeline.order 0 <0F0, 0F1, 0F2, 0B0, 0B1, 0B2>
// WINDOW-NEXT:   pipeline.order 1 <1F0, 1B0, 1F1, 1B1, 1F2, 1B2>

// An older schedule of the program is replaced.
// CHECK-NOT: <2F0>
pipeline.schedule @old of @plan kind "1f1b" {
  pipeline.order 0 <2F0>
}

// -----

// A graph without backward runs forwards only.
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output"})
    attributes {layers = ["a"]} {
  %h = pipeline.node "a.F" phase F layer 0 (%x) : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %h results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0] layers [0]
}
// CHECK: pipeline.order 0 <0F0, 0F1>
