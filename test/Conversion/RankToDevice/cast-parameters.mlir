// RUN: pp-opt %s --device-cast-parameters --verify-rank-programs | FileCheck %s
// RUN: sed 's/memory 1048576/memory 700/' %s | pp-opt --device-cast-parameters --verify-rank-programs | FileCheck %s --check-prefix=FULL

// The forward and the backward round %w for products: the rank rounds it once, before both, and holds the rounded parameter
// until the last of them. It rounds %v, which has the same shape, in the same call. %b is only added, so it is rounded there.
// CHECK: func.func private @cast.0(%{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<8x4xf32>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>)
// CHECK-COUNT-2: arith.truncf {{.*}} : f32 to bf16
// CHECK: func.func private @l.F(%{{.*}}: tensor<8x4xbf16>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<2x8xbf16>)
// CHECK-NOT: arith.truncf {{.*}} tensor<8x4xf32>
// CHECK: func.func private @l.B(%{{.*}}: tensor<8x4xbf16>, %{{.*}}: tensor<2x4xbf16>)
// CHECK: %[[BUFFER:.*]] = rank.buffer "params/w.bf16" stash : memref<8x4xbf16>
// CHECK: rank.slot %params.v : memref<8x4xf32>
// CHECK: %[[W:.*]] = rank.slot %params.w : memref<8x4xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V:.*]] = rank.slot %params.v : memref<8x4xf32>
// CHECK: %[[SLOT2:.*]] = rank.acquire %{{.*}} : memref<8x4xbf16>
// CHECK-NEXT: %[[SLOT:.*]] = rank.acquire %[[BUFFER]][%[[ZERO]]] : memref<8x4xbf16>
// CHECK-NEXT: rank.call @cast.0 ins(%[[W]], %[[V]] : memref<8x4xf32>, memref<8x4xf32>) outs(%[[SLOT]], %[[SLOT2]] : memref<8x4xbf16>, memref<8x4xbf16>) node "cast"
// CHECK: rank.call @l.F ins(%[[SLOT]],
// CHECK: rank.call @l.F ins(%[[SLOT2]],
// CHECK: rank.call @l.B ins(%[[SLOT]],
// CHECK: rank.release %[[BUFFER]][%[[ZERO]]]

// On a device without memory for that, nothing changes.
// FULL-NOT: "params/w.bf16"
// FULL: rank.call @l.F ins(%{{.*}} : memref<8x4xf32>,

pipeline.cluster @lab {
  pipeline.device @d0 class "tensor" memory 1048576 node 0 flops 1.0e3 bandwidth 1.0e9
}
rank.step @step(tensor<8x4xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter"},
                tensor<4xf32> {pipeline.position = 1 : i64, pipeline.role = "parameter"},
                tensor<2x8xbf16> {pipeline.position = 2 : i64, pipeline.role = "batch"},
                tensor<8x4xf32> {pipeline.position = 3 : i64, pipeline.role = "parameter"})
    -> (tensor<2x8xbf16> {pipeline.position = 0 : i64, pipeline.role = "output", pipeline.combine = "concat"})
func.func private @l.F(%w: tensor<8x4xf32>, %b: tensor<4xf32>, %x: tensor<2x8xbf16>) -> tensor<2x4xbf16> {
  %c = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<2x4xbf16>
  %f = linalg.fill ins(%c : bf16) outs(%e : tensor<2x4xbf16>) -> tensor<2x4xbf16>
  %n = arith.truncf %w : tensor<8x4xf32> to tensor<8x4xbf16>
  %0 = linalg.matmul ins(%x, %n : tensor<2x8xbf16>, tensor<8x4xbf16>) outs(%f : tensor<2x4xbf16>) -> tensor<2x4xbf16>
  %r = arith.truncf %b : tensor<4xf32> to tensor<4xbf16>
  %g = linalg.broadcast ins(%r : tensor<4xbf16>) outs(%e : tensor<2x4xbf16>) dimensions = [0]
  %1 = arith.addf %0, %g : tensor<2x4xbf16>
  return %1 : tensor<2x4xbf16>
}
func.func private @l.B(%w: tensor<8x4xf32>, %y: tensor<2x4xbf16>) -> tensor<2x8xbf16> {
  %c = arith.constant 0.0 : bf16
  %n = arith.truncf %w : tensor<8x4xf32> to tensor<8x4xbf16>
  %te = tensor.empty() : tensor<4x8xbf16>
  %t = linalg.transpose ins(%n : tensor<8x4xbf16>) outs(%te : tensor<4x8xbf16>) permutation = [1, 0]
  %e = tensor.empty() : tensor<2x8xbf16>
  %f = linalg.fill ins(%c : bf16) outs(%e : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  %0 = linalg.matmul ins(%y, %t : tensor<2x4xbf16>, tensor<4x8xbf16>) outs(%f : tensor<2x8xbf16>) -> tensor<2x8xbf16>
  return %0 : tensor<2x8xbf16>
}
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "gpipe" {
  %w = rank.buffer "params/w" parameter 0 : memref<8x4xf32>
  %b = rank.buffer "params/b" parameter 1 : memref<4xf32>
  %x = rank.buffer "x" batch 2 depth all : memref<2x8xbf16>
  %v = rank.buffer "params/v" parameter 3 : memref<8x4xf32>
  %o = rank.buffer "out" output 0 depth all : memref<2x8xbf16>
  %k = rank.buffer "k" stash depth all : memref<2x4xbf16>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.slot %b : memref<4xf32>
    %2 = rank.slot %v : memref<8x4xf32>
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %3 = rank.slot %x[%m] : memref<2x8xbf16>
        %5 = rank.acquire %k[%m] : memref<2x4xbf16>
        rank.call @l.F ins(%0, %1, %3 : memref<8x4xf32>, memref<4xf32>, memref<2x8xbf16>) outs(%5 : memref<2x4xbf16>) node "l.F"
        rank.call @l.F ins(%2, %1, %3 : memref<8x4xf32>, memref<4xf32>, memref<2x8xbf16>) outs(%5 : memref<2x4xbf16>) node "m.F"
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %4 = rank.slot %o[%m] : memref<2x8xbf16>
        %5 = rank.slot %k[%m] : memref<2x4xbf16>
        rank.call @l.B ins(%0, %5 : memref<8x4xf32>, memref<2x4xbf16>) outs(%4 : memref<2x8xbf16>) node "l.B"
        rank.release %k[%m]
      }
    }
  }
}
