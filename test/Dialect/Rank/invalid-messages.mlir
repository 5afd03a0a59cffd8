// One case per constraint of RankOps.td, by its label: what sends and receives in an entry.
// RUN: pp-opt %s -split-input-file -verify-diagnostics

// claim_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    %0 = rank.claim @c[%M] : memref<4xf32>
  }
}

// -----

// claim_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel is declared here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 1 but the channel begins at rank 0}}
    %0 = rank.claim @c[%M] : memref<4xf32>
  }
}

// -----

// claim_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{channel has slots of type 'memref<4xf32>', got 'memref<5xf32>'}}
    %0 = rank.claim @c[%M] : memref<5xf32>
  }
}

// -----

// send_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    rank.send @c[%M]
  }
}

// -----

// send_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel is declared here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 1 but the channel begins at rank 0}}
    rank.send @c[%M]
  }
}

// -----

// recv_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    %0 = rank.recv @c[%M] : memref<4xf32>
  }
}

// -----

// recv_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel is declared here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 0 but the channel ends at rank 1}}
    %0 = rank.recv @c[%M] : memref<4xf32>
  }
}

// -----

// recv_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{channel has slots of type 'memref<4xf32>', got 'memref<5xf32>'}}
    %0 = rank.recv @c[%M] : memref<5xf32>
  }
}

// -----

// received_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    %0 = rank.received @c[%M] : memref<4xf32>
  }
}

// -----

// received_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel is declared here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 0 but the channel ends at rank 1}}
    %0 = rank.received @c[%M] : memref<4xf32>
  }
}

// -----

// received_c2
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.1 rank 1 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{channel has slots of type 'memref<4xf32>', got 'memref<5xf32>'}}
    %0 = rank.received @c[%M] : memref<5xf32>
  }
}

// -----

// release_channel_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{@c is not a channel}}
    rank.release_channel @c[%M]
  }
}

// -----

// release_channel_c1
rank.step @step(tensor<8x4xf32>, tensor<2x8xf32>) -> (tensor<f32>, tensor<8x4xf32>)
// expected-note @below {{the channel is declared here}}
rank.channel @c from 0 to 1 depth 2 : memref<4xf32>
rank.program @step.0 rank 0 device "d0" of @step microbatches 8 schedule "1f1b" {
  rank.entry (%M) {
    // expected-error @below {{stands on rank 0 but the channel ends at rank 1}}
    rank.release_channel @c[%M]
  }
}
