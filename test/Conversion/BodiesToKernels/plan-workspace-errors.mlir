// RUN: pp-opt %s --body-plan-workspace --verify-diagnostics

func.func private @dynamic(%x: memref<8xf32>, %n: index) {
  // expected-error @below {{temporary of dynamic shape 'memref<?xf32>'; every shape must be static}}
  %a = memref.alloc(%n) : memref<?xf32>
  return
}
