// Two ranks, one forward one backward: they finish, for the given and for other numbers of microbatches, and the
// bytes of each are those of its buffers and of the channels that end at it.
// RUN: pp-opt %s -verify-rank-programs | FileCheck %s
// RUN: pp-opt %s -verify-rank-programs=microbatches=1 -o /dev/null
// RUN: pp-opt %s -verify-rank-programs=microbatches=512 -o /dev/null
// RUN: not pp-opt %s -verify-rank-programs=microbatches=-2 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: number of microbatches must be from 1 to 65536, or 0 for that of the programs, got -2

func.func private @layer0.F(tensor<8x4xf32>, tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
func.func private @layer0.B(tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32> {rank.accumulate}) -> tensor<8x4xf32>
func.func private @layer1.B(tensor<4x4xf32>) -> tensor<4x4xf32>

rank.step @step(tensor<8x4xf32>, tensor<4x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.channel @h from 0 to 1 depth 2 : memref<4x4xf32>
rank.channel @dh from 1 to 0 depth 2 : memref<4x4xf32>

// CHECK-LABEL: rank.program @step.0
// CHECK-SAME: memory {arena = 1280 : i64, batch = 512 : i64, bound = 1216 : i64, gradients = 128 : i64, live_peak = 1216 : i64, outputs = 0 : i64, parameters = 128 : i64, shared = 0 : i64, stash = 128 : i64, transfers = 128 : i64, workspace = 256 : i64}
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "1f1b" {
  %w = rank.buffer "w" parameter 0 : memref<8x4xf32>
  %x = rank.buffer "x" batch 1 depth all : memref<4x8xf32>
  %dw = rank.buffer "dw" gradient 1 : memref<8x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<4x4xf32>
  %tmp = rank.buffer "workspace" workspace : memref<256xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %w0 = rank.slot %w : memref<8x4xf32>
    %dw0 = rank.slot %dw : memref<8x4xf32>
    rank.zero %dw0 : memref<8x4xf32>
    %warm = arith.minsi %c1, %M : index
    scf.for %m = %c0 to %warm step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.slot %x[%m] : memref<4x8xf32>
        %1 = rank.claim @h[%m] : memref<4x4xf32>
        %2 = rank.acquire %k[%m] : memref<4x4xf32>
        rank.call @layer0.F ins(%w0, %0 : memref<8x4xf32>, memref<4x8xf32>) outs(%1, %2 : memref<4x4xf32>, memref<4x4xf32>) workspace %tmp[64, 192] node "layer0.F"
        rank.send @h[%m]
      }
    }
    scf.for %m = %warm to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.slot %x[%m] : memref<4x8xf32>
        %1 = rank.claim @h[%m] : memref<4x4xf32>
        %2 = rank.acquire %k[%m] : memref<4x4xf32>
        rank.call @layer0.F ins(%w0, %0 : memref<8x4xf32>, memref<4x8xf32>) outs(%1, %2 : memref<4x4xf32>, memref<4x4xf32>) workspace %tmp[64, 192] node "layer0.F"
        rank.send @h[%m]
      }
      %p = arith.subi %m, %c1 : index
      rank.action B stage 0 microbatch %p {
        %0 = rank.slot %k[%p] : memref<4x4xf32>
        %1 = rank.recv @dh[%p] : memref<4x4xf32>
        rank.call @layer0.B ins(%0, %1 : memref<4x4xf32>, memref<4x4xf32>) accumulate(%dw0 : memref<8x4xf32>) node "layer0.B"
        rank.release_channel @dh[%p]
        rank.release %k[%p]
      }
    }
    %last = arith.subi %M, %c1 : index
    scf.for %m = %last to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %0 = rank.slot %k[%m] : memref<4x4xf32>
        %1 = rank.recv @dh[%m] : memref<4x4xf32>
        rank.call @layer0.B ins(%0, %1 : memref<4x4xf32>, memref<4x4xf32>) accumulate(%dw0 : memref<8x4xf32>) node "layer0.B"
        rank.release_channel @dh[%m]
        rank.release %k[%m]
      }
    }
  }
}

// CHECK-LABEL: rank.program @step.1
// CHECK-SAME: memory {arena = 128 : i64, {{.*}} live_peak = 128 : i64, {{.*}} transfers = 128 : i64
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "1f1b" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 1 microbatch %m {
        %0 = rank.recv @h[%m] : memref<4x4xf32>
        %1 = rank.claim @dh[%m] : memref<4x4xf32>
        rank.call @layer1.B ins(%0 : memref<4x4xf32>) outs(%1 : memref<4x4xf32>) node "layer1.B"
        rank.send @dh[%m]
        rank.release_channel @h[%m]
      }
    }
  }
}
