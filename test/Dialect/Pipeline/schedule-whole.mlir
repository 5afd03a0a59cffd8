// RUN: pp-opt %s -pipeline-partition="stages=2 max-replicas=1" -pipeline-schedule=kind=auto 2>&1 | FileCheck %s
// RUN: not pp-opt %s -pipeline-partition="stages=2 max-replicas=1" -pipeline-schedule=kind=zb-h1 2>&1 | FileCheck %s --check-prefix=APART
// RUN: echo "0F0,0I0,0W0" > %t.csv
// RUN: not pp-opt %s -pipeline-partition="stages=1 microbatches=1 max-replicas=1" -pipeline-schedule=csv=%t.csv 2>&1 | FileCheck %s --check-prefix=FILE

// A merged backward is not run as I and W.
// CHECK: pipeline.order 0 <0F0, {{[0-9FB, ]*}}>
// CHECK-NEXT: pipeline.order 1 <1F0, {{[0-9FB, ]*}}>
// APART: error: 'zb-h1' runs the halves of a backward apart, @step has made them one; leave out pipeline-merge-backward
// FILE: error: 'csv' runs the halves of a backward apart, @step has made them one; leave out pipeline-merge-backward
module attributes {pipeline.cluster = "local:2", pipeline.microbatches = 4 : i64} {
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter"}, %x: tensor<4xf32> {pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<4xf32> {pipeline.of = 0 : i64, pipeline.role = "gradient"})
    attributes {layers = ["a", "b", "c", "d"]} {
  %a = pipeline.node "a.F" phase F layer 0 (%w, %x) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = pipeline.node "b.F" phase F layer 1 (%a) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %c = pipeline.node "c.F" phase F layer 2 (%b) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %d = pipeline.node "d.F" phase F layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<f32>
  %di = pipeline.node "d.B" phase B layer 3 (%c) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %ci = pipeline.node "c.B" phase B layer 2 (%di) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %bi = pipeline.node "b.B" phase B layer 1 (%ci) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  %aw = pipeline.node "a.B" phase B layer 0 (%bi) cost <flops = 1000000, read = 0, written = 0> : (tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %d, %aw results [0, 1] : tensor<f32>, tensor<4xf32>
}
}
