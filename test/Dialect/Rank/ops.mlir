// Every op of the dialect, printed as it was read.
// RUN: pp-opt %s | pp-opt | FileCheck %s
// RUN: pp-opt %s -mlir-print-op-generic | pp-opt | FileCheck %s

// CHECK-LABEL: rank.step @step(tensor<8x4xf32>
// CHECK-SAME: pipeline.position = 0
// CHECK-SAME: -> (tensor<f32> {pipeline.combine = "mean"
rank.step @step(tensor<8x4xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter"},
                tensor<2x8xf32> {pipeline.position = 1 : i64, pipeline.role = "batch"},
                tensor<i32> {pipeline.position = 2 : i64, pipeline.role = "microbatch"})
    -> (tensor<f32> {pipeline.position = 0 : i64, pipeline.role = "loss", pipeline.combine = "mean"},
        tensor<8x4xf32> {pipeline.position = 1 : i64, pipeline.role = "gradient", pipeline.of = 0 : i64, pipeline.combine = "sum"},
        tensor<2x4xf32> {pipeline.position = 2 : i64, pipeline.role = "output", pipeline.combine = "concat"})

func.func private @layer0.F(%w: tensor<8x4xf32>, %x: tensor<2x8xf32>, %l: tensor<f32> {rank.accumulate}) -> (tensor<2x4xf32>, tensor<f32>) {
  %0 = tensor.empty() : tensor<2x4xf32>
  return %0, %l : tensor<2x4xf32>, tensor<f32>
}

// CHECK: rank.channel @h from 0 to 1 depth 2 : memref<2x4xf32>
rank.channel @h from 0 to 1 depth 2 : memref<2x4xf32>
// CHECK: rank.channel @dh from 1 to 0 depth all : memref<2x4xf32>
rank.channel @dh from 1 to 0 depth all : memref<2x4xf32>
// CHECK: rank.channel @turns from 1 to 0 depth all by 4 : memref<2x4xf32>
rank.channel @turns from 1 to 0 depth all by 4 : memref<2x4xf32>
// CHECK: rank.channel @part from 1 to 0 depth 1 once : memref<8x4xf32>
rank.channel @part from 1 to 0 depth 1 once : memref<8x4xf32>
// CHECK: rank.channel @some from 1 to 0 depth 3 sparse : memref<8x4xf32>
rank.channel @some from 1 to 0 depth 3 sparse : memref<8x4xf32>

// CHECK-LABEL: rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" memory {arena = 64 : i64} {
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" memory {arena = 64 : i64} {
  // CHECK: %[[W:.*]] = rank.buffer "params/w" parameter 0 : memref<8x4xf32>
  %w = rank.buffer "params/w" parameter 0 : memref<8x4xf32>
  // CHECK: %[[X:.*]] = rank.buffer "x" batch 1 depth all : memref<2x8xf32>
  %x = rank.buffer "x" batch 1 depth all : memref<2x8xf32>
  // CHECK: rank.buffer "mb" microbatch depth all : memref<i32>
  %mb = rank.buffer "mb" microbatch depth all : memref<i32>
  // CHECK: %[[DW:.*]] = rank.buffer "dw" gradient 1 : memref<8x4xf32>
  %dw = rank.buffer "dw" gradient 1 : memref<8x4xf32>
  // CHECK: rank.buffer "dw.part" gradient : memref<8x4xf32>
  %dwp = rank.buffer "dw.part" gradient : memref<8x4xf32>
  // CHECK: %[[LOSS:.*]] = rank.buffer "loss" accumulator 0 : memref<f32>
  %loss = rank.buffer "loss" accumulator 0 : memref<f32>
  // CHECK: rank.buffer "out" output 2 depth all : memref<2x4xf32>
  %out = rank.buffer "out" output 2 depth all : memref<2x4xf32>
  // CHECK: rank.buffer "some" output 2 depth all turns [0, 2] of 3 : memref<2x4xf32>
  %some = rank.buffer "some" output 2 depth all turns [0, 2] of 3 : memref<2x4xf32>
  // CHECK: %[[STASH:.*]] = rank.buffer "k" stash depth 2 : memref<2x4xf32>
  %k = rank.buffer "k" stash depth 2 : memref<2x4xf32>
  // CHECK: rank.buffer "placed" stash at 128 : memref<2x4xf32>
  %placed = rank.buffer "placed" stash at 128 : memref<2x4xf32>
  // CHECK: %[[TMP:.*]] = rank.buffer "workspace" workspace : memref<256xi8>
  %tmp = rank.buffer "workspace" workspace : memref<256xi8>
  // CHECK: rank.entry (%[[M:.*]]) {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[W0:.*]] = rank.slot %[[W]] : memref<8x4xf32>
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.slot %loss : memref<f32>
    %2 = rank.slot %dw : memref<8x4xf32>
    // CHECK: rank.zero %{{.*}} : memref<f32>
    rank.zero %1 : memref<f32>
    // CHECK: scf.for %[[I:.*]] =
    scf.for %m = %c0 to %M step %c1 {
      // CHECK: rank.action F stage 0 microbatch %[[I]] {
      rank.action F stage 0 microbatch %m {
        // CHECK: rank.slot %[[X]][%[[I]]] : memref<2x8xf32>
        %3 = rank.slot %x[%m] : memref<2x8xf32>
        // CHECK: rank.claim @h[%[[I]]] : memref<2x4xf32>
        %4 = rank.claim @h[%m] : memref<2x4xf32>
        // CHECK: rank.acquire %[[STASH]][%[[I]]] : memref<2x4xf32>
        %5 = rank.acquire %k[%m] : memref<2x4xf32>
        // CHECK: rank.view %[[TMP]][128] : memref<2x4xf32>
        %6 = rank.view %tmp[128] : memref<2x4xf32>
        // CHECK: rank.call @layer0.F ins(%[[W0]], %{{.*}} : memref<8x4xf32>, memref<2x8xf32>) outs(%{{.*}} : memref<2x4xf32>) accumulate(%{{.*}} : memref<f32>) workspace %[[TMP]][192, 64] node "layer0.F"
        rank.call @layer0.F ins(%0, %3 : memref<8x4xf32>, memref<2x8xf32>) outs(%5 : memref<2x4xf32>)
            accumulate(%1 : memref<f32>) workspace %tmp[192, 64] node "layer0.F"
        // CHECK: rank.copy %{{.*}} to %{{.*}} : memref<2x4xf32>
        rank.copy %5 to %4 : memref<2x4xf32>
        // CHECK: rank.send @h[%[[I]]]
        rank.send @h[%m]
      }
      // CHECK: rank.action B stage 0
      rank.action B stage 0 microbatch %m {
        // CHECK: rank.recv @dh[%[[I]]] : memref<2x4xf32>
        %3 = rank.recv @dh[%m] : memref<2x4xf32>
        // CHECK: rank.received @dh[%[[I]]] : memref<2x4xf32>
        %4 = rank.received @dh[%m] : memref<2x4xf32>
        // CHECK: rank.release_channel @dh[%[[I]]]
        rank.release_channel @dh[%m]
        // CHECK: rank.release %[[STASH]][%[[I]]]
        rank.release %k[%m]
      }
    }
    rank.action U stage 0 microbatch %c0 {
      %3 = rank.recv @part[%c0] : memref<8x4xf32>
      // CHECK: rank.add %{{.*}} into %{{.*}} : memref<8x4xf32>
      rank.add %3 into %2 : memref<8x4xf32>
      // CHECK: rank.combine sum %{{.*}} over %[[M]] : memref<8x4xf32>
      rank.combine sum %2 over %M : memref<8x4xf32>
      // CHECK: rank.combine mean %{{.*}} over %[[M]] : memref<f32>
      rank.combine mean %1 over %M : memref<f32>
    }
  }
}

// CHECK-LABEL: rank.program @step.1 rank 1 device "d1" of @step microbatches 8 only schedule "hand" {
rank.program @step.1 rank 1 device "d1" of @step microbatches 8 only schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // CHECK: %[[CASE:.*]], %[[MB:.*]] = rank.table[%{{.*}}] cases [0, 1] microbatches [3, 2]
    %case, %m = rank.table[%c0] cases [0, 1] microbatches [3, 2]
    // CHECK: scf.index_switch %[[CASE]]
    scf.index_switch %case
    case 0 {
      // CHECK: rank.action R stage 1 microbatch %[[MB]]
      rank.action R stage 1 microbatch %m {
      }
      scf.yield
    }
    default {
    }
  }
}

// CHECK-LABEL: rank.program @frames.0
rank.step @frames() -> ()
rank.program @frames.0 rank 0 device "d0" of @frames microbatches 3 only schedule "hand" {
  // CHECK: rank.buffer "k" stash depth 2 at 128 starts [0, 128, 64] : memref<2x4xf32>
  %k = rank.buffer "k" stash depth 2 at 128 starts [0, 128, 64] : memref<2x4xf32>
  rank.entry (%M) {
  }
}

// CHECK-LABEL: @rebase
// CHECK: rank.rebase %{{.*}} : memref<4x8xf32, strided<[32, 1], offset: 64>> to memref<4x8xf32, strided<[32, 1]>>
// CHECK: rank.rebase %{{.*}} : memref<4xf32, strided<[1], offset: 16>> to memref<4xf32>
func.func @rebase(%x: memref<4x8xf32, strided<[32, 1], offset: 64>>, %y: memref<4xf32, strided<[1], offset: 16>>) {
  %0 = rank.rebase %x : memref<4x8xf32, strided<[32, 1], offset: 64>> to memref<4x8xf32, strided<[32, 1]>>
  %1 = rank.rebase %y : memref<4xf32, strided<[1], offset: 16>> to memref<4xf32>
  return
}
