//===- Library.h - libraries that are opened at run time --------*- C++ -*-===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA, cuBLASLt and NCCL are opened only when a step on a device is made: a
// build needs none of their headers, and a step on CPUs none of their
// libraries. If one is missing, the error names the package that contains it.
// An environment variable selects another library: another version, or the
// emulator of the tests.
//
//===----------------------------------------------------------------------===//

#ifndef STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARY_H
#define STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARY_H

#include <array>
#include <string>

namespace stagewright::runtime::cuda {

/// Where a library is found, and the parts of the error if it is missing.
struct LibraryName {
  /// File names for the dynamic linker, the newest version first. The second
  /// may be null.
  std::array<const char *, 2> files;
  const char *variable; ///< environment variable with a path, replaces `files`
  const char *purpose;  ///< "contractions on a GPU need it"
  const char *package;  ///< "NVIDIA's driver (Debian package libcuda1)"
};

template <typename Errors, typename... Parameters> struct Function;

/// An open library. It stays open until the process ends: NVIDIA's libraries
/// have their own threads and exit handlers.
class Library {
public:
  /// Without a path in `variable`, searches for each file where the dynamic
  /// linker does, then in lib64 of CUDA_HOME and of CUDA_PATH: any version that
  /// the linker finds is preferred to a newer one there.
  explicit Library(const LibraryName &name);

  /// The address of a function; throws an `Error` if there is none.
  void *symbol(const char *symbol) const;
  /// Looks up a function of a table.
  template <typename Errors, typename... Parameters>
  void find(Function<Errors, Parameters...> &function) const {
    function.address =
        reinterpret_cast<int (*)(Parameters...)>(symbol(function.symbol));
  }
  /// Looks up a function that returns no status.
  template <typename Result, typename... Parameters>
  void find(Result (*&function)(Parameters...), const char *name) const {
    function = reinterpret_cast<Result (*)(Parameters...)>(symbol(name));
  }
  /// The handle that dlopen returned.
  void *raw() const { return handle; }
  /// The path with which the library was opened.
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

  /// Calls it and returns its status.
  // Enumerations are declared as int here, and some handles as void *, so the
  // library's function has a different type, which the sanitizer would report.
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

/// For the lists of functions: looks up a member of the table `it` in
/// `library`.
#define STAGEWRIGHT_LOOK_UP(member, ...) library.find(it.member);

} // namespace stagewright::runtime::cuda

#endif // STAGEWRIGHT_LIB_RUNTIME_CUDA_LIBRARY_H
