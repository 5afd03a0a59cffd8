// A value made on stage 0 and used by stages 0, 1 and 2 goes to each directly, in a channel of its own, and is copied
// there from where stage 0 reads it. The more stages a value skips, the deeper its ring, so that no sender of a
// balanced pipeline waits. Devices on two hosts are numbered by host. Values that are used where they are made share
// the workspace.
// RUN: pp-opt %s -pipeline-schedule -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s
// RUN: pp-opt %s -pipeline-schedule -lower-pipeline-to-rank -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: pp-opt %s -pipeline-schedule -lower-pipeline-to-rank -verify-rank-programs=microbatches=32 -o /dev/null

func.func private @make(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}
func.func private @join(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
pipeline.graph @step(%x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.name = "y"})
    attributes {layers = ["a", "b", "c"]} {
  %s, %unused = pipeline.node "make" @make phase F layer 0 (%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %t = pipeline.node "a2" @join phase F layer 0 (%s, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %h = pipeline.node "a3" @join phase F layer 0 (%t, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %g = pipeline.node "b" @join phase F layer 1 (%h, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = pipeline.node "c" @join phase F layer 2 (%g, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %y results [0] : tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 7 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 8 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d2] layers [2]
}

// CHECK-DAG: rank.channel @make.0.to1 from 0 to 1 depth 2 : memref<4xf32>
// CHECK-DAG: rank.channel @make.0.to2 from 0 to 2 depth 3 : memref<4xf32>
// CHECK-DAG: rank.channel @a3.0.to1 from 0 to 1 depth 2 : memref<4xf32>

// CHECK-LABEL: rank.program @step.0 rank 0 device "d0" host 0 of @step
// CHECK: %workspace = rank.buffer "workspace" workspace : memref<128xi8>
// CHECK: rank.action F stage 0 microbatch %[[M:[[:alnum:]]+]]
// CHECK: %[[S:[[:alnum:]]+]] = rank.view %workspace[0] : memref<4xf32>
// A value that no node reads has a place while its node runs.
// CHECK-NEXT: %[[UNUSED:[[:alnum:]]+]] = rank.view %workspace[64] : memref<4xf32>
// CHECK-NEXT: rank.call @make {{.*}} outs(%[[S]], %[[UNUSED]] : {{.*}}) workspace %workspace[128, 0] node "make"
// CHECK-NEXT: %[[ONE:[[:alnum:]]+]] = rank.claim @make.0.to1[%[[M]]]
// CHECK-NEXT: rank.copy %[[S]] to %[[ONE]]
// CHECK-NEXT: %[[TWO:[[:alnum:]]+]] = rank.claim @make.0.to2[%[[M]]]
// CHECK-NEXT: rank.copy %[[S]] to %[[TWO]]
// CHECK-NEXT: rank.send @make.0.to1[%[[M]]]
// CHECK-NEXT: rank.send @make.0.to2[%[[M]]]
// CHECK-NEXT: %[[T:[[:alnum:]]+]] = rank.view %workspace[64] : memref<4xf32>
// CHECK-NEXT: rank.call @join ins(%[[S]], %[[S]] : {{.*}}) outs(%[[T]] : {{.*}}) {{.*}} node "a2"
// CHECK-NEXT: %[[H:[[:alnum:]]+]] = rank.claim @a3.0.to1[%[[M]]]
// CHECK-NEXT: rank.call @join ins(%[[T]], %[[S]] : {{.*}}) outs(%[[H]] : {{.*}}) {{.*}} node "a3"
// CHECK-NEXT: rank.send @a3.0.to1[%[[M]]]

// CHECK-LABEL: rank.program @step.2 rank 2 device "d2" host 1 of @step
// CHECK: %output.y = rank.buffer "output/y" output 0 depth all : memref<4xf32>
// CHECK: rank.recv @make.0.to2
// CHECK: %[[Y:[[:alnum:]]+]] = rank.slot %{{.*}}y[
// CHECK-NEXT: rank.call @join {{.*}} outs(%[[Y]] :
// CHECK-NEXT: rank.release_channel
// CHECK-NEXT: rank.release_channel
