// RUN: pp-opt %s --device-lower-calls --verify-diagnostics

// The manifest needs the launch of every kernel.
gpu.module @kernels {
  // expected-error @below {{kernel has lost its 'rank.kernel'}}
  gpu.func @kernel_0(%x: !llvm.ptr) kernel {
    gpu.return
  }
}
