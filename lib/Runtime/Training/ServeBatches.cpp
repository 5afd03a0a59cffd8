//===- ServeBatches.cpp - serves the batches of a library -----------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DType.h"
#include "Training/BatchSource.h"
#include "stagewright/Runtime/Training.h"

#include "stagewright-rt/source.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace stagewright::runtime {

namespace {

/// Seconds: no time limit. The run at the other end of the socket has limits.
constexpr double forever = 1e9;

bool send(const void *data, size_t bytes) {
  return sendAll(STDIN_FILENO, data, bytes, forever);
}

bool sendNumbers(const std::vector<int64_t> &numbers) {
  return send(numbers.data(), numbers.size() * sizeof(int64_t));
}

void sendMessage(const std::string &text) {
  if (sendNumbers({-1, int64_t(text.size())}))
    (void)send(text.data(), text.size());
}

/// False if the other side has closed.
bool sendTensor(const sw_source_tensor &it) {
  std::vector<int64_t> shape(it.tensor.shape, it.tensor.shape + it.tensor.rank);
  std::vector<int64_t> head = {int64_t(std::strlen(it.name)), it.tensor.dtype,
                               it.tensor.rank};
  head.insert(head.end(), shape.begin(), shape.end());
  return sendNumbers(head) && send(it.name, size_t(head[0])) &&
         send(it.tensor.data,
              size_t(tensorBytes(it.tensor.dtype, shape).value_or(0)));
}

/// The table of the library; null, and a message has been sent, if it fails.
const sw_source *load(const std::string &path) {
  // dlopen searches the system's folders for a name without a slash.
  void *library =
      dlopen((path.find('/') == std::string::npos ? "./" + path : path).c_str(),
             RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return sendMessage(dlerror()), nullptr;
  auto *source =
      static_cast<const sw_source *>(dlsym(library, "stagewright_source"));
  if (!source)
    return sendMessage("the library exports no 'stagewright_source'; see "
                       "stagewright-rt/source.h"),
           nullptr;
  if (source->version != SW_SOURCE_VERSION)
    return sendMessage("the library has version " +
                       std::to_string(source->version) +
                       " of the interface, expected " +
                       std::to_string(SW_SOURCE_VERSION)),
           nullptr;
  return source;
}

} // namespace

int serveBatches(const std::string &what, uint64_t seed) {
  SourceName name = parseSourceName(what);
  const sw_source *source = load(name.file);
  if (!source)
    return 1;
  const char *error = "the source gave no reason";
  void *state = source->open(name.text.c_str(), seed, &error);
  if (!state)
    return sendMessage(error), 1;
  int64_t request[2];
  bool goes = sendNumbers({0});
  while (goes && receiveAll(STDIN_FILENO, request, sizeof(request), forever)) {
    const sw_source_tensor *tensors = nullptr;
    error = "the source gave no reason";
    int64_t count =
        source->next(state, request[0], request[1], &tensors, &error);
    if (count < 0)
      return sendMessage(error), 1;
    goes = sendNumbers({count}) &&
           std::all_of(tensors, tensors + count, sendTensor);
  }
  source->close(state);
  return 0;
}

} // namespace stagewright::runtime
