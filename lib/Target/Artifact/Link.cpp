//===- Link.cpp - links object files into a shared object -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emission.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

#include <dlfcn.h>

namespace stagewright {

/// The linker that the build found, else the first of the usual names.
static llvm::Expected<std::string> findLinker() {
  if (llvm::sys::fs::can_execute(STAGEWRIGHT_LINKER))
    return STAGEWRIGHT_LINKER;
  for (const char *name : {"ld.lld-22", "ld.lld", "ld"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return llvm::createStringError(
      "no linker found: '%s' cannot be run, and none of ld.lld-22, ld.lld and "
      "ld is in PATH; install lld",
      STAGEWRIGHT_LINKER);
}

/// Fails if native code calls a function that is neither defined in it nor in
/// the C library or libm, because the runtime could not load it.
static llvm::Error checkSymbols(llvm::StringRef path) {
  // dlsym also searches the dependences of libm, such as the C library.
  static void *library = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
  auto file = llvm::object::ObjectFile::createObjectFile(path);
  if (!file)
    return file.takeError();
  auto *elf =
      llvm::dyn_cast<llvm::object::ELFObjectFileBase>(file->getBinary());
  if (!elf || !library)
    return llvm::Error::success();
  for (llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name)
      return llvm::joinErrors(flags.takeError(), name.takeError());
    bool isOpen = (*flags & llvm::object::SymbolRef::SF_Undefined) &&
                  !(*flags & llvm::object::SymbolRef::SF_Weak);
    if (isOpen && !name->empty() && !dlsym(library, name->str().c_str()))
      return llvm::createStringError(
          "native code calls '%s', which neither it nor the C library nor libm "
          "defines; this is a fault of the lowering, not of the model",
          name->str().c_str());
  }
  return llvm::Error::success();
}

llvm::Error linkObjects(llvm::ArrayRef<llvm::SmallVector<char, 0>> objects,
                        llvm::StringRef path) {
  auto linker = findLinker();
  if (!linker)
    return linker.takeError();
  // In the folder of the target: a rename is only atomic within a file system.
  llvm::SmallString<128> result;
  if (std::error_code error =
          llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%", result))
    return llvm::createStringError(error, "cannot write '%s': %s",
                                   path.str().c_str(), error.message().c_str());
  llvm::FileRemover removeResult(result);

  std::vector<std::unique_ptr<llvm::FileRemover>> removers;
  std::vector<std::string> arguments = {
      *linker,       "-shared", "--eh-frame-hdr",  "--build-id=none", "-z",
      "noexecstack", "-o",      result.str().str()};
  for (llvm::ArrayRef<char> object : objects) {
    llvm::SmallString<128> name;
    int file;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("stagewright", "o", file, name))
      return llvm::createStringError(error, "cannot write object file: %s",
                                     error.message().c_str());
    removers.push_back(std::make_unique<llvm::FileRemover>(name));
    llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
    stream.write(object.data(), object.size());
    arguments.push_back(name.str().str());
  }
  llvm::SmallVector<llvm::StringRef> references(arguments.begin(),
                                                arguments.end());
  llvm::SmallString<128> output;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("stagewright", "log", output))
    return llvm::createStringError(error, "cannot write log file: %s",
                                   error.message().c_str());
  llvm::FileRemover removeOutput(output);
  std::string message;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), output.str(),
                                                output.str()};
  int code = llvm::sys::ExecuteAndWait(*linker, references, std::nullopt,
                                       redirects, 0, 0, &message);
  if (code != 0) {
    if (auto buffer = llvm::MemoryBuffer::getFile(output))
      message += (*buffer)->getBuffer();
    return llvm::createStringError("'%s' failed with code %d: %s",
                                   linker->c_str(), code, message.c_str());
  }
  if (llvm::Error error = checkSymbols(result))
    return error;
  if (std::error_code error = llvm::sys::fs::rename(result, path))
    return llvm::createStringError(error, "cannot write '%s': %s",
                                   path.str().c_str(), error.message().c_str());
  removeResult.releaseFile();
  return llvm::Error::success();
}

} // namespace stagewright
