// RUN: pp-opt %s --device-lower-calls | FileCheck %s
// A body may have the name that a kernel has on the device.
// CHECK: func.func @rank0
// CHECK: call @kernel_0(%arg0, %arg2)
func.func private @kernel.0(memref<4xf32>) attributes {host.kernel}
func.func private @kernel_0(%rank: !llvm.ptr, %x: memref<4xf32>) {
  call @kernel.0(%x) : (memref<4xf32>) -> ()
  return
}
func.func @rank0(%rank: !llvm.ptr, %n: i64, %x: memref<4xf32>) {
  call @kernel_0(%rank, %x) : (!llvm.ptr, memref<4xf32>) -> ()
  return
}
gpu.module @kernels {
  gpu.func @kernel_0(%x: !llvm.ptr) kernel attributes {rank.kernel = #rank.kernel<arguments = 1, block = [32, 1, 1], bytes = [16], flops = 0, form = "elements", grid = [1, 1, 1], name = "kernel_0", read = 0, shared = 0, written = 16>} {
    gpu.return
  }
}
