// RUN: pp-opt %s --pass-pipeline='builtin.module(body-size-workspaces,verify-rank-programs)' --split-input-file | FileCheck %s

// A backward first reads the stash of its last layer. The temporaries of the first layer then reuse that memory: in addition to
// both stashes there are 64 bytes of workspace, not 256.
// CHECK-LABEL: rank.program @one.0
// CHECK-SAME: arena = 384 : i64
// CHECK-SAME: bound = 384 : i64
// CHECK-SAME: live_peak = 384 : i64
// CHECK-SAME: shared = 320 : i64, stash = 320 : i64
// CHECK-SAME: workspace = 384 : i64
// CHECK: %k0 = rank.buffer "k0" stash at {{[0-9]+}} : memref<16xf32>
// CHECK: %k1 = rank.buffer "k1" stash at {{[0-9]+}} : memref<64xf32>
// CHECK: rank.buffer "workspace" workspace : memref<384xi8>
func.func private @f0() -> tensor<16xf32>
func.func private @f1(tensor<16xf32>) -> tensor<64xf32> attributes {rank.workspace = 64 : i64}
func.func private @b1(tensor<64xf32>) -> tensor<16xf32>
func.func private @b0(tensor<16xf32>) attributes {rank.workspace = 256 : i64, rank.workspace_bound = 256 : i64}
rank.step @one() -> ()
rank.program @one.0 rank 0 device "d0" of @one microbatches 4 schedule "1f1b" {
  %k0 = rank.buffer "k0" stash : memref<16xf32>
  %k1 = rank.buffer "k1" stash : memref<64xf32>
  %t = rank.buffer "workspace" workspace : memref<64xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k0[%m] : memref<16xf32>
        rank.call @f0 outs(%0 : memref<16xf32>) node "f0"
        %1 = rank.acquire %k1[%m] : memref<64xf32>
        rank.call @f1 ins(%0 : memref<16xf32>) outs(%1 : memref<64xf32>) workspace %t[0, 0] node "f1"
      }
      rank.action B stage 0 microbatch %m {
        %1 = rank.slot %k1[%m] : memref<64xf32>
        // The value of the action lives during both calls.
        %v = rank.view %t[0] : memref<16xf32>
        rank.call @b1 ins(%1 : memref<64xf32>) outs(%v : memref<16xf32>) node "b1"
        rank.release %k1[%m]
        rank.call @b0 ins(%v : memref<16xf32>) workspace %t[64, 0] node "b0"
        rank.release %k0[%m]
      }
    }
  }
}

// -----

// With two microbatches in flight no slot of the ring is free while another action runs, so the stash keeps memory of its
// own.
// CHECK-LABEL: rank.program @two.0
// CHECK-SAME: shared = 0 : i64
// CHECK: %k = rank.buffer "k" stash depth 2 : memref<16xf32>
// CHECK: rank.buffer "workspace" workspace : memref<128xi8>
func.func private @f() -> tensor<16xf32>
func.func private @b(tensor<16xf32>) attributes {rank.workspace = 128 : i64}
rank.step @two() -> ()
rank.program @two.0 rank 0 device "d0" of @two microbatches 2 only schedule "hand" {
  %k = rank.buffer "k" stash depth 2 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k[%m] : memref<16xf32>
        rank.call @f outs(%0 : memref<16xf32>) node "f"
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %0 = rank.slot %k[%m] : memref<16xf32>
        rank.call @b ins(%0 : memref<16xf32>) node "b"
        rank.release %k[%m]
      }
    }
  }
}

// -----

// A ring of two slots lies in memory that the optimizer uses for temporaries when no microbatch is in flight: the workspace has
// the 256 bytes of the optimizer, not 128 more.
// CHECK-LABEL: rank.program @three.0
// CHECK-SAME: arena = 256 : i64
// CHECK-SAME: live_peak = 256 : i64
// CHECK-SAME: shared = 128 : i64, stash = 128 : i64
// CHECK-SAME: workspace = 256 : i64
// CHECK: %k = rank.buffer "k" stash depth 2 at 0 : memref<16xf32>
// CHECK: rank.buffer "workspace" workspace : memref<256xi8>
func.func private @f() -> tensor<16xf32>
func.func private @b(tensor<16xf32>)
func.func private @u() attributes {rank.workspace = 256 : i64}
rank.step @three() -> ()
rank.program @three.0 rank 0 device "d0" of @three microbatches 2 only schedule "hand" {
  %k = rank.buffer "k" stash depth 2 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k[%m] : memref<16xf32>
        rank.call @f outs(%0 : memref<16xf32>) node "f"
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %0 = rank.slot %k[%m] : memref<16xf32>
        rank.call @b ins(%0 : memref<16xf32>) node "b"
        rank.release %k[%m]
      }
    }
    rank.action U stage 0 microbatch %c0 {
      rank.call @u node "u"
    }
  }
}

// -----

// One stage fills while the other drains: each holds at most two microbatches, and both together at most three. Rings take four
// slots. Buffers of one stage move together.
// CHECK-LABEL: rank.program @four.0
// CHECK-SAME: arena = 384 : i64
// CHECK-SAME: live_peak = 384 : i64
// CHECK-SAME: shared = 512 : i64, stash = 512 : i64
// CHECK-SAME: workspace = 384 : i64
// CHECK: %k = rank.buffer "k" stash depth 2 at 0 starts [0, 128, 0] : memref<16xf32>
// CHECK: %l = rank.buffer "l" stash depth 2 at 64 starts [0, 128, 0] : memref<16xf32>
// CHECK: %n = rank.buffer "n" stash depth 2 at 0 starts [256, 0, 128] : memref<32xf32>
func.func private @f() -> (tensor<16xf32>, tensor<16xf32>)
func.func private @b(tensor<16xf32>, tensor<16xf32>)
func.func private @g() -> tensor<32xf32>
func.func private @h(tensor<32xf32>)
rank.step @four() -> ()
rank.program @four.0 rank 0 device "d0" of @four microbatches 3 only schedule "hand" {
  %k = rank.buffer "k" stash depth 2 : memref<16xf32>
  %l = rank.buffer "l" stash depth 2 : memref<16xf32>
  %n = rank.buffer "n" stash depth 2 : memref<32xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    scf.for %i = %c0 to %c10 step %c1 {
      %case, %m = rank.table[%i] cases [0, 0, 2, 1, 2, 3, 1, 3, 0, 2] microbatches [0, 1, 0, 0, 1, 0, 1, 1, 2, 2]
      scf.index_switch %case
      case 0 {
        rank.action F stage 0 microbatch %m {
          %0 = rank.acquire %k[%m] : memref<16xf32>
          %1 = rank.acquire %l[%m] : memref<16xf32>
          rank.call @f outs(%0, %1 : memref<16xf32>, memref<16xf32>) node "f"
        }
        scf.yield
      }
      case 1 {
        rank.action B stage 0 microbatch %m {
          %0 = rank.slot %k[%m] : memref<16xf32>
          %1 = rank.slot %l[%m] : memref<16xf32>
          rank.call @b ins(%0, %1 : memref<16xf32>, memref<16xf32>) node "b"
          rank.release %k[%m]
          rank.release %l[%m]
        }
        scf.yield
      }
      case 2 {
        rank.action F stage 1 microbatch %m {
          %0 = rank.acquire %n[%m] : memref<32xf32>
          rank.call @g outs(%0 : memref<32xf32>) node "g"
        }
        scf.yield
      }
      case 3 {
        rank.action B stage 1 microbatch %m {
          %0 = rank.slot %n[%m] : memref<32xf32>
          rank.call @h ins(%0 : memref<32xf32>) node "h"
          rank.release %n[%m]
        }
        scf.yield
      }
      default {
      }
    }
    rank.action B stage 1 microbatch %c0 {
      %2 = arith.constant 2 : index
      %0 = rank.slot %n[%2] : memref<32xf32>
      rank.call @h ins(%0 : memref<32xf32>) node "h"
      rank.release %n[%2]
    }
    rank.action B stage 0 microbatch %c0 {
      %2 = arith.constant 2 : index
      %0 = rank.slot %k[%2] : memref<16xf32>
      %1 = rank.slot %l[%2] : memref<16xf32>
      rank.call @b ins(%0, %1 : memref<16xf32>, memref<16xf32>) node "b"
      rank.release %k[%2]
      rank.release %l[%2]
    }
  }
}

// -----

// Two gathers that run one after the other share a ring in the workspace. A temporary of a call during the first gather lies
// beside the ring; one of a call after both overlaps it.
// CHECK-LABEL: rank.program @gathers.0
// CHECK: %a = rank.buffer "a" stash at [[PLACE:[0-9]+]] : memref<2x16xf32>
// CHECK: %b = rank.buffer "b" stash at [[PLACE]] : memref<2x16xf32>
// CHECK: rank.buffer "workspace" workspace : memref<192xi8>
func.func private @f() -> tensor<16xf32>
func.func private @g(tensor<16xf32>) attributes {rank.workspace = 64 : i64}
func.func private @h() attributes {rank.workspace = 192 : i64}
rank.step @gathers() -> ()
rank.gather @x among [0, 1] depth 1 : memref<16xf32>
rank.gather @y among [0, 1] depth 1 : memref<16xf32>
rank.program @gathers.0 rank 0 device "d0" of @gathers microbatches 2 schedule "hand" {
  %a = rank.buffer "a" stash depth 1 : memref<2x16xf32>
  %b = rank.buffer "b" stash depth 1 : memref<2x16xf32>
  %t = rank.buffer "workspace" workspace : memref<64xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %a[%m] : memref<2x16xf32>
        %1 = rank.part %0[0] : memref<16xf32> of memref<2x16xf32>
        rank.call @f outs(%1 : memref<16xf32>) node "f"
        rank.all_gather @x (%a)[%m]
        rank.await_gathered @x[%m]
        %2 = rank.slot %a[%m] : memref<2x16xf32>
        %3 = rank.part %2[1] : memref<16xf32> of memref<2x16xf32>
        rank.call @g ins(%3 : memref<16xf32>) workspace %t[0, 0] node "g"
        rank.release %a[%m]
        %4 = rank.acquire %b[%m] : memref<2x16xf32>
        %5 = rank.part %4[0] : memref<16xf32> of memref<2x16xf32>
        rank.call @f outs(%5 : memref<16xf32>) node "f"
        rank.all_gather @y (%b)[%m]
        rank.await_gathered @y[%m]
        %6 = rank.slot %b[%m] : memref<2x16xf32>
        %7 = rank.part %6[1] : memref<16xf32> of memref<2x16xf32>
        rank.call @g ins(%7 : memref<16xf32>) workspace %t[0, 0] node "g"
        rank.release %b[%m]
        rank.call @h workspace %t[0, 0] node "h"
      }
    }
  }
}
rank.program @gathers.1 rank 1 device "d1" of @gathers microbatches 2 schedule "hand" {
  %a = rank.buffer "a" stash depth 1 : memref<2x16xf32>
  %b = rank.buffer "b" stash depth 1 : memref<2x16xf32>
  %t = rank.buffer "workspace" workspace : memref<64xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %a[%m] : memref<2x16xf32>
        %1 = rank.part %0[1] : memref<16xf32> of memref<2x16xf32>
        rank.call @f outs(%1 : memref<16xf32>) node "f"
        rank.all_gather @x (%a)[%m]
        rank.await_gathered @x[%m]
        %2 = rank.slot %a[%m] : memref<2x16xf32>
        %3 = rank.part %2[0] : memref<16xf32> of memref<2x16xf32>
        rank.call @g ins(%3 : memref<16xf32>) workspace %t[0, 0] node "g"
        rank.release %a[%m]
        %4 = rank.acquire %b[%m] : memref<2x16xf32>
        %5 = rank.part %4[1] : memref<16xf32> of memref<2x16xf32>
        rank.call @f outs(%5 : memref<16xf32>) node "f"
        rank.all_gather @y (%b)[%m]
        rank.await_gathered @y[%m]
        %6 = rank.slot %b[%m] : memref<2x16xf32>
        %7 = rank.part %6[0] : memref<16xf32> of memref<2x16xf32>
        rank.call @g ins(%7 : memref<16xf32>) workspace %t[0, 0] node "g"
        rank.release %b[%m]
        rank.call @h workspace %t[0, 0] node "h"
      }
    }
  }
}
