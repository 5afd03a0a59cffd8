// Four ranks in two rows and two columns. Each joins one value with the other rank of its row and one with that of its column:
// gathers of groups that have ranks in common.
// RUN: sed 's#//alike:##' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefix=ALIKE
// Rank 0 makes its row's part first, rank 1 its column's, and so on around: no order of all four gathers suits every rank, so
// that one value is sent as messages.
// RUN: sed 's#//circle:##' %s | pp-opt -pipeline-schedule=kind=looped-bfs -lower-pipeline-to-rank=gathers -verify-rank-programs | FileCheck %s --check-prefix=CIRCLE

// ALIKE-NOT: rank.channel
// ALIKE-DAG: rank.gather @[[ROW:.*]] among [0, 1] depth
// ALIKE-DAG: rank.gather @{{.*}} among [2, 3] depth
// ALIKE-DAG: rank.gather @[[COLUMN:.*]] among [0, 2] depth
// ALIKE-DAG: rank.gather @{{.*}} among [1, 3] depth
// ALIKE-NOT: rank.channel
// ALIKE-LABEL: rank.program @join.0
// ALIKE: rank.all_gather @[[ROW]](
// ALIKE: rank.all_gather @[[COLUMN]](
// ALIKE-LABEL: rank.program @join.1

// CIRCLE-COUNT-2: rank.channel
// CIRCLE-NOT: rank.channel
// CIRCLE-COUNT-3: rank.gather
// CIRCLE-NOT: rank.gather
// CIRCLE-LABEL: rank.program @join.0

!t = tensor<16xf32>
func.func private @f(%x: !t) -> !t {
  return %x : !t
}
func.func private @g(%a: !t, %b: !t, %c: !t, %d: !t) -> !t {
  return %a : !t
}
pipeline.graph @join(%x: !t {pipeline.role = "batch"})
    -> (!t {pipeline.role = "output", pipeline.combine = "concat"}, !t {pipeline.role = "output", pipeline.combine = "concat"},
        !t {pipeline.role = "output", pipeline.combine = "concat"}, !t {pipeline.role = "output", pipeline.combine = "concat"})
    attributes {layers = ["x0", "x1", "x2", "x3", "y0", "y1", "y2", "y3"]} {
  %r0 = pipeline.node "r0.F" @f phase F layer 0 (%x) : (!t) -> !t
  %c0 = pipeline.node "c0.F" @f phase F layer 0 (%x) : (!t) -> !t
//alike:  %r1 = pipeline.node "r1.F" @f phase F layer 1 (%x) : (!t) -> !t
  %c1 = pipeline.node "c1.F" @f phase F layer 1 (%x) : (!t) -> !t
//circle:  %r1 = pipeline.node "r1.F" @f phase F layer 1 (%x) : (!t) -> !t
//alike:  %r2 = pipeline.node "r2.F" @f phase F layer 2 (%x) : (!t) -> !t
  %c2 = pipeline.node "c2.F" @f phase F layer 2 (%x) : (!t) -> !t
//circle:  %r2 = pipeline.node "r2.F" @f phase F layer 2 (%x) : (!t) -> !t
  %r3 = pipeline.node "r3.F" @f phase F layer 3 (%x) : (!t) -> !t
  %c3 = pipeline.node "c3.F" @f phase F layer 3 (%x) : (!t) -> !t
  %y0 = pipeline.node "y0.F" @g phase F layer 4 (%r0, %r1, %c0, %c2) : (!t, !t, !t, !t) -> !t
  %y1 = pipeline.node "y1.F" @g phase F layer 5 (%r0, %r1, %c1, %c3) : (!t, !t, !t, !t) -> !t
  %y2 = pipeline.node "y2.F" @g phase F layer 6 (%r2, %r3, %c0, %c2) : (!t, !t, !t, !t) -> !t
  %y3 = pipeline.node "y3.F" @g phase F layer 7 (%r2, %r3, %c1, %c3) : (!t, !t, !t, !t) -> !t
  pipeline.yield %y0, %y1, %y2, %y3 results [0, 1, 2, 3] : !t, !t, !t, !t
}
pipeline.cluster @local {
  pipeline.device @d0 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d1 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d2 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
  pipeline.device @d3 class "cpu-core" memory 1000000 node 0 flops 1.0e+09 bandwidth 1.0e+09
}
pipeline.program @plan of @join on @local microbatches 4 {
  pipeline.stage 0 on [@d0] layers [0]
  pipeline.stage 1 on [@d1] layers [1]
  pipeline.stage 2 on [@d2] layers [2]
  pipeline.stage 3 on [@d3] layers [3]
  pipeline.stage 4 on [@d0] layers [4]
  pipeline.stage 5 on [@d1] layers [5]
  pipeline.stage 6 on [@d2] layers [6]
  pipeline.stage 7 on [@d3] layers [7]
}
