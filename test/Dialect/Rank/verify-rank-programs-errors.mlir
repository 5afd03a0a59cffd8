// Each way in which rank programs can be wrong, and what is said about it.
// RUN: pp-opt %s -split-input-file -verify-rank-programs -verify-diagnostics

// A ring that is too shallow: rank 0 runs all forwards first, rank 1 holds a message until its backward.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.channel @g from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        // expected-error @below {{schedule deadlocks: rank 0 waits for B0 from rank 1, which waits for B0 from rank 0}}
        // expected-note @below {{rank 0 waits here in F2: its claim of microbatch 2 on channel 'h' needs the release of microbatch 0 by rank 1}}
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        %g = rank.claim @g[%m] : memref<4xf32>
        rank.send @g[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        %h = rank.recv @h[%m] : memref<4xf32>
      }
      rank.action B stage 1 microbatch %m {
        // expected-note @below {{rank 1 waits here in B0: its receive of microbatch 0 on channel 'g' needs the send by rank 0}}
        %g = rank.recv @g[%m] : memref<4xf32>
        rank.release_channel @h[%m]
        rank.release_channel @g[%m]
      }
    }
  }
}

// -----

// Swapped order: each rank receives before it sends.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.channel @dh from 1 to 0 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action B stage 0 microbatch %m {
        // expected-error @below {{schedule deadlocks: rank 0 waits for F0 from rank 1, which waits for B0 from rank 0}}
        // expected-note @below {{rank 0 waits here in B0: its receive of microbatch 0 on channel 'dh' needs the send by rank 1}}
        %dh = rank.recv @dh[%m] : memref<4xf32>
        rank.release_channel @dh[%m]
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        // expected-note @below {{rank 1 waits here in F0: its receive of microbatch 0 on channel 'h' needs the send by rank 0}}
        %h = rank.recv @h[%m] : memref<4xf32>
        rank.release_channel @h[%m]
        %dh = rank.claim @dh[%m] : memref<4xf32>
        rank.send @dh[%m]
      }
    }
  }
}

// -----

// A missing release: the sender waits for a slot that never comes back.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        // expected-error @below {{rank 0 waits here in F2: its claim of microbatch 2 on channel 'h' needs the release of microbatch 0 by rank 1, which never comes}}
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        %h = rank.recv @h[%m] : memref<4xf32>
      }
    }
  }
}

// -----

// A missing release that nobody waits for.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is received but never released}}
rank.channel @h from 0 to 1 depth all : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        %h = rank.recv @h[%m] : memref<4xf32>
      }
    }
  }
}

// -----

// A missing send.
rank.step @step() -> ()
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %h = rank.claim @h[%m] : memref<4xf32>
      }
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 1 microbatch %m {
        // expected-error @below {{rank 1 waits here in F0: its receive of microbatch 0 on channel 'h' needs the send by rank 0, which never comes}}
        %h = rank.recv @h[%m] : memref<4xf32>
        rank.release_channel @h[%m]
      }
    }
  }
}

// -----

// A missing receive.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is sent but never received}}
rank.channel @h from 0 to 1 depth all : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %h = rank.claim @h[%m] : memref<4xf32>
        rank.send @h[%m]
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

// Nothing is sent.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is never sent}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A claim without a send.
rank.step @step() -> ()
// expected-error @below {{microbatch 0 of channel 'h' is claimed but never sent}}
rank.channel @h from 0 to 1 depth all : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %m = %c0 to %M step %c1 {
      rank.action F stage 0 microbatch %m {
        %h = rank.claim @h[%m] : memref<4xf32>
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

// A second claim.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is claimed twice}}
      %again = rank.claim @h[%c0] : memref<4xf32>
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A second send.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is sent twice}}
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A send without a claim.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 0 of channel 'h' is sent but was not claimed}}
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A second receive.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.recv @h[%c0] : memref<4xf32>
      // expected-error @below {{microbatch 0 of channel 'h' is received twice}}
      %again = rank.recv @h[%c0] : memref<4xf32>
    }
  }
}

// -----

// A read of what was not received.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 0 of channel 'h' is read but was not received}}
      %r = rank.received @h[%c0] : memref<4xf32>
    }
  }
}

// -----

// A read after the release.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.recv @h[%c0] : memref<4xf32>
      rank.release_channel @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is read after its release}}
      %r = rank.received @h[%c0] : memref<4xf32>
    }
  }
}

// -----

// A release of what was not received.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 0 of channel 'h' is released but was not received}}
      rank.release_channel @h[%c0]
    }
  }
}

// -----

// A second release.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.claim @h[%c0] : memref<4xf32>
      rank.send @h[%c0]
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      %h = rank.recv @h[%c0] : memref<4xf32>
      rank.release_channel @h[%c0]
      // expected-error @below {{microbatch 0 of channel 'h' is released twice}}
      rank.release_channel @h[%c0]
    }
  }
}

// -----

// A microbatch that does not exist.
rank.step @step() -> ()
// expected-note @below {{the channel stands here}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    rank.action F stage 0 microbatch %c0 {
      // expected-error @below {{microbatch 1 of channel 'h' does not exist; it carries 1}}
      %h = rank.claim @h[%c1] : memref<4xf32>
    }
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A stash that is too shallow: all forwards before the first backward.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  // expected-note @below {{the stash stands here}}
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
  // expected-note @below {{the stash stands here}}
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
  // expected-note @below {{the stash stands here}}
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
  // expected-note @below {{the stash stands here}}
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

// Ranks with a hole.
rank.step @step() -> ()
// expected-error @below {{ranks must be numbered 0, 1, 2, …, got 1 instead of 0}}
rank.program @p rank 1 device "d" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
  }
}

// -----

// A channel to a rank that does not exist.
rank.step @step() -> ()
// expected-error @below {{joins ranks 0 and 1 of 1}}
rank.channel @h from 0 to 1 depth 2 : memref<4xf32>
rank.program @p rank 0 device "d" of @step microbatches 1 schedule "hand" {
  rank.entry (%M) {
  }
}

// -----

// Arithmetic that it does not know.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{'arith.muli' cannot be unrolled; a rank program computes with constants, sums, differences, minima, maxima and tables}}
    %n = arith.muli %M, %M : index
  }
}
rank.program @step.1 rank 1 device "d1" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
  }
}

// -----

// A loop that does not advance.
rank.step @step() -> ()
rank.program @step.0 rank 0 device "d0" of @step microbatches 4 schedule "hand" {
  rank.entry (%M) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{cannot be unrolled: a loop of a rank program has a positive step and no results, got step 0 and 0}}
    scf.for %m = %c0 to %M step %c0 {
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
  // expected-note @below {{the stash stands here}}
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
