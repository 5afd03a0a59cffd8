// RUN: pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir -o %t.swx | FileCheck %s --check-prefix=REPORT
// RUN: llvm-readelf -S --dyn-syms %t.swx | FileCheck %s
// RUN: llvm-readelf -p .stagewright %t.swx | FileCheck %s --check-prefix=MANIFEST
// RUN: pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --emit=llvm --target-cpu=x86-64-v3 | FileCheck %s --check-prefix=LLVM
// RUN: pp-compile %S/../Conversion/RankToHost/lower-rank-to-host.mlir --target-cpu=x86-64-v3 --quiet -o %t.v3.swx
// RUN: llvm-readelf -p .stagewright %t.v3.swx | FileCheck %s --check-prefix=V3

// REPORT: rank device   parameters {{.*}} live_peak
// REPORT: 0     d0          128          128          512           64          512            0           64            0         1408         1408

// CHECK: .stagewright PROGBITS
// CHECK-DAG: FUNC GLOBAL DEFAULT {{.*}} step.0
// CHECK-DAG: OBJECT GLOBAL PROTECTED {{.*}} stagewright_api
// No symbol of the runtime is left to resolve.
// CHECK-NOT: sw_

// MANIFEST: SWX1
// MANIFEST: "features":[
// MANIFEST-SAME: "triple":"x86_64

// V3: "cpu":"x86-64-v3","features":["avx","avx2","bmi","bmi2","f16c","fma","lzcnt","popcnt","sse3","sse4.1","sse4.2","ssse3"]

// LLVM: @stagewright_api = protected global ptr null
// LLVM: @stagewright.manifest = private constant {{.*}} section ".stagewright"
// LLVM: define internal ptr @sw_slot(ptr %0, i64 %1, i64 %2)
// LLVM: load ptr, ptr @stagewright_api
// LLVM: tail call ptr
// LLVM: define void @step.0(ptr %0, i64 %1)
