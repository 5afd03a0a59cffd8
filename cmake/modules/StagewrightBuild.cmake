# How our own targets are built: warnings as errors, sanitizers, one static library per folder, TableGen.

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

add_library(stagewright-options INTERFACE)
target_compile_options(stagewright-options INTERFACE 
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wno-unused-parameter;-Werror;-Wno-deprecated-declarations>)
target_include_directories(stagewright-options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:include>)
if(STAGEWRIGHT_SANITIZE)
  target_compile_options(stagewright-options INTERFACE -fsanitize=${STAGEWRIGHT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all $<BUILD_INTERFACE:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers.txt>)
  target_link_options(stagewright-options INTERFACE -fsanitize=${STAGEWRIGHT_SANITIZE})
endif()

# stagewright_include_mlir(TARGET SCOPE): MLIR's headers and the definitions that they require.
function(stagewright_include_mlir name scope)
  target_include_directories(${name} SYSTEM ${scope} ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  # NDEBUG changes the layout of LLVM's statistics, which every pass contains: it must be defined as in libMLIR.
  if(NOT LLVM_ENABLE_ASSERTIONS)
    target_compile_definitions(${name} ${scope} NDEBUG)
  endif()
endfunction()

# stagewright_library(NAME SOURCES... [LINK libraries...] [DEPENDS generated...] [PLAIN])
# PLAIN: plain data, without MLIR headers. The others link only the shared libMLIR and libLLVM: with two copies of MLIR
# in one process, types of one copy are unknown to the other.
function(stagewright_library name)
  cmake_parse_arguments(ARG "PLAIN" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC stagewright-options ${ARG_LINK})
  if(ARG_PLAIN)
    stagewright_reuse_headers(${name} standard)
  else()
    stagewright_reuse_headers(${name} mlir)
    stagewright_include_mlir(${name} PUBLIC)
    target_link_libraries(${name} PUBLIC MLIR LLVM)
    add_dependencies(${name} stagewright-headers)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY STAGEWRIGHT_LIBRARIES ${name})
  install(TARGETS ${name} EXPORT StagewrightTargets)
endfunction()

# stagewright_tablegen(FILE.td OUTPUT generator-flags...): FILE is below dialects/; OUTPUT is written into the caller's build
# folder.
macro(stagewright_tablegen file output)
  set(LLVM_TARGET_DEFINITIONS ${PROJECT_SOURCE_DIR}/dialects/${file})
  mlir_tablegen(${output} ${ARGN} EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS} ${PROJECT_SOURCE_DIR}/dialects)
endmacro()

# Depends on the targets of all generated headers, which include/ adds; every library with MLIR depends on it.
if(STAGEWRIGHT_COMPILER)
  add_custom_target(stagewright-headers)
endif()

# The compiler's tools allocate with mimalloc if it is there: passes make many small objects. It takes an eighth of the time
# and a third of the memory off the search for plans of GPT 1T (`./dev bench published --part 1t`).
if(STAGEWRIGHT_COMPILER AND NOT STAGEWRIGHT_SANITIZE)
  find_package(mimalloc 2 CONFIG QUIET)
endif()

# stagewright_tool(NAME SOURCES... [LINK libraries...] [PLAIN])
function(stagewright_tool name)
  cmake_parse_arguments(ARG "PLAIN" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE stagewright-options ${ARG_LINK})
  if(NOT ARG_PLAIN)
    stagewright_reuse_headers(${name} mlir)
    if(TARGET mimalloc)
      # Before the C and C++ libraries, whose functions it replaces.
      target_link_libraries(${name} PRIVATE mimalloc)
    endif()
  endif()
  install(TARGETS ${name})
endfunction()
install(TARGETS stagewright-options EXPORT StagewrightTargets)
