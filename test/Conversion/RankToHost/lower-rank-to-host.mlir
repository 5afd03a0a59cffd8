// RUN: pp-opt %s --rank-to-host | FileCheck %s
// RUN: pp-opt %s --host-bodies | FileCheck %s --check-prefix=BODIES
// RUN: pp-opt %s --host-bodies="place-ranks=false" | FileCheck %s --check-prefix=TRIAL
// RUN: pp-opt %s --host-bodies | pp-opt --pass-pipeline='builtin.module(host-contractions-to-calls,func.func(convert-linalg-to-loops),lower-rank-to-host)' | FileCheck %s --check-prefix=CALLS

// The workspace of the rank is what its largest call needs; memory is counted after that is known.
// BODIES: rank.program @step.0 {{.*}} memory {{{.*}}workspace = 64 : i64}
// BODIES: %[[WS:.*]] = rank.buffer "workspace" workspace : memref<64xi8>
// BODIES: func.call @kernel.{{.*}} : (memref<f32>) -> ()
// BODIES: rank.call @l.F {{.*}} workspace %[[WS]][0, 64] node "l.F"
// BODIES: rank.call @l.B {{.*}} node "l.B"
// The mean over one microbatch is the content of the buffer.
// BODIES: %[[SEVERAL:.*]] = arith.cmpi ne, %M, %c1
// BODIES-NEXT: scf.if %[[SEVERAL]] {
// BODIES-NEXT: func.call @kernel.{{.*}}(%{{.*}}, %M) : (memref<8x4xf32>, index) -> ()
// BODIES-NEXT: func.call @kernel.{{.*}}(%{{.*}}, %M) : (memref<f32>, index) -> ()
// BODIES-NEXT: }

// Without place-ranks functions know their workspaces, and ranks stay as they are.
// TRIAL: func.func private @l.F({{.*}} attributes {rank.workspace = 64 : i64
// TRIAL-NOT: rank.buffer "workspace"

// Numbers of buffers are those of the artifact.
// CALLS: rank.artifact "step" microbatches 8 schedule "gpipe"
// CALLS-SAME: arguments [
// CALLS-NEXT: #rank.interface<position = 0, name = "", role = "parameter", type = tensor<8x4xf32>>,
// CALLS-NEXT: #rank.interface<position = 1, name = "", role = "batch", type = tensor<2x8xf32>>
// CALLS-SAME: results [
// CALLS-NEXT: #rank.interface<position = 0, name = "", role = "loss", type = tensor<f32>, combine = "mean">,
// CALLS-NEXT: #rank.interface<position = 1, name = "", role = "gradient", type = tensor<8x4xf32>, combine = "sum", of = 0>
// CALLS-SAME: channels [] collectives [] programs [
// CALLS-NEXT: #rank.program<device = "d0", entry = "step.0", stages = [0], buffers = [
// CALLS-SAME: <name = "params/w", kind = parameter, type = tensor<8x4xf32>, argument = 0>,
// CALLS-SAME: <name = "x", kind = batch, type = tensor<2x8xf32>, depth = -1, argument = 1>,
// CALLS-SAME: nodes = ["l.F", "l.B"], memory = {
// CALLS-LABEL: func.func @step.0(%arg0: !llvm.ptr, %arg1: i64)
// CALLS: llvm.call @sw_slot(%arg0, %c0_i64
// CALLS: scf.for
// CALLS: %[[F:.*]] = arith.constant 70 : i32
// CALLS: llvm.call @sw_action_begin(%arg0, %[[F]]
// CALLS: llvm.call @sw_acquire(%arg0, %c4_i64
// CALLS: llvm.call @sw_node_begin
// CALLS-NEXT: call @l.F
// CALLS: llvm.call @sw_node_end
// CALLS: llvm.call @sw_action_end
// CALLS: llvm.call @sw_release(%arg0

// CHECK-NOT: builtin.unrealized_conversion_cast
// CHECK: llvm.func internal @l.F(
// CHECK: llvm.func @step.0(%{{.*}}: !llvm.ptr, %{{.*}}: i64)
// CHECK: llvm.func internal @kernel.0(%{{.*}}: !llvm.ptr {llvm.noalias}
// CHECK-SAME: no_inline

rank.step @step(tensor<8x4xf32> {pipeline.position = 0 : i64, pipeline.role = "parameter"},
                tensor<2x8xf32> {pipeline.position = 1 : i64, pipeline.role = "batch"})
    -> (tensor<f32> {pipeline.position = 0 : i64, pipeline.role = "loss", pipeline.combine = "mean"},
        tensor<8x4xf32> {pipeline.position = 1 : i64, pipeline.role = "gradient", pipeline.of = 0 : i64, pipeline.combine = "sum"})
func.func private @l.F(%w: tensor<8x4xf32>, %x: tensor<2x8xf32>, %l: tensor<f32> {rank.accumulate}) -> (tensor<2x4xf32>, tensor<f32>) {
  %e = tensor.empty() : tensor<2x4xf32>
  %c = arith.constant 0.0 : f32
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<2x8xf32>, tensor<8x4xf32>) outs(%f : tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = linalg.exp ins(%0 : tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) -> tensor<2x4xf32>
  %e1 = tensor.empty() : tensor<f32>
  %f1 = linalg.fill ins(%c : f32) outs(%e1 : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce ins(%1 : tensor<2x4xf32>) outs(%f1 : tensor<f32>) dimensions = [0, 1] (%in: f32, %out: f32) { %z = arith.addf %in, %out : f32 linalg.yield %z : f32 }
  %t = linalg.add ins(%l, %s : tensor<f32>, tensor<f32>) outs(%e1 : tensor<f32>) -> tensor<f32>
  return %1, %t : tensor<2x4xf32>, tensor<f32>
}
func.func private @l.B(%y: tensor<2x4xf32>, %x: tensor<2x8xf32>, %dw: tensor<8x4xf32> {rank.accumulate}) -> (tensor<8x4xf32>) {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2xf32>
  %xt = linalg.transpose ins(%x : tensor<2x8xf32>) outs(%e : tensor<8x2xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%c : f32) outs(%e2 : tensor<8x4xf32>) -> tensor<8x4xf32>
  %0 = linalg.matmul ins(%xt, %y : tensor<8x2xf32>, tensor<2x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %t = linalg.add ins(%dw, %0 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e2 : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %t : tensor<8x4xf32>
}
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "gpipe" {
  %w = rank.buffer "params/w" parameter 0 : memref<8x4xf32>
  %x = rank.buffer "x" batch 1 depth all : memref<2x8xf32>
  %dw = rank.buffer "dw" gradient 1 : memref<8x4xf32>
  %loss = rank.buffer "loss" accumulator 0 : memref<f32>
  %k = rank.buffer "k" stash depth all : memref<2x4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.slot %w : memref<8x4xf32>
    %1 = rank.slot %loss : memref<f32>
    %2 = rank.slot %dw : memref<8x4xf32>
    rank.zero %1 : memref<f32>
    rank.zero %2 : memref<8x4xf32>
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %3 = rank.slot %x[%m] : memref<2x8xf32>
        %5 = rank.acquire %k[%m] : memref<2x4xf32>
        rank.call @l.F ins(%0, %3 : memref<8x4xf32>, memref<2x8xf32>) outs(%5 : memref<2x4xf32>) accumulate(%1 : memref<f32>) node "l.F"
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %3 = rank.slot %x[%m] : memref<2x8xf32>
        %5 = rank.slot %k[%m] : memref<2x4xf32>
        rank.call @l.B ins(%5, %3 : memref<2x4xf32>, memref<2x8xf32>) accumulate(%2 : memref<8x4xf32>) node "l.B"
        rank.release %k[%m]
      }
    }
    rank.action U stage 0 microbatch %c0 {
      rank.combine mean %2 over %M : memref<8x4xf32>
      rank.combine mean %1 over %M : memref<f32>
    }
  }
}
