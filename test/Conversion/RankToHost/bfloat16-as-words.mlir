// RUN: pp-opt %s --host-bfloat16-as-words | FileCheck %s

// CHECK-LABEL: module

// CHECK: llvm.mlir.global private constant @table(dense<[16256, -16384]> : tensor<2xi16>) {{.*}}: !llvm.array<2 x i16>
llvm.mlir.global private constant @table(dense<[1.0, -2.0]> : tensor<2xbf16>) : !llvm.array<2 x bf16>

// CHECK-LABEL: llvm.func @moved(%{{.*}}: !llvm.ptr, %{{.*}}: i64) -> i16
llvm.func @moved(%p: !llvm.ptr, %i: i64) -> bf16 {
  // CHECK: llvm.mlir.constant(16256 : i16) : i16
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  // CHECK: llvm.getelementptr %{{.*}} : (!llvm.ptr, i64) -> !llvm.ptr, i16
  // CHECK: llvm.load %{{.*}} : !llvm.ptr -> i16
  %at = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, bf16
  %x = llvm.load %at : !llvm.ptr -> bf16
  // CHECK: llvm.bitcast %{{.*}} : i16 to i16
  %bits = llvm.bitcast %x : bf16 to i16
  %zero = llvm.mlir.constant(0 : i16) : i16
  %none = llvm.icmp "eq" %bits, %zero : i16
  // CHECK: llvm.cond_br %{{.*}}, ^[[END:.*]](%{{.*}} : i16), ^[[END]](%{{.*}} : i16)
  llvm.cond_br %none, ^end(%one : bf16), ^end(%x : bf16)
// CHECK: ^[[END]](%{{.*}}: i16):
^end(%y: bf16):
  llvm.return %y : bf16
}

// Code for a device is not changed.
gpu.module @kernels {
  // CHECK: llvm.func @kernel(%{{.*}}: bf16)
  llvm.func @kernel(%x: bf16) {
    llvm.return
  }
}
