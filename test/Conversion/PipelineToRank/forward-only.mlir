// An inference graph: outputs joined by each rule, an argument that is a result itself, the number of the microbatch.
// RUN: pp-opt %s -pipeline-schedule -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

func.func private @first(%w: tensor<4xf32>, %x: tensor<4xf32>, %m: tensor<i32>) -> (tensor<4xf32>, tensor<i32>) {
  return %x, %m : tensor<4xf32>, tensor<i32>
}
func.func private @second(%h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %h, %h : tensor<4xf32>, tensor<4xf32>
}
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.slice = 2, pipeline.position = 0, pipeline.name = "w"},
                     %x: tensor<4xf32> {pipeline.role = "batch", pipeline.position = 1, pipeline.name = "x"},
                     %m: tensor<i32> {pipeline.role = "microbatch", pipeline.position = 2, pipeline.name = "m"})
    -> (tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.name = "all"},
        tensor<4xf32> {pipeline.role = "output", pipeline.combine = "last", pipeline.name = "last"},
        tensor<i32> {pipeline.role = "output", pipeline.combine = "sum", pipeline.name = "count"},
        tensor<4xf32> {pipeline.role = "output", pipeline.combine = "mean", pipeline.name = "average"},
        tensor<4xf32> {pipeline.role = "output", pipeline.combine = "concat", pipeline.name = "copy"})
    attributes {layers = ["a", "b"]} {
  %h, %c = pipeline.node "first" @first phase F layer 0 (%w, %x, %m) : (tensor<4xf32>, tensor<4xf32>, tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
  %y, %z = pipeline.node "second" @second phase F layer 1 (%h) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  pipeline.yield %y, %z, %c, %x, %y results [0, 1, 2, 3, 4] : tensor<4xf32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 8 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}

// CHECK-LABEL: func.func private @first.sum
// CHECK: arith.addi %out, %in : i32

// CHECK-LABEL: rank.program @step.0
// CHECK: rank.buffer "w.2" parameter 0 slice 2 : memref<4xf32>
// CHECK: rank.buffer "x" batch 1 depth all : memref<4xf32>
// CHECK: rank.buffer "m" microbatch depth all : memref<i32>
// CHECK: rank.buffer "output/count" accumulator 2 : memref<i32>
// CHECK: rank.buffer "output/average" accumulator 3 : memref<4xf32>
// CHECK: %[[COUNT:[[:alnum:]]+]] = rank.slot %output.count
// CHECK: %[[MEAN:[[:alnum:]]+]] = rank.slot %output.average
// CHECK: rank.action F stage 0
// CHECK: rank.call @first.sum {{.*}} accumulate(%[[COUNT]] : memref<i32>)
// CHECK-NEXT: rank.send
// CHECK-NEXT: rank.add %{{.*}} into %[[MEAN]] : memref<4xf32>
// CHECK: rank.action U stage 0
// CHECK-NEXT: rank.combine sum %[[COUNT]] over %M : memref<i32>
// CHECK-NEXT: rank.combine mean %[[MEAN]] over %M : memref<4xf32>

// CHECK-LABEL: rank.program @step.1
// CHECK: rank.buffer "output/all" output 0 depth all : memref<4xf32>
// CHECK: rank.buffer "output/last" output 1 : memref<4xf32>
// CHECK: rank.buffer "output/copy" output 4 depth all : memref<4xf32>
// CHECK: %[[ALL:[[:alnum:]]+]] = rank.slot %output.all[%[[M:[[:alnum:]]+]]]
// CHECK-NEXT: %[[LAST:[[:alnum:]]+]] = rank.slot %output.last[%[[M]]]
// CHECK-NEXT: rank.call @second {{.*}} outs(%[[ALL]], %[[LAST]] :
// CHECK-NEXT: %[[COPY:[[:alnum:]]+]] = rank.slot %output.copy[%[[M]]]
// CHECK-NEXT: rank.copy %[[ALL]] to %[[COPY]]
// CHECK-NOT: rank.action U
