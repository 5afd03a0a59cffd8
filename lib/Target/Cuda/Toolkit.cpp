//===- Toolkit.cpp - programs of the CUDA toolkit -------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuda.h"
#include "stagewright/Target/CodeCache.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

namespace stagewright::cuda {

llvm::Expected<std::string> findInToolkit(llvm::StringRef path,
                                          llvm::StringRef package) {
  std::vector<std::string> folders;
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME"))
    folders.push_back(*home);
  if (auto nvcc = llvm::sys::findProgramByName("nvcc"))
    folders.push_back(
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(*nvcc))
            .str());
  folders.push_back("/usr/local/cuda");
  for (const std::string &folder : folders) {
    llvm::SmallString<128> file(folder);
    llvm::sys::path::append(file, path);
    if (llvm::sys::fs::exists(file))
      return file.str().str();
  }
  return llvm::createStringError(
      "no '%s' in $CUDA_HOME, beside nvcc, or in /usr/local/cuda; it is in the "
      "package %s of the CUDA toolkit",
      path.str().c_str(), package.str().c_str());
}

namespace {
/// A temporary file, removed by the destructor.
struct Temporary {
  llvm::SmallString<128> name;
  llvm::FileRemover remover;

  llvm::Error create(llvm::StringRef suffix, llvm::StringRef content) {
    int file;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile(
            "stagewright", suffix, file, name))
      return llvm::createStringError(error, "cannot write a temporary file: %s",
                                     error.message().c_str());
    remover.setFile(name);
    llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
    stream << content;
    return llvm::Error::success();
  }

  llvm::Expected<llvm::SmallVector<char, 0>> read() const {
    auto buffer = llvm::MemoryBuffer::getFile(name);
    if (!buffer)
      return llvm::createStringError(buffer.getError(), "cannot read '%s'",
                                     name.str().str().c_str());
    return llvm::SmallVector<char, 0>((*buffer)->getBufferStart(),
                                      (*buffer)->getBufferEnd());
  }
};
} // namespace

/// Runs a program. Its output is stored in `log`, and is part of the error.
static llvm::Error runTool(llvm::ArrayRef<std::string> command,
                           std::string &log) {
  Temporary output;
  if (llvm::Error error = output.create("log", ""))
    return error;
  llvm::SmallVector<llvm::StringRef> arguments(command.begin(), command.end());
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(), output.name.str(), output.name.str()};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(command[0], arguments, std::nullopt,
                                       redirects, 0, 0, &message);
  if (auto text = output.read())
    log.assign(text->begin(), text->end());
  else
    return text.takeError();
  if (code != 0)
    return llvm::createStringError("'%s' failed with code %d: %s%s",
                                   command[0].c_str(), code, message.c_str(),
                                   log.c_str());
  return llvm::Error::success();
}

static llvm::Expected<std::string> findAssembler() {
  return findInToolkit("bin/ptxas", "cuda-nvcc");
}

llvm::Expected<std::string> stampOfAssembler() {
  auto ptxas = findAssembler();
  if (!ptxas)
    return ptxas.takeError();
  return stampOfFile(*ptxas);
}

llvm::Expected<llvm::SmallVector<char, 0>>
assemble(llvm::StringRef ptx, llvm::StringRef architecture, std::string &log) {
  auto ptxas = findAssembler();
  if (!ptxas)
    return ptxas.takeError();
  Temporary source, code;
  if (llvm::Error error = source.create("ptx", ptx))
    return std::move(error);
  if (llvm::Error error = code.create("cubin", ""))
    return std::move(error);
  if (llvm::Error error =
          runTool({*ptxas, "-v", "-O3", "-arch=" + architecture.str(),
                   source.name.str().str(), "-o", code.name.str().str()},
                  log))
    return std::move(error);
  return code.read();
}

llvm::Expected<llvm::SmallVector<char, 0>> join(llvm::ArrayRef<Image> images) {
  auto fatbinary = findInToolkit("bin/fatbinary", "cuda-nvcc");
  if (!fatbinary)
    return fatbinary.takeError();
  Temporary whole;
  if (llvm::Error error = whole.create("fatbin", ""))
    return std::move(error);
  std::vector<std::string> command = {*fatbinary, "-64", "--compress=false",
                                      "--create=" + whole.name.str().str()};
  std::vector<std::unique_ptr<Temporary>> parts;
  for (const Image &image : images) {
    parts.push_back(std::make_unique<Temporary>());
    if (llvm::Error error = parts.back()->create(
            image.isPtx ? "ptx" : "cubin",
            llvm::StringRef(image.bytes.data(), image.bytes.size())))
      return std::move(error);
    command.push_back(std::string("--image3=kind=") +
                      (image.isPtx ? "ptx" : "elf") +
                      ",sm=" + image.architecture.substr(3) +
                      ",file=" + parts.back()->name.str().str());
  }
  std::string log;
  if (llvm::Error error = runTool(command, log))
    return std::move(error);
  return whole.read();
}

} // namespace stagewright::cuda
