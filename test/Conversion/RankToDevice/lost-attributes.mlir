// RUN: pp-opt %s --device-write-kernels --verify-diagnostics

// What the runtime must know of a kernel is an attribute; a step in which it is lost is refused.
func.func private @kernel.parts(%x: memref<4096x40xf32>, %parts: memref<64x40xf32>) attributes {host.kernel} {
  %form = memref.alloc() : memref<40xf32>
  // expected-error @below {{nothing reads this sum; it has lost its 'device.parts'}}
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<4096x40xf32>) outs(%form : memref<40xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}
