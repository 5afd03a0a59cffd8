// Layers that call one body have levels of their own if the backward of one of them reads an argument that the body passes through.
// RUN: pp-opt %s --pipeline-offer-recompute=cluster=local:1 --pipeline-partition="cluster=local:1 microbatches=2 recompute-level=1" \
// RUN:     --pipeline-apply-recompute | FileCheck %s

// CHECK: %[[A:.*]] = pipeline.node "a.F" @f.less1 phase F layer 0
// CHECK: %[[B:.*]]:3 = pipeline.node "b.F" @f phase F layer 1(%[[A]])
// CHECK: %[[D:.*]] = pipeline.node "b.B" @b phase B layer 1(%[[B]]#1, %[[B]]#2)
// CHECK: %[[E:.*]] = pipeline.node "a.again"
// CHECK: pipeline.node "a.B" @b phase B layer 0(%[[E]], %[[D]])
pipeline.graph @step(%x: tensor<32x32xf32> {pipeline.role = "batch"})
    -> (tensor<32x32xf32> {pipeline.role = "output"}, tensor<32x32xf32> {pipeline.role = "output"})
    attributes {layers = ["a", "b"]} {
  %a:3 = pipeline.node "a.F" @f phase F layer 0 (%x) : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>)
  %b:3 = pipeline.node "b.F" @f phase F layer 1 (%a#0) : (tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>)
  %d = pipeline.node "b.B" @b phase B layer 1 (%b#1, %b#2) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %g = pipeline.node "a.B" @b phase B layer 0 (%a#1, %d) : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  pipeline.yield %b#0, %g results [0, 1] : tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @f(%x: tensor<32x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) {
  %e = math.exp %x : tensor<32x32xf32>
  %y = arith.mulf %e, %x : tensor<32x32xf32>
  return %y, %e, %x : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @b(%e: tensor<32x32xf32>, %x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %d = arith.addf %e, %x : tensor<32x32xf32>
  return %d : tensor<32x32xf32>
}
