# Precompiles headers that many files include: MLIR's alone take nine tenths of the compile time of most of our files.
# Our own headers are not precompiled, so that a change of one rebuilds no more than before. Sources still include what they
# use: -DSTAGEWRIGHT_PRECOMPILE=OFF builds without precompiled headers.

option(STAGEWRIGHT_PRECOMPILE "Parse other projects' headers once for many files" ON)

set(stagewright_standard_headers <algorithm> <array> <cmath> <cstdint> <fstream> <functional> <limits> <map> <memory>
  <numeric> <optional> <random> <set> <span> <sstream> <string> <vector> <nlohmann/json.hpp>)
set(stagewright_mlir_headers <algorithm> <cmath> <cstdint> <functional> <limits> <map> <numeric> <optional> <string> <vector>
  <mlir/Analysis/Liveness.h>
  <mlir/Dialect/Affine/IR/AffineOps.h>
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Bufferization/IR/Bufferization.h>
  <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h>
  <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Linalg/Transforms/Transforms.h>
  <mlir/Dialect/Linalg/Utils/Utils.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/IRMapping.h>
  <mlir/IR/Matchers.h>
  <mlir/IR/PatternMatch.h>
  <mlir/Pass/PassManager.h>
  <mlir/Transforms/DialectConversion.h>
  <mlir/Transforms/RegionUtils.h>
  <llvm/ADT/MapVector.h>
  <llvm/ADT/SetVector.h>
  <llvm/ADT/StringMap.h>
  <llvm/ADT/StringSet.h>
  <llvm/ADT/TypeSwitch.h>
  <llvm/Support/FormatVariadic.h>
  <llvm/Support/JSON.h>)

# stagewright_precompile(TARGET HEADERS...): precompiles headers for one target whose flags or headers no other target has.
function(stagewright_precompile name)
  if(STAGEWRIGHT_PRECOMPILE)
    # Without the modification times of the headers in the precompiled header, so that ccache finds it again.
    target_compile_options(${name} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# stagewright_compile_quickly(TARGET): for targets that only serve tests. With sanitizers they are not optimised, since that
# would take longer than it saves.
function(stagewright_compile_quickly name)
  if(STAGEWRIGHT_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  endif()
endfunction()

if(STAGEWRIGHT_PRECOMPILE)
  find_package(nlohmann_json REQUIRED)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/headers.cpp CONTENT "")
  # Built only for their precompiled headers: one target for each set of flags.
  add_library(stagewright-standard-headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cpp)
  target_link_libraries(stagewright-standard-headers PRIVATE stagewright-options nlohmann_json::nlohmann_json)
  stagewright_precompile(stagewright-standard-headers ${stagewright_standard_headers})
  if(STAGEWRIGHT_COMPILER)
    add_library(stagewright-mlir-headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cpp)
    target_link_libraries(stagewright-mlir-headers PRIVATE stagewright-options)
    stagewright_include_mlir(stagewright-mlir-headers PRIVATE)
    stagewright_precompile(stagewright-mlir-headers ${stagewright_mlir_headers})
  endif()
  if(STAGEWRIGHT_TESTS)
    find_package(GTest REQUIRED)
    add_library(stagewright-test-headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/headers.cpp)
    target_link_libraries(stagewright-test-headers PRIVATE stagewright-options GTest::gtest nlohmann_json::nlohmann_json)
    stagewright_compile_quickly(stagewright-test-headers)
    stagewright_precompile(stagewright-test-headers ${stagewright_standard_headers} <gtest/gtest.h>)
  endif()
endif()

# stagewright_reuse_headers(TARGET KIND): KIND is standard, mlir or test.
function(stagewright_reuse_headers name kind)
  if(STAGEWRIGHT_PRECOMPILE)
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "EXECUTABLE")  # It would get -fPIE, but a precompiled header fits only one set of flags.
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name} PRIVATE -fPIC)
    endif()
    target_precompile_headers(${name} REUSE_FROM stagewright-${kind}-headers)
  endif()
endfunction()
