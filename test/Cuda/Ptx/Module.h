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

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace emulator::ptx {

/// Text that this parser does not support.
struct Unknown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr int warpSize = 32;
/// A value in every lane; narrow types use the low bits.
using Row = std::array<uint64_t, warpSize>;

enum class Special : uint8_t {
  ThreadX,
  ThreadY,
  ThreadZ,
  BlockDimX,
  BlockDimY,
  BlockDimZ,
  BlockX,
  BlockY,
  BlockZ,
  GridX,
  GridY,
  GridZ,
  Lane,
  Warp
};
enum class Space : uint8_t { Generic, Global, Shared, Local, Parameter };

struct Operand {
  enum Kind : uint8_t {
    None,
    Register,
    Constant,
    SpecialRegister,
    Address,
    Vector
  };
  Kind kind = None;
  bool inverted = false;      ///< !%p1
  int number = -1;            ///< index of a register, constant or `Special`
  int64_t offset = 0;         ///< of an address, bytes
  std::vector<Operand> parts; ///< of a vector, and p|q of setp
};

struct Lanes;
/// Computes a result in all lanes of the mask.
using Handler = void (*)(Lanes &);

struct Instruction {
  enum Act : uint8_t {
    Compute,
    Move,
    Load,
    Store,
    Branch,
    Return,
    Barrier,
    Shuffle,
    Matrix,  ///< ldmatrix
    Product, ///< mma
    Copy,    ///< cp.async, its commits and its waits
    Nothing
  };
  Act act = Compute;
  Space space = Space::Generic;
  bool isSigned = false; ///< a loaded value is sign-extended
  bool guardInverted = false;
  int guard = -1;            ///< predicate register, or -1
  int vector = 1, bytes = 0; ///< of a load or store: elements, bytes of one
  int target = -1;           ///< of a branch: an instruction
  Handler handler = nullptr;
  std::vector<Operand> operands;  ///< the result first
  std::vector<std::string> words; ///< of the opcode: {"ld", "global", "b32"}
  std::string text;
  int line = 0;

  bool has(std::string_view word) const {
    return std::find(words.begin(), words.end(), word) != words.end();
  }
};

struct Parameter {
  std::string name;
  int64_t offset, bytes;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Instruction> code;
  std::deque<Row> constants; ///< each with its value in all lanes
  int registers = 0;
  int64_t local = 0;            ///< bytes per thread
  int64_t shared = 0;           ///< bytes per block, without dynamic memory
  std::array<int, 3> most = {}; ///< max threads of a block; 0: any number
};

struct Module {
  std::map<std::string, Kernel, std::less<>> kernels;
};

/// Parses a module; throws `Unknown`.
Module parse(std::string_view text);

/// The handler of an opcode such as "fma.rn.f32", or null.
Handler handlerOf(const std::vector<std::string> &words);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_MODULE_H
