// Two copies of two shards that join a value. Both shards use a parameter, whose gradient one sum adds over all ranks. Ranks
// of a copy begin it and the gather in one order.
// RUN: sed 's#//alike:##' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefixes=CHECK,ALIKE
// One shard gathers before its last addition, the other after it:
// RUN: sed 's#//apart:##' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefixes=CHECK,APART
// The same with messages:
// RUN: sed 's#//apart:##' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank -verify-rank-programs | FileCheck %s --check-prefix=ALIKE

// CHECK-DAG: rank.gather @{{.*}} among [0, 1]
// CHECK-DAG: rank.gather @{{.*}} among [2, 3]
// ALIKE: rank.collective @gradients.0 among [0, 1, 2, 3]
// ALIKE-LABEL: rank.program @join.1
// ALIKE: rank.action F stage 1
// ALIKE: rank.all_reduce @gradients.0({{.*}}) at
// APART-LABEL: rank.program @join.1
// APART-NOT: rank.all_reduce @gradients.0({{.*}}) at
// APART: rank.all_reduce @gradients.0
// APART-LABEL: rank.program @join.2

func.func private @f(%w: tensor<16xf32>, %x: tensor<16xf32>) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}
pipeline.graph @join(%w: tensor<16xf32> {pipeline.role = "parameter", pipeline.name = "w"}, %x: tensor<16xf32> {pipeline.role = "batch"})
    -> (tensor<16xf32> {pipeline.role = "output", pipeline.combine = "concat"}, tensor<16xf32> {pipeline.role = "output", pipeline.combine = "concat"},
        tensor<16xf32> {pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean", pipeline.name = "w"})
    attributes {layers = ["x0", "x1", "y0", "y1"]} {
  %g = pipeline.node "p0.F" @f phase F layer 0 (%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %a = pipeline.node "x0.F" @f phase F layer 0 (%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
//alike:  %h = pipeline.node "p1.F" @f phase F layer 1 (%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %b = pipeline.node "x1.F" @f phase F layer 1 (%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
//apart:  %h = pipeline.node "p1.F" @f phase F layer 1 (%w, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %y = pipeline.node "y0.F" @f phase F layer 2 (%a, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %z = pipeline.node "y1.F" @f phase F layer 3 (%a, %b) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  pipeline.yield %y, %z, %g, %h results [0, 1, 2, 2] : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d3 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @join on @local microbatches 4 {
  pipeline.stage 0 on [@d0, @d2] layers [0]
  pipeline.stage 1 on [@d1, @d3] layers [1]
  pipeline.stage 2 on [@d0, @d2] layers [2]
  pipeline.stage 3 on [@d1, @d3] layers [3]
}
