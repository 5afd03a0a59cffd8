// Invalid uses of stashes in rank programs, and their errors.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// A stash that is too shallow: all forwards before the first backward.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        // expected-error @below {{microbatch 2 of stash 'k' overwrites microbatch 0, which is not released; the depth is 2}}
        %0 = rank.acquire %k[%m] : memref<4xf32>
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        rank.release %k[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A stash that is read after its release.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k[%m] : memref<4xf32>
        rank.release %k[%m]
        // expected-error @below {{microbatch 0 of stash 'k' is read while it is not held}}
        %1 = rank.slot %k[%m] : memref<4xf32>
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A stash that is released twice.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k[%m] : memref<4xf32>
        rank.release %k[%m]
        // expected-error @below {{microbatch 0 of stash 'k' is released while it is not held}}
        rank.release %k[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A stash that is never released.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  // expected-error @below {{microbatch 0 of stash 'k' is never released}}
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %c1 step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k[%m] : memref<4xf32>
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A microbatch of a stash that does not exist.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash depth 2 : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      // expected-error @below {{microbatch 4 of stash 'k' does not exist; there are 4}}
      %0 = rank.acquire %k[%M] : memref<4xf32>
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A stash in the workspace whose bytes a call uses while it is held.
func.func private @f() -> tensor<16xf32>
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash at 64 : memref<16xf32>
  %t = rank.buffer "workspace" workspace : memref<128xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action F stage 0 microbatch %c0 {
      %0 = rank.acquire %k[%c0] : memref<16xf32>
      // expected-error @below {{bytes 0 to 128 of the workspace are used here, but stash 'k' is held in them}}
      rank.call @f outs(%0 : memref<16xf32>) workspace %t[0, 128] node "f"
      rank.release %k[%c0]
    }
  }
}

// -----

// The same of the second slot of a ring, while the first is free.
func.func private @f() -> tensor<16xf32>
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash depth 2 at 64 : memref<16xf32>
  %t = rank.buffer "workspace" workspace : memref<192xi8>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %0 = rank.acquire %k[%c0] : memref<16xf32>
      rank.call @f outs(%0 : memref<16xf32>) workspace %t[0, 64] node "f"
      rank.release %k[%c0]
    }
    rank.action F stage 0 microbatch %c1 {
      %0 = rank.acquire %k[%c1] : memref<16xf32>
      rank.call @f outs(%0 : memref<16xf32>) workspace %t[64, 64] node "f"
      // expected-error @below {{bytes 0 to 192 of the workspace are used here, but stash 'k' is held in them}}
      rank.call @f outs(%0 : memref<16xf32>) workspace %t[0, 192] node "f"
      rank.release %k[%c1]
    }
  }
}

// -----

// Two stashes that move: the second microbatch of one overlaps the first of the other, which is still held.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash at 0 starts [64, 128] : memref<16xf32>
  %l = rank.buffer "l" stash at 0 starts [0, 64] : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %0 = rank.acquire %k[%c0] : memref<16xf32>
    }
    rank.action F stage 1 microbatch %c0 {
      %0 = rank.acquire %l[%c0] : memref<16xf32>
      rank.release %l[%c0]
    }
    rank.action F stage 1 microbatch %c1 {
      // expected-error @below {{bytes 64 to 128 of the workspace are used here, but stash 'k' is held in them}}
      %0 = rank.acquire %l[%c1] : memref<16xf32>
      rank.release %l[%c1]
      rank.release %k[%c0]
    }
  }
}

// -----

// A microbatch for which a stash has no start.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 only schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %k = rank.buffer "k" stash at 0 starts [64] : memref<16xf32>
  rank.entry (%M) {
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c1 {
      // expected-error @below {{microbatch 1 of stash 'k' does not exist; there are 1}}
      %0 = rank.acquire %k[%c1] : memref<16xf32>
      rank.release %k[%c1]
    }
  }
}
