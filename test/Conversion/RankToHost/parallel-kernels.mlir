// RUN: pp-opt %s --host-parallel-kernels --split-input-file | FileCheck %s
// RUN: pp-opt %s --host-parallel-kernels=min-time=1000000000 --split-input-file | FileCheck %s --check-prefix=HUGE
// RUN: pp-opt %s --host-parallel-kernels --convert-host-to-llvm --split-input-file | FileCheck %s --check-prefix=LLVM

// HUGE-NOT: sw_parallel
// LLVM-NOT: unrealized_conversion_cast

// The loop becomes a part, over iterations from lower to upper, and a body that the runtime can call with a list. Arguments
// stay noalias; constants are rematerialised; a number is passed in a pointer.
// CHECK-LABEL: func.func private @kernel.0(
// CHECK-SAME:    %[[X:.*]]: memref<4096x64xf32> {llvm.noalias}, %[[Y:.*]]: memref<4096x64xf32>, %[[F:.*]]: f32)
// CHECK-NOT:   scf.for
// CHECK:       %[[LIST:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK:       memref.extract_aligned_pointer_as_index %[[X]]
// CHECK:       llvm.store
// CHECK:       arith.bitcast %[[F]] : f32 to i32
// CHECK:       %[[BODY:.*]] = llvm.mlir.addressof @kernel.0.part.body
// CHECK:       %[[TURNS:.*]] = llvm.mlir.constant(1024 : i64)
// CHECK:       %[[GRAIN:.*]] = llvm.mlir.constant({{[0-9]+}} : i64)
// CHECK:       llvm.call @sw_parallel(%[[BODY]], %[[LIST]], %[[TURNS]], %[[GRAIN]])

// CHECK-LABEL: func.func private @kernel.0.part(
// CHECK-SAME:    memref<4096x64xf32> {llvm.noalias}, %{{[^:]*}}: f32, %{{[^:]*}}: memref<4096x64xf32>, %[[LOWER:.*]]: i64, %[[UPPER:.*]]: i64) attributes {host.kernel}
// CHECK-DAG:   %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-DAG:   %[[LAST:.*]] = arith.constant 4096 : index
// CHECK-DAG:   %[[STEP:.*]] = arith.constant 4 : index
// CHECK:       %[[L:.*]] = arith.index_cast %[[LOWER]]
// CHECK:       %[[LS:.*]] = arith.muli %[[L]], %[[STEP]]
// CHECK:       %[[FROM:.*]] = arith.addi %[[FIRST]], %[[LS]]
// CHECK:       %[[U:.*]] = arith.index_cast %[[UPPER]]
// CHECK:       %[[US:.*]] = arith.muli %[[U]], %[[STEP]]
// CHECK:       %[[END:.*]] = arith.addi %[[FIRST]], %[[US]]
// CHECK:       %[[TO:.*]] = arith.minsi %[[END]], %[[LAST]]
// CHECK:       scf.for %{{.*}} = %[[FROM]] to %[[TO]] step %[[STEP]]

// CHECK-LABEL: llvm.func internal @kernel.0.part.body(
// CHECK-COUNT-3: llvm.load
// CHECK:       call @kernel.0.part
func.func private @kernel.0(%x: memref<4096x64xf32> {llvm.noalias}, %y: memref<4096x64xf32>, %f: f32)
    attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  scf.for %i = %c0 to %c4096 step %c4 {
    scf.for %j = %c0 to %c64 step %c1 {
      %a = memref.load %x[%i, %j] : memref<4096x64xf32>
      %b = arith.mulf %a, %f : f32
      memref.store %b, %y[%i, %j] : memref<4096x64xf32>
    }
  } {host.parallel}
  return
}

// -----

// A convolution of 6912 terms takes 115 ns.
// CHECK-LABEL: func.func private @kernel.2(
// CHECK: llvm.call @sw_parallel
llvm.func @sw_convolution(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
llvm.mlir.global private constant @convolution.0(dense<[0, 2, 4, 4, 8, 1, 3, 9, 243, 54, 6, 128, 32, 8, 0, 27, 1, 0, 72, 8, 1, 1]> : tensor<22xi64>) {addr_space = 0 : i32, alignment = 8 : i64} : !llvm.array<22 x i64>
func.func private @kernel.2(%x: memref<4096x8xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  scf.for %i = %c0 to %c4096 step %c1 {
    %desc = llvm.mlir.addressof @convolution.0 : !llvm.ptr
    %at = memref.extract_aligned_pointer_as_index %x : memref<4096x8xf32> -> index
    %n = arith.index_cast %at : index to i64
    %p = llvm.inttoptr %n : i64 to !llvm.ptr
    llvm.call @sw_convolution(%desc, %p, %p, %p) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  } {host.parallel}
  return
}

// -----

// Too little work, iterations that depend on each other, a result, no kernel.
// CHECK-NOT: sw_parallel
func.func private @kernel.1(%x: memref<64xf32>, %y: memref<4096x4096xf32>) attributes {host.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %zero, %x[%i] : memref<64xf32>
  } {host.parallel}
  scf.for %i = %c0 to %c4096 step %c1 {
    scf.for %j = %c0 to %c4096 step %c1 {
      memref.store %zero, %y[%i, %j] : memref<4096x4096xf32>
    }
  }
  %sum = scf.for %i = %c0 to %c4096 step %c1 iter_args(%s = %zero) -> f32 {
    %a = memref.load %y[%i, %i] : memref<4096x4096xf32>
    %t = arith.addf %s, %a : f32
    scf.yield %t : f32
  }
  memref.store %sum, %x[%c0] : memref<64xf32>
  return
}
func.func private @body(%y: memref<4096x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c4096 step %c1 {
    scf.for %j = %c0 to %c4096 step %c1 {
      memref.store %zero, %y[%i, %j] : memref<4096x4096xf32>
    }
  } {host.parallel}
  return
}
