// RUN: pp-opt %s --device-lower-calls --verify-diagnostics

// The manifest needs all of a kernel's attributes.
gpu.module @kernels {
  // expected-error @below {{kernel has lost its 'device.grid'}}
  gpu.func @kernel_0(%x: !llvm.ptr) kernel attributes {device.block = array<i64: 1, 1, 1>} {
    gpu.return
  }
}
