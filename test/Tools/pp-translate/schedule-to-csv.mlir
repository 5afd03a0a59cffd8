// RUN: pp-opt %s -pipeline-schedule=kind=interleaved | pp-translate --schedule-to-csv -o %t.csv
// RUN: FileCheck %s --check-prefix=CSV < %t.csv
// RUN: pp-opt %s -pipeline-schedule=csv=%t.csv | FileCheck %s
// RUN: pp-opt %s -pipeline-schedule=csv=%t.csv | pp-translate --schedule-to-csv | diff %t.csv -
// RUN: not pp-translate --schedule-to-csv %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: pp-opt %s -pipeline-partition="cluster=local:4 microbatches=8 placement=twin schedule=dualpipe" -pipeline-schedule > %t.twin.mlir
// RUN: not pp-translate --schedule-to-csv %t.twin.mlir 2>&1 | FileCheck %s --check-prefix=TWIN
// RUN: not pp-opt %s -pipeline-schedule=csv=%t.missing.csv 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: echo "0F0,0Z0" > %t.wrong.csv
// RUN: not pp-opt %s -pipeline-schedule=csv=%t.wrong.csv 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not pp-opt %s -pipeline-partition="microbatches=5 chunks=2 max-replicas=1 placement=v" -pipeline-schedule=csv=%t.csv 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not pp-opt %s -pipeline-partition="chunks=2 max-replicas=1 placement=v" -pipeline-schedule=csv=%t.csv 2>&1 | FileCheck %s --check-prefix=PLACE

// PyTorch's files can be read, without a program whose placement differs.
// CSV: 0F0,0F1,2F0
// CSV-NEXT: 1F0,1F1,3F0
// CHECK: pipeline.stage 2 on [@d0] layers [2]
// CHECK: pipeline.schedule @csv of @plan kind "csv" {
// CHECK-NEXT: pipeline.order 0 <0F0, 0F1, 2F0
// CHECK-NEXT: pipeline.order 1 <1F0, 1F1, 3F0
// NONE: error: one schedule can be exported, the module has 0; run pipeline-schedule
// TWIN: error: stage 0 runs on ranks 0 and 3, but PyTorch's CSV has a stage on one rank only
// MISSING: error: {{.*}}missing.csv
// WRONG: error: {{.*}}wrong.csv: {{.*}}0Z0
// COUNT: error: the orders are for 4 microbatches, @plan has 5; partition with microbatches=4
// PLACE: error: the orders are for 2 devices of 2 stages placed loop, @plan has 2 devices of 2 stages placed v
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
