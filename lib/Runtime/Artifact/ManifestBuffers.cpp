//===- ManifestBuffers.cpp - the buffers of a manifest --------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Artifact/ManifestParts.h"

#include "Sum.h"
#include "stagewright/Runtime/Error.h"
#include "stagewright/Support/Limits.h"

#include <algorithm>
#include <functional>
#include <map>

namespace stagewright::runtime {

static BufferKind parseKind(const std::string &name) {
  static const std::map<std::string, BufferKind> kinds = {
      {"parameter", BufferKind::Parameter},
      {"constant", BufferKind::Constant},
      {"seed", BufferKind::Seed},
      {"state", BufferKind::State},
      {"batch", BufferKind::Batch},
      {"microbatch", BufferKind::Microbatch},
      {"gradient", BufferKind::Gradient},
      {"accumulator", BufferKind::Accumulator},
      {"output", BufferKind::Output},
      {"stash", BufferKind::Stash},
      {"workspace", BufferKind::Workspace}};
  auto found = kinds.find(name);
  if (found == kinds.end())
    raise("malformed manifest: buffer kind '", name, "' is unknown");
  return found->second;
}

/// The index in `list` of the entry at `position`; -1 for position -1.
static int64_t indexOf(const std::vector<Interface> &list, int64_t position,
                       const std::string &buffer) {
  if (position < 0)
    return -1;
  for (size_t i = 0; i < list.size(); ++i)
    if (list[i].position == position)
      return int64_t(i);
  raise("malformed manifest: buffer '", buffer, "' belongs to position ",
        position, ", which is not declared");
}

/// A buffer of an argument or result must hold all of it or exactly one
/// slice.
static void checkPart(const Buffer &buffer, const Interface &whole) {
  bool sliced = buffer.slice >= 0;
  if (sliced && buffer.slice >= whole.slices)
    raise("malformed manifest: buffer '", buffer.name, "' is slice ",
          buffer.slice, " of '", whole.name, "', which has ", whole.slices);
  int64_t expected = sliced
                         ? whole.sliceBytes(buffer.slice % whole.slicesOfRow())
                         : whole.bytes;
  if (buffer.bytes != expected)
    raise("malformed manifest: buffer '", buffer.name, "' has ", buffer.bytes,
          " bytes, but its part of '", whole.name, "' has ", expected);
}

std::vector<int64_t> parseStarts(const json &list, const Manifest &manifest) {
  if (!manifest.only)
    raise("malformed manifest: 'starts' of ", list.size(),
          " microbatches in a program for any number");
  std::vector<int64_t> starts;
  for (const json &value : list) {
    int64_t start = value.is_number_integer() ? value.get<int64_t>() : -1;
    if (start < 0 || start > kMostBytes || start % 64 != 0)
      raise("malformed manifest: 'starts' holds ", value.dump(),
            ", expected multiples of 64");
    starts.push_back(start);
  }
  if (starts.empty() || int64_t(starts.size()) > manifest.microbatches)
    raise("malformed manifest: 'starts' of ", starts.size(),
          " microbatches, expected 1 to ", manifest.microbatches);
  return starts;
}

/// Reads `own_argument`, `own_result` and `weight`, which buffers have whose
/// values differ between replicas.
static void parseOwn(const json &object, const Manifest &manifest,
                     Buffer &buffer) {
  if (object.contains("own_argument"))
    buffer.ownArgument =
        indexOf(manifest.arguments,
                integer(object, "own_argument", 0, maxDepth), buffer.name);
  if (object.contains("own_result"))
    buffer.ownResult =
        indexOf(manifest.results, integer(object, "own_result", 0, maxDepth),
                buffer.name);
  if ((buffer.ownArgument < 0) != (buffer.ownResult < 0))
    raise("malformed manifest: buffer '", buffer.name,
          "' has only one of "
          "own_argument and own_result");
  for (int64_t bytes :
       {buffer.ownArgument < 0
            ? buffer.bytes
            : manifest.arguments[size_t(buffer.ownArgument)].bytes,
        buffer.ownResult < 0
            ? buffer.bytes
            : manifest.results[size_t(buffer.ownResult)].bytes})
    if (bytes != buffer.bytes)
      raise("malformed manifest: buffer '", buffer.name, "' has ", buffer.bytes,
            " bytes, but what the host reads and sets of it has ", bytes);
  buffer.weight = object.value("weight", 0.0);
  bool sums = buffer.weight == 0 ||
              (buffer.result >= 0 &&
               canSum(manifest.results[size_t(buffer.result)].dtype) &&
               buffer.weight > 0 && buffer.weight <= 1);
  if (!sums)
    raise("malformed manifest: buffer '", buffer.name, "' has weight ",
          buffer.weight,
          ", expected more than 0 and at most 1, in a result "
          "that can be summed");
}

/// Reads which microbatches of a result the buffer has.
static void parseTurns(const json &object, const Manifest &manifest,
                       Buffer &buffer) {
  if (!object.contains("period") && !object.contains("turns"))
    return;
  buffer.period = integer(object, "period", 1, maxDepth);
  buffer.turns = integers(object, "turns", 0, buffer.period - 1);
  bool joined = buffer.result >= 0 && buffer.depthAll && buffer.depth == 1 &&
                manifest.results[size_t(buffer.result)].combine == "concat";
  bool isSorted =
      std::adjacent_find(buffer.turns.begin(), buffer.turns.end(),
                         std::greater_equal()) == buffer.turns.end();
  if (!joined || !isSorted || buffer.turns.empty())
    raise("malformed manifest: buffer '", buffer.name, "' has ",
          buffer.turns.size(), " turns of ", buffer.period,
          ", expected some in increasing order, of a result that is joined "
          "from a slot for every microbatch");
}

Buffer parseBuffer(const json &object, const Manifest &manifest,
                   int64_t starts) {
  Buffer buffer;
  parseSize(object, buffer);
  buffer.name = string(object, "name");
  buffer.kind = parseKind(string(object, "kind"));
  buffer.bytes = integer(object, "bytes", 0, kMostBytes);
  buffer.slice = integer(object, "slice", -1, maxDepth);
  if (object.contains("place"))
    buffer.place = integer(object, "place", -1, kMostBytes);
  if (buffer.place >= 0 && (buffer.kind != BufferKind::Stash ||
                            buffer.depthAll || buffer.place % 64 != 0))
    raise("malformed manifest: buffer '", buffer.name, "' has place ",
          buffer.place,
          ", but is not a stash of a fixed depth at a multiple of 64");
  if (object.contains("starts"))
    buffer.starts = integer(object, "starts", -1, starts - 1);
  if (buffer.starts >= 0 && buffer.place < 0)
    raise("malformed manifest: buffer '", buffer.name,
          "' has starts, but no place in the workspace");
  buffer.onHost = object.value("on_host", false);
  if (buffer.onHost && (buffer.kind != BufferKind::Stash || buffer.place >= 0))
    raise("malformed manifest: buffer '", buffer.name,
          "' lies on the host, but is not a stash with memory of its own");
  buffer.argument =
      indexOf(manifest.arguments, integer(object, "argument", -1, maxDepth),
              buffer.name);
  buffer.result = indexOf(manifest.results,
                          integer(object, "result", -1, maxDepth), buffer.name);

  parseOwn(object, manifest, buffer);
  parseTurns(object, manifest, buffer);

  // Kind and role must agree: the kind determines how the host's array is read,
  // the role its size.
  std::string kind = string(object, "kind");
  if (buffer.argument >= 0 && kind != manifest.arguments[buffer.argument].role)
    raise("malformed manifest: buffer '", buffer.name, "' of kind '", kind,
          "' belongs to argument ", manifest.arguments[buffer.argument].label(),
          " of role '", manifest.arguments[buffer.argument].role, "'");
  // An optimizer updates parameters and state in place.
  bool replaced = buffer.argument >= 0 && buffer.result >= 0 &&
                  (kind == "parameter" || kind == "state") &&
                  manifest.results[buffer.result].role == kind;
  if (buffer.result >= 0 && buffer.kind <= BufferKind::Microbatch && !replaced)
    raise("malformed manifest: buffer '", buffer.name, "' of kind '", kind,
          "' belongs to result ", manifest.results[buffer.result].label());
  if (buffer.result >= 0 && buffer.slice >= 0 &&
      manifest.results[buffer.result].combine == "concat")
    raise("malformed manifest: buffer '", buffer.name, "' is slice ",
          buffer.slice, " of result ", manifest.results[buffer.result].label(),
          ", which is concatenated");

  switch (buffer.kind) {
  case BufferKind::Parameter:
  case BufferKind::Constant:
  case BufferKind::Seed:
  case BufferKind::State:
  case BufferKind::Batch:
    if (buffer.argument < 0)
      raise("malformed manifest: buffer '", buffer.name,
            "' holds an argument, but names none");
    checkPart(buffer, manifest.arguments[buffer.argument]);
    break;
  case BufferKind::Microbatch:
    if (buffer.bytes != 4 && buffer.bytes != 8)
      raise("malformed manifest: buffer '", buffer.name,
            "' of microbatch numbers has ", buffer.bytes,
            " bytes, expected 4 or 8");
    break;
  default:
    if (buffer.result >= 0)
      checkPart(buffer, manifest.results[buffer.result]);
  }
  return buffer;
}

} // namespace stagewright::runtime
