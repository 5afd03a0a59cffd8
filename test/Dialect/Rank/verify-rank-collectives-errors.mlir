// Invalid uses of sums over ranks, and their errors.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// A rank that never begins.
rank.step @step() -> ()
// expected-error @below {{sum 'a' never begins on rank 1}}
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
  }
}

// -----

// A rank that begins twice.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
    // expected-error @below {{sum 'a' begins twice on rank 0}}
    rank.all_reduce @a (%w)
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
  }
}

// -----

// In a loop without its last microbatch.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      // expected-error @below {{sum 'a' begins twice on rank 0}}
      rank.all_reduce @a (%w)
    }
    rank.await_reduced @a
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 2 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
  }
}

// -----

// Awaited too early.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{sum 'a' is awaited before it begins}}
    rank.await_reduced @a
    rank.all_reduce @a (%w)
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
  }
}

// -----

// Never awaited.
rank.step @step() -> ()
// expected-error @below {{rank 1 never awaits sum 'a'}}
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
  }
}

// -----

// Used meanwhile.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.slot %w : memref<16xf32>
    rank.all_reduce @a (%w)
    // expected-error @below {{uses buffer 'w' while the sum 'a' is under way; await it first}}
    rank.zero %0 : memref<16xf32>
    rank.await_reduced @a
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
  }
}

// -----

// Two sums in different orders.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.collective @b among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-error @below {{ranks begin collectives in different orders: rank 0 begins 'a' where rank 1 begins 'b'}}
    rank.all_reduce @a (%w)
    rank.all_reduce @b (%v)
    rank.await_reduced @a
    rank.await_reduced @b
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    // expected-note @below {{rank 1 begins 'b' here}}
    rank.all_reduce @b (%v)
    rank.all_reduce @a (%w)
    rank.await_reduced @a
    rank.await_reduced @b
  }
}

// -----

// A cycle of three sums: any two ranks would finish with each other, but not all three.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.collective @b among [1, 2] : memref<16xf32>
rank.collective @c among [0, 2] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action U stage 0 microbatch %c0 {
      rank.all_reduce @c (%v)
      // expected-error @below {{schedule deadlocks: rank 0 waits for U0 from rank 2, which waits for U0 from rank 1, which waits for U0 from rank 0}}
      // expected-note @below {{rank 0 waits here in U0: sum 'c' needs the part of rank 2}}
      rank.await_reduced @c
      rank.all_reduce @a (%w)
      rank.await_reduced @a
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action U stage 1 microbatch %c0 {
      rank.all_reduce @a (%w)
      // expected-note @below {{rank 1 waits here in U0: sum 'a' needs the part of rank 0}}
      rank.await_reduced @a
      rank.all_reduce @b (%v)
      rank.await_reduced @b
    }
  }
}
rank.program @step.2 rank 2 device "d2" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action U stage 2 microbatch %c0 {
      rank.all_reduce @b (%w)
      // expected-note @below {{rank 2 waits here in U0: sum 'b' needs the part of rank 1}}
      rank.await_reduced @b
      rank.all_reduce @c (%v)
      rank.await_reduced @c
    }
  }
}

// -----

// The same, where no rank waits before it has begun all its sums. On GPUs a sum that has begun keeps those behind it waiting.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.collective @b among [1, 2] : memref<16xf32>
rank.collective @c among [0, 2] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    // expected-error @below {{ranks begin collectives in a circle: rank 0 begins sum 'c' before sum 'a'}}
    rank.all_reduce @c (%v)
    rank.all_reduce @a (%w)
    rank.await_reduced @c
    rank.await_reduced @a
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    // expected-note @below {{rank 1 begins sum 'a' before sum 'b'}}
    rank.all_reduce @a (%w)
    rank.all_reduce @b (%v)
    rank.await_reduced @a
    rank.await_reduced @b
  }
}
rank.program @step.2 rank 2 device "d2" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  %v = rank.buffer "v" gradient : memref<16xf32>
  rank.entry (%M) {
    // expected-note @below {{rank 2 begins sum 'b' before sum 'c'}}
    rank.all_reduce @b (%w)
    rank.all_reduce @c (%v)
    rank.await_reduced @b
    rank.await_reduced @c
  }
}

// -----

// A cycle of a sum and a message: rank 1 would send after the sum that rank 0 joins after the message.
rank.step @step() -> ()
rank.collective @a among [0, 1] : memref<16xf32>
rank.channel @h from 1 to 0 depth 1 once : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action B stage 0 microbatch %c0 {
      // expected-error @below {{schedule deadlocks: rank 0 waits for U0 from rank 1, which waits for B0 from rank 0}}
      // expected-note @below {{rank 0 waits here in B0: its receive of microbatch 0 on channel 'h' needs the send by rank 1}}
      %h = rank.recv @h[%c0] : memref<4xf32>
      rank.release_channel @h[%c0]
      rank.all_reduce @a (%w)
    }
    rank.await_reduced @a
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.action U stage 1 microbatch %c0 {
      rank.all_reduce @a (%w)
      // expected-note @below {{rank 1 waits here in U0: sum 'a' needs the part of rank 0}}
      rank.await_reduced @a
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}

// -----

// A rank that is not there.
rank.step @step() -> ()
// expected-error @below {{sums over rank 1, but the number of ranks is 1}}
rank.collective @a among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %w = rank.buffer "w" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    rank.all_reduce @a (%w)
    rank.await_reduced @a
  }
}
