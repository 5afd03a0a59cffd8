// An optimizer cut by the owners of the parameters: gradients scaled by the norm of all of them, momentum, a count.
// RUN: pp-opt %s -pipeline-schedule=kind=gpipe -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s

func.func private @first(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @second(%v: tensor<4xf32>, %w: tensor<4xf32>, %h: tensor<4xf32>)
    -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  return %zero, %h, %h : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
func.func private @back(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  return %g : tensor<4xf32>
}
// w is also read by the second layer.
pipeline.graph @step(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                     %v: tensor<4xf32> {pipeline.role = "parameter", pipeline.name = "v"},
                     %x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w"},
        tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.combine = "mean", pipeline.name = "v"})
    attributes {layers = ["a", "b"]} {
  %h = pipeline.node "first" @first phase F layer 0 (%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l, %g, %dv = pipeline.node "second" @second phase F layer 1 (%v, %w, %h)
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>)
  %dw = pipeline.node "back" @back phase B layer 0 (%w, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  pipeline.yield %l, %dw, %dv results [0, 1, 2] : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @step on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
}

#vector = affine_map<(d0) -> (d0)>
#number = affine_map<(d0) -> ()>
func.func @update(%w: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0, pipeline.name = "w"},
                  %v: tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 1, pipeline.name = "v"},
                  %dw: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.name = "dw"},
                  %dv: tensor<4xf32> {pipeline.role = "gradient", pipeline.of = 1, pipeline.name = "dv"},
                  %m: tensor<4xf32> {pipeline.role = "state", pipeline.name = "state/v"},
                  %count: tensor<i32> {pipeline.role = "state", pipeline.name = "state/count"},
                  %rate: tensor<f32> {pipeline.role = "constant", pipeline.name = "rate"})
    -> (tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 0}, tensor<4xf32> {pipeline.role = "parameter", pipeline.of = 1},
        tensor<4xf32> {pipeline.role = "state", pipeline.of = 4}, tensor<i32> {pipeline.role = "state", pipeline.of = 5}) {
  %one = arith.constant dense<1> : tensor<i32>
  %next = arith.addi %count, %one : tensor<i32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sw = linalg.dot ins(%dw, %dw : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %sv = linalg.dot ins(%dv, %dv : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %norm = arith.addf %sw, %sv : tensor<f32>
  %scale = arith.divf %rate, %norm : tensor<f32>
  %new_w = linalg.generic {indexing_maps = [#vector, #number, #vector], iterator_types = ["parallel"]}
      ins(%dw, %scale : tensor<4xf32>, tensor<f32>) outs(%w : tensor<4xf32>) {
  ^bb0(%g: f32, %s: f32, %p: f32):
    %change = arith.mulf %g, %s : f32
    %new = arith.subf %p, %change : f32
    linalg.yield %new : f32
  } -> tensor<4xf32>
  %new_m = arith.addf %m, %dv : tensor<4xf32>
  %new_v = linalg.generic {indexing_maps = [#vector, #number, #vector], iterator_types = ["parallel"]}
      ins(%new_m, %scale : tensor<4xf32>, tensor<f32>) outs(%v : tensor<4xf32>) {
  ^bb0(%g: f32, %s: f32, %p: f32):
    %change = arith.mulf %g, %s : f32
    %new = arith.subf %p, %change : f32
    linalg.yield %new : f32
  } -> tensor<4xf32>
  return %new_w, %new_v, %new_m, %next : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>
}

// CHECK: rank.step @step(
// CHECK-SAME: {pipeline.name = "state/v", pipeline.position = 3 : i64, pipeline.role = "state"}
// CHECK-SAME: {pipeline.name = "rate", pipeline.position = 5 : i64, pipeline.role = "constant"}
// CHECK-SAME: {pipeline.combine = "last", pipeline.name = "state/v", pipeline.of = 3 : i64, pipeline.position = 5 : i64, pipeline.role = "state"}
// CHECK: rank.channel @update.0.to1 from 0 to 1 depth 1 once : memref<1xf32>
// CHECK: rank.channel @update.1.to0 from 1 to 0 depth 1 once : memref<1xf32>
// CHECK: rank.channel @parameter.0.to1 from 0 to 1 depth 1 once : memref<4xf32>

// CHECK-LABEL: rank.program @step.0
// CHECK-SAME: state = 64 : i64
// CHECK-NOT: rank.buffer "state/v"
// CHECK: rank.buffer "state/count" state 4 : memref<i32>
// CHECK: rank.action U stage 0
// CHECK: rank.combine mean
// CHECK-NEXT: %[[OWN:.*]] = rank.view %workspace[0]
// CHECK-NEXT: rank.call @update.sums.0 {{.*}} outs(%[[OWN]] :
// CHECK-NEXT: %[[SLOT:.*]] = rank.claim @update.0.to1
// CHECK-NEXT: rank.copy %[[OWN]] to %[[SLOT]]
// CHECK-NEXT: rank.send @update.0.to1
// CHECK-NEXT: %[[OTHER:.*]] = rank.recv @update.1.to0
// CHECK-NEXT: rank.call @update.0 ins(%{{.*}}, %{{.*}}, %[[OWN]], %[[OTHER]] : {{.*}}) accumulate(%[[W:[^,]+]], %{{[^,]+}} :
// CHECK-NEXT: rank.release_channel @update.1.to0
// The rank that reads w as well gets the new one before its next step.
// CHECK-NEXT: %[[NEW:.*]] = rank.claim @parameter.0.to1
// CHECK-NEXT: rank.copy %[[W]] to %[[NEW]]
// CHECK-NEXT: rank.send @parameter.0.to1

// CHECK-LABEL: rank.program @step.1
// CHECK: rank.buffer "state/v" state 3 : memref<4xf32>
// CHECK: rank.buffer "state/count" state 4 : memref<i32>
// CHECK: rank.call @update.1
// CHECK: %[[NEW:.*]] = rank.recv @parameter.0.to1
// CHECK-NEXT: rank.copy %[[NEW]] to
// CHECK-NEXT: rank.release_channel @parameter.0.to1

// Rank 0 owns w. It makes the sum of its squares, and the norm from the sums of both.
// CHECK-LABEL: func.func private @update.sums.0(%arg0: tensor<4xf32>) -> tensor<1xf32>
// CHECK: linalg.dot
// CHECK-NOT: linalg.dot
// CHECK-LABEL: func.func private @update.0(
// CHECK-SAME: %[[DW:[^:]+]]: tensor<4xf32>, %[[RATE:[^:]+]]: tensor<f32>, %[[A:[^:]+]]: tensor<1xf32>, %[[B:[^:]+]]: tensor<1xf32>,
// CHECK-SAME: tensor<4xf32> {rank.accumulate}, %{{.*}}: tensor<i32> {rank.accumulate})
// CHECK-DAG: %[[SW:.*]] = tensor.extract_slice %[[A]][0] [1] [1]
// CHECK-DAG: %[[SV:.*]] = tensor.extract_slice %[[B]][0] [1] [1]
// CHECK: %[[NORM:.*]] = arith.addf %[[SW]], %[[SV]]
// CHECK: arith.divf %[[RATE]], %[[NORM]]
