// RUN: pp-opt %s --pipeline-schedule=kind=1f1b --mlir-print-op-generic | pp-opt | FileCheck %s --check-prefixes=CHECK,ALT
// RUN: pp-opt %s --pipeline-schedule=kind=levels | FileCheck %s --check-prefixes=CHECK,LEVELS
// RUN: pp-opt %s --pipeline-schedule=kind=1f1b --pipeline-split-replicas --pipeline-unify-bodies --pipeline-send-once | FileCheck %s --check-prefixes=CHECK,ALT
// RUN: not pp-opt %s --pipeline-schedule=kind=interleaved 2>&1 | FileCheck %s --check-prefix=PLACED
// RUN: not pp-opt %s --pipeline-schedule=kind=searched 2>&1 | FileCheck %s --check-prefix=SEARCHED
// RUN: sed -e 's/, gang_stage = [0-9] : i64//' -e 's/{gang_stage = [0-9] : i64}//' %s | not pp-opt --pipeline-schedule=kind=1f1b 2>&1 | FileCheck %s --check-prefix=UNSTATED
// RUN: sed -e 's/ on \[@d[0-9]\]/ on []/' %s | not pp-opt --pipeline-schedule=kind=1f1b 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: pp-opt %s --pipeline-schedule=kind=1f1b | pp-translate --export-plan | FileCheck %s --check-prefix=JSON

// A pipeline of three stages: the first and the last are two levels of devices 0 and 1, the second a level of device 2.

// PLACED: error: 'interleaved' wants the stages of a pipeline placed loop, 2 or more on each gang, but they are on gangs 0, 1, 0; take a schedule with one stage on each, such as 1f1b, or place them otherwise
// SEARCHED: error: searched is not for stages that several devices share
// NOWHERE: error: stage 0 has no devices; give each stage at least one
// Without the numbers, stages are those of the pipeline.
// UNSTATED: error: 1f1b wants one stage per device: partition with chunks=1; @plan has 2 per device, placed loop

pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch"}) -> (tensor<4xf32> {pipeline.role = "output"})
    attributes {layers = ["a.s0", "a.s1", "b", "c.s0", "c.s1"]} {
  %a:2 = pipeline.node "a.s0.F" phase F layer 0 (%x) cost <flops = 8> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %b = pipeline.node "a.s1.F" phase F layer 1 (%x) cost <flops = 8> : (tensor<4xf32>) -> tensor<4xf32>
  %c:2 = pipeline.node "b.F" phase F layer 2 (%a#0, %b) cost <flops = 8> : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %d = pipeline.node "c.s0.F" phase F layer 3 (%c#0) cost <flops = 8> : (tensor<4xf32>) -> tensor<4xf32>
  %e = pipeline.node "c.s1.F" phase F layer 4 (%c#1) cost <flops = 8> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %d results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d1 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.device @d2 class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  pipeline.fabric inside bandwidth 1.0 latency 0.0
}
pipeline.program @plan of @step on @local microbatches 3 {
// CHECK: pipeline.stage 0 on [@d0] layers [0] {bound_by = "compute", gang_stage = 0 : i64}
// CHECK: pipeline.stage 2 on [@d2] layers [2] {gang_stage = 1 : i64}
// CHECK: pipeline.stage 4 on [@d1] layers [4] {gang_stage = 2 : i64}
  pipeline.stage 0 on [@d0] layers [0] {bound_by = "compute", gang_stage = 0 : i64}
  pipeline.stage 1 on [@d1] layers [1] {gang_stage = 0 : i64}
  pipeline.stage 2 on [@d2] layers [2] {gang_stage = 1 : i64}
  pipeline.stage 3 on [@d0] layers [3] {gang_stage = 2 : i64}
  pipeline.stage 4 on [@d1] layers [4] {gang_stage = 2 : i64}
}
// While device 2 runs a microbatch, the others run the next. All forwards of the first stage come first: so device 2 is never idle.
// ALT: pipeline.schedule @one_f_one_b of @plan kind "1f1b" {
// ALT-NEXT: pipeline.order 0 <0F0, 0F1, 0F2, 3F0, 3F1, 3F2>
// ALT-NEXT: pipeline.order 1 <1F0, 1F1, 1F2, 4F0, 4F1, 4F2>
// ALT-NEXT: pipeline.order 2 <2F0, 2F1, 2F2>
// LEVELS: pipeline.schedule @levels of @plan kind "levels" {
// LEVELS-NEXT: pipeline.order 0 <0F0, 0F1, 3F0, 3F1, 0F2, 3F2>
// LEVELS-NEXT: pipeline.order 1 <1F0, 1F1, 4F0, 4F1, 1F2, 4F2>
// LEVELS-NEXT: pipeline.order 2 <2F0, 2F1, 2F2>

// JSON: "gang_stage": 0
// JSON: "gang_stage": 1
// JSON: "gang_stage": 2
