//===- Safetensors.cpp - reading and writing safetensors files ------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files/Safetensors.h"

#include "DType.h"
#include "stagewright/Runtime/Error.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace stagewright::runtime {

using json = nlohmann::json;

namespace {

constexpr uint64_t lengthBytes = 8;
constexpr uint64_t headerLimit = 100'000'000; // limit of the reference reader

TensorView parseTensor(const std::string &name, const json &entry,
                       std::span<const std::byte> data) {
  TensorView tensor;
  auto dtype = dtypeFromName(entry.at("dtype").get<std::string>(), true);
  if (!dtype)
    raise("tensor '", name, "' has the unknown type ",
          entry.at("dtype").get<std::string>());
  tensor.dtype = *dtype;
  for (const json &extent : entry.at("shape")) {
    if (!extent.is_number_unsigned())
      raise("tensor '", name, "' has an extent that is not a size");
    tensor.shape.push_back(extent.get<int64_t>());
  }
  const json &offsets = entry.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    raise("tensor '", name, "' has no pair of offsets");
  auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > data.size())
    raise("tensor '", name, "' lies at bytes ", begin, " to ", end,
          ", but the file holds ", data.size(), " bytes of tensors");
  auto bytes = tensorBytes(tensor.dtype, tensor.shape);
  if (!bytes || uint64_t(*bytes) != end - begin)
    raise("tensor '", name, "' of shape ", printShape(tensor.shape), " has ",
          end - begin, " bytes");
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

/// The format forbids holes and overlaps. Bytes that two tensors share, or that
/// no tensor has, mean that the file is corrupt.
void requireNoOverlap(const std::map<std::string, TensorView> &tensors,
                      std::span<const std::byte> data) {
  std::vector<const TensorView *> order;
  for (auto &[name, tensor] : tensors)
    if (!tensor.bytes.empty())
      order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](auto *a, auto *b) { return a->bytes.data() < b->bytes.data(); });
  const std::byte *end = data.data();
  for (const TensorView *tensor : order) {
    if (tensor->bytes.data() != end)
      raise("tensors overlap or leave a hole at byte ",
            std::min(end, tensor->bytes.data()) - data.data());
    end = tensor->bytes.data() + tensor->bytes.size();
  }
  if (end != data.data() + data.size())
    raise("the tensors end at byte ", end - data.data(),
          ", but the file holds ", data.size(), " bytes of tensors");
}

} // namespace

std::map<std::string, TensorView>
parseSafetensors(std::span<const std::byte> file) {
  uint64_t length = 0;
  if (file.size() < lengthBytes)
    raise("not a safetensors file: it has ", file.size(), " bytes");
  std::memcpy(&length, file.data(), lengthBytes);
  if (length > headerLimit && length <= file.size() - lengthBytes)
    raise("its header has ", length, " bytes, but safetensors allows ",
          headerLimit);
  if (length > file.size() - lengthBytes)
    raise("not a safetensors file, or a truncated one: its header should have ",
          length, " bytes, but ", file.size() - lengthBytes, " follow");
  std::string_view header(
      reinterpret_cast<const char *>(file.data()) + lengthBytes, length);
  auto data = file.subspan(lengthBytes + length);

  std::map<std::string, TensorView> tensors;
  try {
    json root = json::parse(header);
    if (!root.is_object())
      raise("not a safetensors file: its header is not a JSON object");
    for (auto &[name, entry] : root.items())
      if (name != "__metadata__")
        tensors.emplace(name, parseTensor(name, entry, data));
  } catch (const json::exception &error) {
    raise("not a safetensors file: ", error.what());
  }
  requireNoOverlap(tensors, data);
  return tensors;
}

int64_t TensorType::bytes() const {
  std::optional<int64_t> bytes = tensorBytes(dtype, shape);
  if (!bytes)
    raise("a tensor of shape ", printShape(shape), " is too large for a file");
  return *bytes;
}

std::vector<std::byte>
safetensorsHeader(const std::map<std::string, TensorType> &tensors) {
  json entries = json::object();
  int64_t offset = 0;
  for (auto &[name, tensor] : tensors) {
    int64_t end = offset + tensor.bytes();
    entries[name] = {{"dtype", dtypeUpperName(tensor.dtype)},
                     {"shape", tensor.shape},
                     {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = entries.dump();
  text.resize((text.size() + 7) / 8 * 8, ' '); // aligns the tensors to 8 bytes
  uint64_t length = text.size();
  std::vector<std::byte> header(lengthBytes + length);
  std::memcpy(header.data(), &length, lengthBytes);
  std::memcpy(header.data() + lengthBytes, text.data(), length);
  return header;
}

} // namespace stagewright::runtime
