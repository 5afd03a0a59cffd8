// A perceptron on two stages, the first with replicas of three samples and of one: bodies have these numbers of samples, what
// the second stage gets is joined, what it sends back is cut into slices, and every replica has its part of the first gradient.
// RUN: pp-opt %s -pipeline-split-replicas | FileCheck %s
// RUN: pp-opt %s -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=RANK

#rows = affine_map<(b, o, i) -> (b, i)>
#matrix = affine_map<(b, o, i) -> (i, o)>
#out = affine_map<(b, o, i) -> (b, o)>
func.func private @layer0.F(%w: tensor<8x16xf32>, %x: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x16xf32>
  %y = linalg.generic {indexing_maps = [#rows, #matrix, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%zero : tensor<4x16xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
func.func private @layer1.F(%h: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %count = arith.constant dense<64.0> : tensor<f32>
  %d = arith.mulf %h, %y : tensor<4x16xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(b, o) -> (b, o)>, affine_map<(b, o) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%d : tensor<4x16xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%in: f32, %acc: f32):
    %s = arith.addf %acc, %in : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %mean = arith.divf %sum, %count : tensor<f32>
  return %mean : tensor<f32>
}
func.func private @layer1.B(%y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %count = arith.constant dense<64.0> : tensor<4x16xf32>
  %d = arith.divf %y, %count : tensor<4x16xf32>
  return %d : tensor<4x16xf32>
}
func.func private @layer0.B(%x: tensor<4x8xf32>, %dh: tensor<4x16xf32>) -> tensor<8x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  %dw = linalg.generic {indexing_maps = [affine_map<(i, o, b) -> (b, i)>, affine_map<(i, o, b) -> (b, o)>, affine_map<(i, o, b) -> (i, o)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %dh : tensor<4x8xf32>, tensor<4x16xf32>) outs(%zero : tensor<8x16xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %dw : tensor<8x16xf32>
}

// The batch stays whole: a replica takes its rows of it.
// CHECK-LABEL: func.func private @layer0.F.rows3(
// CHECK-SAME: %[[W:.*]]: tensor<8x16xf32>, %[[X:.*]]: tensor<4x8xf32>) -> tensor<3x16xf32>
// CHECK: tensor.extract_slice %[[X]][0, 0] [3, 8] [1, 1]
// CHECK: arith.constant dense<0.000000e+00> : tensor<3x16xf32>
// CHECK: func.func private @layer0.F.rows1(%{{.*}}: tensor<8x16xf32>, %[[X:.*]]: tensor<4x8xf32>) -> tensor<1x16xf32>
// CHECK: tensor.extract_slice %[[X]][3, 0] [1, 8] [1, 1]

// CHECK-LABEL: pipeline.graph @step
// CHECK-SAME: layers = ["layer0.r0", "layer0.r1", "layer1"]
// CHECK: %[[H0:.*]] = pipeline.node "layer0.F.r0" {{.*}} phase  F layer 0
// CHECK: %[[H1:.*]] = pipeline.node "layer0.F.r1" {{.*}} phase  F layer 1
// CHECK: %[[H:.*]] = pipeline.node "layer0.F.join" @join phase  F layer 2(%[[H0]], %[[H1]]) : (tensor<3x16xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
// CHECK: %[[LOSS:.*]] = pipeline.node "layer1.F" @layer1.F phase  F layer 2(%[[H]]
// CHECK: %[[DH:.*]] = pipeline.node "layer1.B" @layer1.B phase  B layer 2
// CHECK: %[[DH0:.*]] = pipeline.node "layer1.B.slice" @slice phase  B layer 2(%[[DH]]) : (tensor<4x16xf32>) -> tensor<3x16xf32>
// CHECK: %[[DW0:.*]] = pipeline.node "layer0.B.r0" {{.*}} phase  B layer 0({{.*}}, %[[DH0]])
// CHECK: %[[DH1:.*]] = pipeline.node "layer1.B.slice.1" {{.*}} phase  B layer 2(%[[DH]]) : (tensor<4x16xf32>) -> tensor<1x16xf32>
// CHECK: %[[DW1:.*]] = pipeline.node "layer0.B.r1" {{.*}} phase  B layer 1({{.*}}, %[[DH1]])
// CHECK: pipeline.yield %[[LOSS]], %[[DW0]], %[[DW1]] results [0, 1, 1]

// CHECK: pipeline.stage 0 on [@d0] layers [0] {offload = array<i64: 0>, replica_of = array<i64: 0, 0, 2, 3, 4>}
// CHECK: pipeline.stage 1 on [@d2] layers [1] {offload = array<i64: 1>, replica_of = array<i64: 0, 1, 2, 1, 4>}
// CHECK: pipeline.stage 2 on [@d1] layers [2]{{$}}
// CHECK: pipeline.order 0 <0F0, 0F1, 0B0, 0B1>
// CHECK: pipeline.order 1 <1F0, 1F1, 1B0, 1B1>
// CHECK: pipeline.order 2 <2F0, 2B0, 2F1, 2B1>

// RANK: rank.program @step.0 rank 0 device "d0"
// RANK: rank.program @step.1 rank 1 device "d2"
// RANK: rank.program @step.2 rank 2 device "d1"
pipeline.graph @step(%w: tensor<8x16xf32> {pipeline.role = "parameter", pipeline.name = "w"},
                     %x: tensor<4x8xf32> {pipeline.role = "batch", pipeline.batch_dim = 0 : i64, pipeline.name = "x"},
                     %y: tensor<4x16xf32> {pipeline.role = "batch", pipeline.batch_dim = 0 : i64, pipeline.name = "y"})
    -> (tensor<f32> {pipeline.role = "loss", pipeline.combine = "mean", pipeline.name = "loss"},
        tensor<8x16xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w"})
    attributes {layers = ["layer0", "layer1"]} {
  %h = pipeline.node "layer0.F" @layer0.F phase F layer 0 (%w, %x) : (tensor<8x16xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %l = pipeline.node "layer1.F" @layer1.F phase F layer 1 (%h, %y) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<f32>
  %dh = pipeline.node "layer1.B" @layer1.B phase B layer 1 (%y) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %dw = pipeline.node "layer0.B" @layer0.B phase B layer 0 (%x, %dh) : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  pipeline.yield %l, %dw results [0, 1] : tensor<f32>, tensor<8x16xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d1 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
  pipeline.device @d2 class "cpu-core" memory 2147483648 node 0 flops 6.4e+10 bandwidth 1.0e+10
}
pipeline.program @plan of @step on @local microbatches 2 {
  pipeline.stage 0 on [@d0, @d2] layers [0] {offload = array<i64: 0>, rows = array<i64: 3, 1>}
  pipeline.stage 1 on [@d1] layers [1]
}
pipeline.schedule @one_f_one_b of @plan kind "1f1b" {
  pipeline.order 0 <0F0, 0F1, 0B0, 0B1>
  pipeline.order 1 <1F0, 1B0, 1F1, 1B1>
}
