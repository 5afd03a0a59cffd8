// Invalid uses of gathers, and their errors.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// A rank that begins another number of microbatches.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
    %1 = rank.acquire %s[%c1] : memref<2x16xf32>
    // expected-error @below {{microbatch 1 of gather 'a' begins on rank 0 but never on rank 1}}
    rank.all_gather @a (%s)[%c1]
    rank.await_gathered @a[%c1]
    rank.release %s[%c1]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 2 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// A rank that begins a microbatch twice.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
    %1 = rank.acquire %s[%c0] : memref<2x16xf32>
    // expected-error @below {{microbatch 0 of gather 'a' begins twice on rank 0}}
    rank.all_gather @a (%s)[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Two microbatches in different orders.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 2 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 2 schedule "hand" {
  %s = rank.buffer "s" stash depth 2 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    %1 = rank.acquire %s[%c1] : memref<2x16xf32>
    // expected-error @below {{ranks begin collectives in different orders: rank 0 begins microbatch 0 of gather 'a' where rank 1 begins microbatch 1 of gather 'a'}}
    rank.all_gather @a (%s)[%c0]
    rank.all_gather @a (%s)[%c1]
    rank.await_gathered @a[%c0]
    rank.await_gathered @a[%c1]
    rank.release %s[%c0]
    rank.release %s[%c1]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 2 schedule "hand" {
  %s = rank.buffer "s" stash depth 2 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    %1 = rank.acquire %s[%c1] : memref<2x16xf32>
    // expected-note @below {{rank 1 begins microbatch 1 of gather 'a' here}}
    rank.all_gather @a (%s)[%c1]
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.await_gathered @a[%c1]
    rank.release %s[%c0]
    rank.release %s[%c1]
  }
}

// -----

// Two gathers in different orders.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.gather @b among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  %t = rank.buffer "t" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    %1 = rank.acquire %t[%c0] : memref<2x16xf32>
    // expected-error @below {{ranks begin collectives in different orders: rank 0 begins microbatch 0 of gather 'a' where rank 1 begins microbatch 0 of gather 'b'}}
    rank.all_gather @a (%s)[%c0]
    rank.all_gather @b (%t)[%c0]
    rank.await_gathered @a[%c0]
    rank.await_gathered @b[%c0]
    rank.release %s[%c0]
    rank.release %t[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  %t = rank.buffer "t" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    %1 = rank.acquire %t[%c0] : memref<2x16xf32>
    // expected-note @below {{rank 1 begins microbatch 0 of gather 'b' here}}
    rank.all_gather @b (%t)[%c0]
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.await_gathered @b[%c0]
    rank.release %s[%c0]
    rank.release %t[%c0]
  }
}

// -----

// A gather and a sum in different orders.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.collective @sum among [0, 1] : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  %g = rank.buffer "g" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    // expected-error @below {{ranks begin collectives in different orders: rank 0 begins microbatch 0 of gather 'a' where rank 1 begins 'sum'}}
    rank.all_gather @a (%s)[%c0]
    rank.all_reduce @sum (%g)
    rank.await_gathered @a[%c0]
    rank.await_reduced @sum
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  %g = rank.buffer "g" gradient : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    // expected-note @below {{rank 1 begins 'sum' here}}
    rank.all_reduce @sum (%g)
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.await_reduced @sum
    rank.release %s[%c0]
  }
}

// -----

// Awaited too early.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    // expected-error @below {{microbatch 0 of gather 'a' is awaited before it begins}}
    rank.await_gathered @a[%c0]
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Never awaited, so its slot cannot be released.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  // expected-error @below {{microbatch 0 of stash 's' is never released}}
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
  }
}

// -----

// A slot that is not held.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  // expected-note @below {{the stash is declared here}}
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{microbatch 0 of stash 's' is read while it is not held}}
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Read meanwhile.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    // expected-error @below {{uses microbatch 0 of buffer 's' while its gather is under way; await it first}}
    %1 = rank.slot %s[%c0] : memref<2x16xf32>
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Released meanwhile.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    // expected-error @below {{uses microbatch 0 of buffer 's' while its gather is under way; await it first}}
    rank.release %s[%c0]
    rank.await_gathered @a[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// A cycle of a gather and a message: rank 1 would send after the gather that rank 0 joins after the message.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.channel @h from 1 to 0 depth 1 once : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{schedule deadlocks: rank 0 waits for F0 from rank 1, which waits for F0 from rank 0}}
      // expected-note @below {{rank 0 waits here in F0: its receive of microbatch 0 on channel 'h' needs the send by rank 1}}
      %h = rank.recv @h[%c0] : memref<4xf32>
      rank.release_channel @h[%c0]
      %0 = rank.acquire %s[%c0] : memref<2x16xf32>
      rank.all_gather @a (%s)[%c0]
    }
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 1 microbatch %c0 {
      %0 = rank.acquire %s[%c0] : memref<2x16xf32>
      rank.all_gather @a (%s)[%c0]
      // expected-note @below {{rank 1 waits here in F0: microbatch 0 of gather 'a' needs the part of rank 0}}
      rank.await_gathered @a[%c0]
      rank.release %s[%c0]
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}

// -----

// A rank that is not there.
rank.step @step() -> ()
// expected-error @below {{gathers from rank 1, but the number of ranks is 1}}
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Its part written meanwhile, in the slot that was acquired.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    %own = rank.part %0[0] : memref<16xf32> of memref<2x16xf32>
    rank.zero %own : memref<16xf32>
    rank.all_gather @a (%s)[%c0]
    // expected-error @below {{uses microbatch 0 of buffer 's' while its gather is under way; await it first}}
    rank.zero %own : memref<16xf32>
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Another rank's part read meanwhile.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  %t = rank.buffer "t" stash depth 1 : memref<16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    %1 = rank.acquire %t[%c0] : memref<16xf32>
    rank.all_gather @a (%s)[%c0]
    %part = rank.part %0[1] : memref<16xf32> of memref<2x16xf32>
    // expected-error @below {{uses microbatch 0 of buffer 's' while its gather is under way; await it first}}
    rank.copy %part to %1 : memref<16xf32>
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
    rank.release %t[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// The whole slot written meanwhile.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    // expected-error @below {{uses microbatch 0 of buffer 's' while its gather is under way; await it first}}
    rank.zero %0 : memref<2x16xf32>
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Two microbatches in two buffers.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  %t = rank.buffer "t" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    %1 = rank.acquire %t[%c1] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    // expected-error @below {{gathers 'a' in buffer 't'; expected the same buffer for all microbatches of a gather, and another buffer for each gather}}
    rank.all_gather @a (%t)[%c1]
    rank.await_gathered @a[%c0]
    rank.await_gathered @a[%c1]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// Two gathers in one buffer.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.gather @b among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    // expected-error @below {{gathers 'b' in buffer 's'; expected the same buffer for all microbatches of a gather, and another buffer for each gather}}
    rank.all_gather @b (%s)[%c0]
    rank.await_gathered @b[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// A gather that no rank begins.
rank.step @step() -> ()
// expected-error @below {{gather 'b' never begins}}
rank.gather @b among [0, 1] depth 1 : memref<16xf32>
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// A part of that part.
rank.step @step() -> ()
rank.gather @a among [0, 1] depth 1 : memref<16x1xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16x1xf32>
  %t = rank.buffer "t" stash depth 1 : memref<1xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16x1xf32>
    %1 = rank.acquire %t[%c0] : memref<1xf32>
    rank.all_gather @a (%s)[%c0]
    %part = rank.part %0[1] : memref<16x1xf32> of memref<2x16x1xf32>
    %row = rank.part %part[3] : memref<1xf32> of memref<16x1xf32>
    // expected-error @below {{uses microbatch 0 of buffer 's' while its gather is under way; await it first}}
    rank.copy %row to %1 : memref<1xf32>
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
    rank.release %t[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16x1xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16x1xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}

// -----

// An exchange that no rank begins.
rank.step @step() -> ()
// expected-error @below {{exchange 'b' never begins}}
rank.gather @b exchange among [0, 1] depth 1 : memref<16xf32>
rank.gather @a among [0, 1] depth 1 : memref<16xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  %s = rank.buffer "s" stash depth 1 : memref<2x16xf32>
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %0 = rank.acquire %s[%c0] : memref<2x16xf32>
    rank.all_gather @a (%s)[%c0]
    rank.await_gathered @a[%c0]
    rank.release %s[%c0]
  }
}
