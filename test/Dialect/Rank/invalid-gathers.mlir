// Constraints of gathers.
// RUN: pp-opt %s -split-input-file -verify-diagnostics

// One rank alone.
rank.step @step() -> ()
// expected-error @below {{needs two or more ranks, each 0 or more, in increasing order, got [0]}}
rank.gather @a among [0] depth 1 : memref<16xf32>

// -----

// No slot.
rank.step @step() -> ()
// expected-error @below {{needs a positive depth, got 0}}
rank.gather @a among [0, 1] depth 0 : memref<16xf32>

// -----

// Parts with gaps.
rank.step @step() -> ()
// expected-error @below {{needs a contiguous part of known shape with a multiple of 64 bytes, of floats or integers, got 'memref<15xf32>'}}
rank.gather @a among [0, 1] depth 1 : memref<15xf32>

// -----

// Parts of no element.
rank.step @step() -> ()
// expected-error @below {{needs a contiguous part of known shape with a multiple of 64 bytes, of floats or integers, got 'memref<0xf32>'}}
rank.gather @a among [0, 1] depth 1 : memref<0xf32>

// -----

// Elements of one bit.
rank.step @step() -> ()
// expected-error @below {{needs a contiguous part of known shape with a multiple of 64 bytes, of floats or integers, got 'memref<512xi1>'}}
rank.gather @a among [0, 1] depth 1 : memref<512xi1>

// -----

// Elements of half a byte.
rank.step @step() -> ()
// expected-error @below {{needs a contiguous part of known shape with a multiple of 64 bytes, of floats or integers, got 'memref<128xi4>'}}
rank.gather @a among [0, 1] depth 1 : memref<128xi4>

// -----

// A part of unknown shape.
rank.step @step() -> ()
// expected-error @below {{needs a contiguous part of known shape with a multiple of 64 bytes, of floats or integers, got 'memref<?xf32>'}}
rank.gather @a among [0, 1] depth 1 : memref<?xf32>

// -----

// A part with strides.
rank.step @step() -> ()
// expected-error @below {{needs a contiguous part of known shape with a multiple of 64 bytes, of floats or integers, got 'memref<16xf32, strided<[2]>>'}}
rank.gather @a among [0, 1] depth 1 : memref<16xf32, strided<[2]>>

// -----

// Another rank's, begun here.
rank.step @step() -> ()
// expected-note @below {{the collective is declared here}}
rank.gather @a among [1, 2] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{stands on rank 0, which is not among the collective's ranks}}
    rank.all_gather @a (%s)[%c0]
  }
}

// -----

// A sum is no gather.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{@a is not a gather}}
    rank.all_gather @a (%s)[%c0]
  }
}

// -----

// A gather is no sum.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{@a is not a collective}}
    rank.await_reduced @a
  }
}

// -----

// Another rank's.
rank.step @step() -> ()
// expected-note @below {{the collective is declared here}}
rank.gather @a among [1, 2] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{stands on rank 0, which is not among the collective's ranks}}
    rank.await_gathered @a[%c0]
  }
}

// -----

// A slot with room for only one part.
rank.step @step() -> ()
// expected-note @below {{the gather is declared here}}
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{needs a stash on the device of depth 1 and type 'memref<2x16xf32>'}}
    rank.all_gather @a (%s)[%c0]
  }
}

// -----

// Another depth.
rank.step @step() -> ()
// expected-note @below {{the gather is declared here}}
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 2 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{needs a stash on the device of depth 1 and type 'memref<2x16xf32>'}}
    rank.all_gather @a (%s)[%c0]
  }
}

// -----

// A stash on the host.
rank.step @step() -> ()
// expected-note @below {{the gather is declared here}}
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash host depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{needs a stash on the device of depth 1 and type 'memref<2x16xf32>'}}
    rank.all_gather @a (%s)[%c0]
  }
}

// -----

// A gradient has no slots.
rank.step @step() -> ()
// expected-note @below {{the gather is declared here}}
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" gradient : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{needs a stash on the device of depth 1 and type 'memref<2x16xf32>'}}
    rank.all_gather @a (%s)[%c0]
  }
}

// -----

// No such part.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    // expected-error @below {{has no part 2 of type 'memref<16xf32>' in a slot of type 'memref<2x16xf32>'}}
    %1 = rank.part %0[2] : memref<16xf32> of memref<2x16xf32>
  }
}

// -----

// No such part.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    // expected-error @below {{has no part 0 of type 'memref<32xf32>' in a slot of type 'memref<2x16xf32>'}}
    %1 = rank.part %0[0] : memref<32xf32> of memref<2x16xf32>
  }
}

// -----

// An exchange has parts to send and parts to receive.
rank.step @step() -> ()
// expected-note @below {{the gather is declared here}}
rank.gather @a exchange among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{needs a stash on the device of depth 1 and type 'memref<4x16xf32>'}}
    rank.all_gather @a (%s)[%c0]
  }
}
