//===- Library.h - libraries that are opened at run time --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA, cuBLASLt and NCCL are opened when a step on a device is made and never
// before: a build needs none of their headers, a step on processors none of
// their libraries. What is missing is an error that names the package which
// has it. An environment variable names another library: another version, or
// the emulator of the tests.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARY_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARY_H

#include <array>
#include <string>

namespace stagewright::runtime::cuda {

/// Where a library is found, and what to tell a user who has not got it.
struct LibraryName {
  /// What the dynamic linker looks for, the newest version first; null: there
  /// is only one.
  std::array<const char *, 2> files;
  const char *variable; ///< of the environment: a path instead of `files`
  const char *purpose;  ///< "contractions on a device need it"
  const char *package;  ///< "NVIDIA's driver (Debian package libcuda1)"
};

template <typename Errors, typename... Parameters> struct Function;

/// An open library. It stays open until the process ends: NVIDIA's libraries
/// have threads and handlers at exit of their own.
class Library {
public:
  /// Looks for each file where the linker does, then below CUDA_HOME: a version
  /// that the linker finds goes before a newer one that lies there.
  explicit Library(const LibraryName &name);

  /// The address of a function; an `Error` where there is none.
  void *symbol(const char *symbol) const;
  /// Looks a function of a table up.
  template <typename Errors, typename... Parameters>
  void find(Function<Errors, Parameters...> &function) const {
    function.address =
        reinterpret_cast<int (*)(Parameters...)>(symbol(function.symbol));
  }
  /// And one that gives no status.
  template <typename Result, typename... Parameters>
  void find(Result (*&function)(Parameters...), const char *name) const {
    function = reinterpret_cast<Result (*)(Parameters...)>(symbol(name));
  }
  /// What dlopen gave.
  void *raw() const { return handle; }
  /// What the library was opened as.
  const std::string &path() const { return opened; }

private:
  const LibraryName &name;
  std::string opened;
  void *handle = nullptr;
};

/// A function of a library, which returns 0 or a status that `Errors::fail`
/// turns into an `Error`.
template <typename Errors, typename... Parameters> struct Function {
  const char *symbol;
  int (*address)(Parameters...) = nullptr;

  /// Calls it for its status alone.
  // Handles are declared here as pointers of our own, so the library's function
  // has another type by name.
  template <typename... Arguments>
#if defined(__clang__)
  [[clang::no_sanitize("function")]]
#endif
  int status(Arguments... arguments) const {
    return address(arguments...);
  }

  template <typename... Arguments>
  void operator()(Arguments... arguments) const {
    if (int failed = status(arguments...))
      Errors::fail(symbol, failed);
  }
};

/// For the lists of functions: looks a member of the table `it` up in
/// `library`.
#define STAGEWRIGHT_LOOK_UP(member, ...) library.find(it.member);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARY_H
