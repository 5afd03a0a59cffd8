// Invalid stashes on the host, by the label of the constraint, and invalid uses of their slots.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// buffer_c8
rank.step @step(tensor<4xf32>) -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  // expected-error @below {{of kind 'parameter' cannot lie on the host; a stash without a place can}}
  %w = rank.buffer "w" parameter host 0 : memref<4xf32>
  rank.entry (%M) {
  }
}

// -----

// slot_c3
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %h = rank.buffer "h" stash host : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{needs a stash on the device, but 'h' lies on the host}}
    %0 = rank.slot %h[%c0] : memref<4xf32>
  }
}

// -----

// offload_c1
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %k = rank.buffer "k" stash : memref<4xf32>
  %other = rank.buffer "other" stash : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{needs a stash on the host, but 'other' lies on the device}}
    rank.offload %k to %other[%c0]
  }
}

// -----

// fetch_c1
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %h = rank.buffer "h" stash host : memref<4xf32>
  %k = rank.buffer "k" stash : memref<8xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{source has slots of type 'memref<4xf32>', got 'memref<8xf32>'}}
    rank.fetch %h to %k[%c0]
  }
}

// -----

// fetched_c1
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %h = rank.buffer "h" stash host : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{needs a stash on the device, but 'h' lies on the host}}
    %0 = rank.fetched %h[%c0] : memref<4xf32>
  }
}

// -----

// Two microbatches are fetched at once into one slot.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "hand" {
  %k = rank.buffer "k" stash : memref<4xf32>
  %h = rank.buffer "h" stash host depth 2 : memref<4xf32>
  // expected-note @below {{the stash is declared here}}
  %back = rank.buffer "back" stash : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %0 = rank.acquire %k[%m] : memref<4xf32>
        rank.offload %k to %h[%m]
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        // expected-error @below {{microbatch 1 of stash 'back' overwrites microbatch 0, which is not released; the depth is 1}}
        rank.fetch %h to %back[%m]
      }
    }
  }
}

// -----

// What was not offloaded cannot be fetched.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %h = rank.buffer "h" stash host : memref<4xf32>
  %back = rank.buffer "back" stash : memref<4xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{microbatch 0 of stash 'h' is read while it is not held}}
    rank.fetch %h to %back[%c0]
  }
}
