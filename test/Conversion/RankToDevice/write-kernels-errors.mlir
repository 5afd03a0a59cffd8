// RUN: pp-opt %s --split-input-file --device-write-kernels --verify-diagnostics

#each = affine_map<(i) -> (i)>
gpu.module @kernels {}
// expected-error @below {{kernel takes a 'f32'; only buffers and 64-bit numbers can be given to a device}}
func.func private @kernel.scalar(%x: f32, %y: memref<64xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#each], iterator_types = ["parallel"]} outs(%y : memref<64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// Names of the GPU have no dots.
#each = affine_map<(i) -> (i)>
func.func private @kernel.a.b(%x: memref<64xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#each], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %o : f32
  }
  return
}
// expected-error @below {{two kernels would be named 'kernel_a_b'}}
func.func private @kernel.a_b(%x: memref<64xf32>) attributes {host.kernel} {
  linalg.generic {indexing_maps = [#each], iterator_types = ["parallel"]} outs(%x : memref<64xf32>) {
  ^bb0(%o: f32):
    linalg.yield %o : f32
  }
  return
}
