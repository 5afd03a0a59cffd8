// RUN: pp-opt %s --pipeline-offer-recompute=cluster=local:1 | FileCheck %s --check-prefix=OFFER
// RUN: pp-opt %s --pipeline-offer-recompute=cluster=local:1 --pipeline-partition="cluster=local:1 microbatches=2 recompute-level=1" \
// RUN:     --pipeline-apply-recompute | FileCheck %s --check-prefixes=ONE,CHECK
// RUN: pp-opt %s --pipeline-offer-recompute=cluster=local:1 --pipeline-partition="cluster=local:1 microbatches=2 recompute-level=9" \
// RUN:     --pipeline-apply-recompute | FileCheck %s --check-prefixes=ALL,CHECK
// RUN: pp-opt %s --pipeline-offer-recompute=cluster=local:1 --pipeline-partition="cluster=local:1 microbatches=2" \
// RUN:     --pipeline-apply-recompute | FileCheck %s --check-prefixes=NONE

// The backward reads exp(x w) and what it is made of, 4096 bytes each. The exponential is cheap; the product is less so, and
// its operands are held anyway.
// OFFER: pipeline.node "a.F"
// OFFER-SAME: levels = [
// OFFER-SAME: #pipeline.level<forward = @a.F.less1, again = @a.F.again1, results = [0, 1], inputs = [1], remade = [2]
// OFFER-SAME: #pipeline.level<forward = @a.F.less2, again = @a.F.again2, results = [0], inputs = [-1, -2], remade = [1, 2]
// Nothing is made for b's backward that it could make again.
// OFFER: pipeline.node "b.F"
// OFFER-NOT: levels
// OFFER: pipeline.node "b.B"
// OFFER: func.func private @a.F.again1(%{{.*}}: tensor<32x32xf32>) -> tensor<32x32xf32>
// OFFER-NOT: linalg.matmul
// OFFER: math.exp

// ONE: %[[F:.*]]:2 = pipeline.node "a.F" @a.F.less1 phase F layer 0
// ONE: %[[B:.*]] = pipeline.node "b.B"
// ONE: %[[AGAIN:.*]] = pipeline.node "a.again" @a.F.again1 phase B layer 0(%[[F]]#1) cost
// ONE: pipeline.node "a.B" @a.B phase B layer 0(%[[B]], %[[F]]#1, %[[AGAIN]], %arg0)
// ONE-NOT: @a.F.less2
// ONE: pipeline.stage 0 on [@d0] layers [0, 1] {{.*}}levels = array<i64: 1, 0>

// The forward keeps nothing.
// ALL: %[[F:.*]] = pipeline.node "a.F" @a.F.less2 phase F layer 0(%arg0, %arg1)
// ALL: %[[AGAIN:.*]]:2 = pipeline.node "a.again" @a.F.again2 phase B layer 0(%arg0, %arg1)
// ALL: pipeline.node "a.B" @a.B phase B layer 0(%{{.*}}, %[[AGAIN]]#0, %[[AGAIN]]#1, %arg0)
// ALL-NOT: func.func private @a.F(

// CHECK-NOT: #pipeline.level

// NONE: pipeline.node "a.F" @a.F phase F
// NONE-NOT: again
// NONE: pipeline.stage 0
// NONE-NOT: levels

pipeline.graph @step(%x: tensor<32x64xf32> {pipeline.role = "batch"}, %w: tensor<64x32xf32> {pipeline.role = "parameter"})
    -> (tensor<f32> {pipeline.role = "loss"}, tensor<64x32xf32> {pipeline.role = "gradient", pipeline.of = 1})
    attributes {layers = ["a", "b"]} {
  %f:3 = pipeline.node "a.F" @a.F phase F layer 0 (%x, %w)
      : (tensor<32x64xf32>, tensor<64x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>)
  %l = pipeline.node "b.F" @b.F phase F layer 1 (%f#0) : (tensor<32x32xf32>) -> tensor<f32>
  %d = pipeline.node "b.B" @b.B phase B layer 1 (%f#0) : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %g = pipeline.node "a.B" @a.B phase B layer 0 (%d, %f#1, %f#2, %x)
      : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, tensor<64x32xf32>
}
func.func private @a.F(%x: tensor<32x64xf32>, %w: tensor<64x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %y = linalg.matmul ins(%x, %w : tensor<32x64xf32>, tensor<64x32xf32>) outs(%start : tensor<32x32xf32>) -> tensor<32x32xf32>
  %e = math.exp %y : tensor<32x32xf32>
  %z = arith.mulf %e, %y : tensor<32x32xf32>
  return %z, %y, %e : tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>
}
func.func private @b.F(%z: tensor<32x32xf32>) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.reduce ins(%z : tensor<32x32xf32>) outs(%zero : tensor<f32>) dimensions = [0, 1]
      (%in: f32, %out: f32) {
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return %sum : tensor<f32>
}
func.func private @b.B(%z: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %d = arith.addf %z, %z : tensor<32x32xf32>
  return %d : tensor<32x32xf32>
}
func.func private @a.B(%d: tensor<32x32xf32>, %y: tensor<32x32xf32>, %e: tensor<32x32xf32>, %x: tensor<32x64xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x32xf32>) -> tensor<64x32xf32>
  %p = arith.mulf %e, %y : tensor<32x32xf32>
  %q = arith.addf %p, %e : tensor<32x32xf32>
  %r = arith.mulf %q, %d : tensor<32x32xf32>
  %t = tensor.empty() : tensor<64x32xf32>
  %xt = linalg.transpose ins(%x : tensor<32x64xf32>) outs(%t : tensor<64x32xf32>) permutation = [1, 0]
  %g = linalg.matmul ins(%xt, %r : tensor<64x32xf32>, tensor<32x32xf32>) outs(%start : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %g : tensor<64x32xf32>
}
