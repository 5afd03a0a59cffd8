// RUN: pp-opt %s -split-input-file -verify-diagnostics -pipeline-partition=planner=balance | FileCheck %s
// RUN: pp-opt %s -split-input-file -pipeline-partition="cluster=local:1 microbatches=5 memory=1KiB" | FileCheck %s --check-prefix=OPTION

// Options take precedence over the module, and the module over the defaults, which a remark reports.
// expected-remark @+2 {{no cluster is given, taking local:2; give one with cluster= or the module attribute 'pipeline.cluster'}}
// expected-remark @+1 {{no number of microbatches is given, taking 8; give one with microbatches= or the module attribute 'pipeline.microbatches'}}
module {
  pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a", "b"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    %1 = pipeline.node "b.F" phase F layer 1 (%0) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %1 results [0] : tensor<8xf32>
  }
}
// CHECK: pipeline.program @plan of @step on @local microbatches 8
// CHECK: pipeline.stage 1 on [@d1] layers [1]
// OPTION: pipeline.device @d0 class "cpu-core" memory 1024
// OPTION: pipeline.program @plan of @step on @local microbatches 5
// OPTION: pipeline.stage 0 on [@d0] layers [0, 1]

// -----

module attributes {pipeline.cluster = "local:1", pipeline.microbatches = 3 : i64} {
  pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %0 results [0] : tensor<8xf32>
  }
}
// CHECK: pipeline.program @plan of @step on @local microbatches 3
// CHECK-NEXT: pipeline.stage 0 on [@d0] layers [0]

// -----

// A cluster in the module is taken, an older program and its schedule are replaced.
module attributes {pipeline.microbatches = 3 : i64} {
  pipeline.graph @step(%x: tensor<8xf32>) -> (tensor<8xf32>) attributes {layers = ["a"]} {
    %0 = pipeline.node "a.F" phase F layer 0 (%x) cost <flops = 7, read = 0, written = 0> : (tensor<8xf32>) -> tensor<8xf32>
    pipeline.yield %0 results [0] : tensor<8xf32>
  }
  pipeline.cluster @mine {
    pipeline.device @here class "cpu-core" memory 1024 node 0 flops 1.0 bandwidth 1.0
  }
  pipeline.program @older of @step on @mine microbatches 7 {
    pipeline.stage 0 on [@here] layers [0]
  }
  pipeline.schedule @gpipe of @older kind "gpipe" {
  }
}
// CHECK-NOT: @older
// CHECK: pipeline.cluster @mine
// CHECK: pipeline.program @plan of @step on @mine microbatches 3
// CHECK-NEXT: pipeline.stage 0 on [@here] layers [0]
