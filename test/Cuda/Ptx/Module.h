//===- Module.h - PTX, read into instructions -------------------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of PTX that the compiler writes, after NVIDIA's "PTX ISA". What is
// not known here is an error that names the line: nothing is skipped.
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

/// Text that this reader does not know.
struct Unknown : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr int warpSize = 32;
/// A value of every lane; of narrow types the low bits count.
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
  int number = -1;            ///< of a register, constant or `Special`
  int64_t offset = 0;         ///< of an address, bytes
  std::vector<Operand> parts; ///< of a vector, and p|q of setp
};

struct Lanes;
/// Computes a result in all lanes that take part.
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
    Copy,    ///< cp.async and what begins and ends its groups
    Nothing
  };
  Act act = Compute;
  Space space = Space::Generic;
  bool isSigned = false; ///< a loaded value is widened with its sign
  bool guardInverted = false;
  int guard = -1;            ///< predicate that must hold, or -1
  int vector = 1, bytes = 0; ///< of a load or store: elements, bytes of one
  int target = -1;           ///< of a branch
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
  std::deque<Row> constants; ///< each a value in all lanes
  int registers = 0;
  int64_t local = 0;            ///< bytes a thread
  int64_t shared = 0;           ///< bytes a block, beside dynamic ones
  std::array<int, 3> most = {}; ///< threads of a block, 0: any
};

struct Module {
  std::string version, target; ///< "8.0", "sm_90a"
  std::map<std::string, Kernel, std::less<>> kernels;
};

/// Reads a module; throws `Unknown`.
Module parse(std::string_view text);

/// What computes an opcode, or null: "fma.rn.f32".
Handler handlerOf(const std::vector<std::string> &words);

} // namespace emulator::ptx

#endif // STAGEWRIGHT_TEST_CUDA_PTX_MODULE_H
