//===- Module.h - PTX parsed into instructions ------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Supports the subset of PTX that the compiler emits, as specified in NVIDIA's
// "PTX ISA". Other instructions and directives are errors that name the line.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_TEST_CUDA_PTX_MODULE_H
#define STAGEWRIGHT_TEST_CUDA_PTX_MODULE_H

#include "../Memory.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string_view>
#include <vector>

namespace emulator::ptx {

/// Text that this parser does not support.
struct Unknown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr size_t warpSize = 32;
constexpr int64_t parameterStride = 8; ///< the largest parameter
/// A value in every lane; narrow types use the low bits.
using Row = std::array<uint64_t, warpSize>;

enum class Space : uint8_t { Generic, Global, Shared, Local, Parameter };
/// Bits set in generic addresses of shared and of local memory. Addresses of
/// device memory are lower.
constexpr uint64_t sharedWindow = uint64_t(1) << 60;
constexpr uint64_t localWindow = uint64_t(1) << 61;

struct Operand {
  enum Kind : uint8_t { None, Register, Constant, Vector };
  Kind kind = None;
  size_t number = 0;               ///< of a register or constant
  int64_t offset = 0;              ///< that is added: of an address, bytes
  std::vector<Operand> parts = {}; ///< of a vector
};

/// Registers that every kernel has, before its own: those that a warp begins
/// with (special ones, and the address of dynamic shared memory), the carry of
/// mad.cc, and one for results that are not used.
constexpr std::string_view builtins[] = {
    "%tid.x",   "%tid.y",   "%tid.z",   "%ntid.x",   "%ntid.y",   "%ntid.z",
    "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z",
    "%laneid",  "%warpid",  "%dynamic", "%cc",       "_"};

struct Lanes;
/// Computes a result in all lanes of the mask.
using Handler = void (*)(Lanes &);
struct Warp;
/// Executes the current instruction of a warp.
using Act = void (Warp::*)();

struct Instruction {
  Act act = nullptr;
  Space space = Space::Generic;
  bool loads = false, isSigned = false; ///< a loaded value is sign-extended
  Operand guard;                        ///< a predicate, or none
  bool isInverted = false;              ///< the guard: @!%p1
  bool isNeeded = false;     ///< a barrier: a launch fails without it
  int vector = 1, bytes = 1; ///< elements, and bytes of one
  size_t target = 0;         ///< of a branch: an instruction
  Handler handler = nullptr;
  std::vector<Operand> operands;  ///< the result first
  std::vector<std::string> words; ///< of the opcode: {"ld", "global", "b32"}
  std::string text;
  int line = 0;

  bool has(std::string_view word) const {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  /// The space of an address that it accesses.
  Space spaceOf(uint64_t address) const {
    return space != Space::Generic  ? space
           : address & sharedWindow ? Space::Shared
           : address & localWindow  ? Space::Local
                                    : Space::Global;
  }
};

struct Kernel {
  std::string name;
  /// Sizes in bytes; each begins at a multiple of `parameterStride`.
  std::vector<int64_t> parameters;
  std::vector<Instruction> code;
  std::deque<Row> constants; ///< each with its value in all lanes
  size_t registers = 0;
  int64_t local = 0;            ///< bytes per thread
  int64_t shared = 0;           ///< bytes per block, without dynamic memory
  std::array<int, 3> most = {}; ///< max threads of a block; 0: any number
};

struct Module {
  std::map<std::string, Kernel, std::less<>> kernels;
};

/// Parses a module, whose tables it allocates and writes; throws `Unknown`.
Module parse(std::string_view text, Memory &memory, int device = 0);

/// The handler of an opcode such as "fma.rn.f32", or null.
Handler handlerOf(const std::vector<std::string> &words);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_MODULE_H
