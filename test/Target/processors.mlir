// Code for several processors in one artifact: code for the best one has the plain names; data and the table exist once.
// RUN: pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --target-cpu=x86-64-v3,x86-64-v4 --quiet -o %t.swx
// RUN: llvm-readelf --dyn-syms %t.swx | FileCheck %s
// RUN: llvm-readelf -p .stagewright %t.swx | FileCheck %s --check-prefix=MANIFEST
// RUN: pp-run %t.swx --info | FileCheck %s --check-prefix=INFO
// RUN: pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --target-cpu=x86-64-v4 --quiet -o %t.v4.swx
// RUN: pp-run %t.v4.swx --info | FileCheck %s --check-prefix=ALONE
// RUN: not pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --target-cpu=x86-64-v3,x86-64-v3 -o %t.swx 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --target-cpu=x86-64-v3, -o %t.swx 2>&1 | FileCheck %s --check-prefix=EMPTY

// CHECK-DAG: FUNC GLOBAL DEFAULT {{.*}} step.0{{$}}
// CHECK-DAG: FUNC GLOBAL DEFAULT {{.*}} step.0.x86-64-v3{{$}}
// CHECK-DAG: OBJECT GLOBAL PROTECTED {{.*}} stagewright_api{{$}}
// CHECK-NOT: sw_
// CHECK-NOT: stagewright_api

// MANIFEST: "target":{"cpu":"x86-64-v4","features":["avx","avx2","avx512bw"
// MANIFEST-SAME: "others":[{"cpu":"x86-64-v3","features":["avx","avx2","bmi"
// MANIFEST-SAME: "suffix":".x86-64-v3"}]

// INFO: processor x86_64{{.*}}, x86-64-v4
// INFO-NEXT: features {{.*}}avx512bw
// INFO-NEXT: or x86-64-v3
// INFO-NEXT: features avx avx2 bmi

// ALONE: processor x86_64{{.*}}, x86-64-v4
// ALONE-NOT: or x86

// TWICE: error: processor 'x86-64-v3' is named twice
// EMPTY: error: processor '' is unknown; expected 'native' or one of LLVM's names, such as x86-64-v3
