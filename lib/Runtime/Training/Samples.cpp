//===- Samples.cpp - training samples in files ----------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training/Samples.h"
#include "DType.h"
#include "Files/Safetensors.h"
#include "stagewright/Runtime/Error.h"
#include "stagewright/Support/ParseNumber.h"

#include <bit>
#include <cstring>
#include <map>
#include <regex>

namespace stagewright::runtime {

namespace {

/// The header of an .npy file (NumPy Enhancement Proposal 1).
struct NpyHeader {
  sw_dtype dtype = SW_F32;
  std::vector<int64_t> shape;
  size_t offset = 0; ///< Of the first element.
};

NpyHeader parseNpy(std::span<const std::byte> bytes) {
  auto byte = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    raise("it does not begin as an .npy file does");
  bool first = byte(6) == 1;
  size_t length = byte(8) | byte(9) << 8, begin = first ? 10 : 12;
  if (!first)
    length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - begin)
    raise("its header ends after the file");
  std::string text(reinterpret_cast<const char *>(bytes.data()) + begin,
                   length);
  static const std::map<std::string, sw_dtype> types = {
      {"<f4", SW_F32}, {"<f8", SW_F64}, {"<f2", SW_F16}, {"|i1", SW_I8},
      {"<i2", SW_I16}, {"<i4", SW_I32}, {"<i8", SW_I64}, {"|u1", SW_U8},
      {"<u2", SW_U16}, {"<u4", SW_U32}, {"<u8", SW_U64}, {"|b1", SW_BOOL}};
  std::smatch found;
  NpyHeader header;
  if (!std::regex_search(text, found, std::regex("'descr': *'([^']{1,8})'")) ||
      !types.count(found[1]))
    raise("its elements have a type that no step takes");
  header.dtype = types.at(found[1]);
  if (text.find("'fortran_order': False") == std::string::npos)
    raise("it is in Fortran's order; save numpy.ascontiguousarray of it");
  if (!std::regex_search(text, found, std::regex("'shape': *\\(([0-9, ]*)\\)")))
    raise("its header has no shape");
  std::string extents = found[1];
  static const std::regex digits("[0-9]+");
  for (std::sregex_iterator it(extents.begin(), extents.end(), digits), end;
       it != end; ++it) {
    auto extent = parseNumber(it->str());
    if (!extent)
      raise("its shape is too large");
    header.shape.push_back(*extent);
  }
  header.offset = begin + length;
  auto size = tensorBytes(header.dtype, header.shape);
  if (!size || uint64_t(*size) > bytes.size() - header.offset)
    raise("it has ", bytes.size() - header.offset,
          " bytes of elements, its header says ",
          size ? std::to_string(*size) : "more than there can be");
  return header;
}

bool isInteger(sw_dtype dtype) {
  return dtype == SW_I8 || dtype == SW_I16 || dtype == SW_I32 ||
         dtype == SW_I64 || dtype == SW_U8 || dtype == SW_U16 ||
         dtype == SW_U32;
}

template <typename From, typename To>
void widen(const std::byte *from, std::byte *to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    To wide = To(value);
    std::memcpy(to + i * sizeof(To), &wide, sizeof(To));
  }
}

template <typename To>
void widenTo(sw_dtype dtype, const std::byte *from, std::byte *to,
             int64_t count) {
  switch (dtype) {
  case SW_I8:
    return widen<int8_t, To>(from, to, count);
  case SW_U8:
    return widen<uint8_t, To>(from, to, count);
  case SW_I16:
    return widen<int16_t, To>(from, to, count);
  case SW_U16:
    return widen<uint16_t, To>(from, to, count);
  case SW_I32:
    return widen<int32_t, To>(from, to, count);
  default:
    return widen<uint32_t, To>(from, to, count);
  }
}

} // namespace

SampleSource parseSampleSource(const std::string &text) {
  size_t equals = text.find('='), plus = text.rfind('+');
  SampleSource source;
  if (equals != std::string::npos) {
    source.argument = text.substr(0, equals);
    std::optional<int64_t> shift;
    if (plus != std::string::npos && plus > equals)
      shift = parseNumber(std::string_view(text).substr(plus + 1));
    source.file =
        text.substr(equals + 1, shift ? plus - equals - 1 : std::string::npos);
    source.shift = shift.value_or(0);
    constexpr std::string_view ending = ".safetensors:";
    if (size_t at = source.file.find(ending); at != std::string::npos) {
      source.tensor = source.file.substr(at + ending.size());
      source.file.resize(at + ending.size() - 1);
    }
  }
  if (source.argument.empty() || source.file.empty() || source.shift < 0)
    raise("'", text,
          "' is not of the form ARGUMENT=FILE, ARGUMENT=FILE+SHIFT or "
          "ARGUMENT=FILE.safetensors:TENSOR");
  return source;
}

/// The tensor `name`; if `name` is empty, the only tensor.
static const TensorView &
findTensor(const std::map<std::string, TensorView> &tensors,
           const std::string &name) {
  auto found = tensors.find(name);
  if (found == tensors.end() && name.empty() && tensors.size() == 1)
    found = tensors.begin();
  if (found != tensors.end())
    return found->second;
  std::string names;
  for (const auto &[other, tensor] : tensors)
    names += (names.empty() ? "'" : ", '") + other + "'";
  if (name.empty())
    raise("it has ", tensors.size(), " tensors (", names,
          "); name one as FILE.safetensors:TENSOR");
  raise("it has no tensor '", name, "', only ", names.empty() ? "none" : names);
}

SampleFile::Contents SampleFile::open(const SampleSource &source) const {
  std::span<const std::byte> bytes = file.bytes();
  if (source.file.ends_with(".npy")) {
    NpyHeader header = parseNpy(bytes);
    return {header.dtype, header.shape, bytes.data() + header.offset};
  }
  if (source.file.ends_with(".safetensors")) {
    auto tensors = parseSafetensors(bytes);
    const TensorView &it = findTensor(tensors, source.tensor);
    return {it.dtype, it.shape, it.bytes.data()};
  }
  if (source.file.ends_with(".bin"))
    return {SW_U16, {int64_t(bytes.size() / 2)}, bytes.data()};
  raise("only .npy files, .safetensors files and .bin files of 16-bit tokens "
        "are read");
}

SampleFile::SampleFile(const SampleSource &source, sw_dtype dtype,
                       std::vector<int64_t> shape)
    : file(source.file), to(dtype), shift(source.shift),
      toSize(dtypeSize(dtype)) {
  Contents header;
  try {
    header = open(source);
  } catch (const Error &error) {
    raise("'", source.file, "': ", error.what());
  }
  from = header.dtype;
  fromSize = dtypeSize(from);
  data = header.data;
  for (int64_t extent : shape)
    elements *= extent;
  bool widens =
      isInteger(from) && fromSize < toSize && (to == SW_I32 || to == SW_I64);
  if (from != to && !widens)
    raise("'", source.file, "' has elements of type ", dtypeName(from),
          ", argument '", source.argument, "' takes ", dtypeName(to));
  if (header.shape.size() == 1) {
    samples = elements > 0 && header.shape[0] > shift
                  ? (header.shape[0] - shift) / elements
                  : 0;
  } else {
    std::vector<int64_t> rest(header.shape.begin() + !header.shape.empty(),
                              header.shape.end());
    if (rest != shape || shift != 0)
      raise("'", source.file, "' has samples of shape ", printShape(rest),
            ", argument '", source.argument, "' takes ", printShape(shape),
            shift ? "; only a file of one dimension has a shift" : "");
    samples = header.shape.empty() ? 0 : header.shape[0];
  }
  if (samples < 1)
    raise("'", source.file, "' has no sample of shape ", printShape(shape),
          " for argument '", source.argument, "'");
}

void SampleFile::read(int64_t index, std::byte *out) const {
  const std::byte *begin = data + (index * elements + shift) * fromSize;
  if (from == to)
    std::memcpy(out, begin, size_t(bytes()));
  else if (to == SW_I32)
    widenTo<int32_t>(from, begin, out, elements);
  else
    widenTo<int64_t>(from, begin, out, elements);
}

/// SplitMix64's finalizer (Steele, Lea, Flood: "Fast splittable pseudorandom
/// number generators", OOPSLA 2014).
static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

int64_t permuted(int64_t place, int64_t count, uint64_t order) {
  int half = (std::bit_width(uint64_t(count - 1)) + 1) / 2;
  uint64_t mask = (uint64_t(1) << half) - 1, value = uint64_t(place);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      uint64_t next =
          left ^ (mix(mix(order + round * 0x9e3779b97f4a7c15) ^ right) & mask);
      left = right;
      right = next;
    }
    value = left << half | right;
  } while (value >= uint64_t(count));
  return int64_t(value);
}

} // namespace stagewright::runtime
