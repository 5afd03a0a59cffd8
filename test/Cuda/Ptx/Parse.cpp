//===- Parse.cpp - PTX parsed into instructions ---------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

namespace {

std::string_view trim(std::string_view text) {
  constexpr char blanks[] = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// The nonempty parts of `text`; does not split inside brackets.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    char it = i < text.size() ? text[i] : separator;
    depth += (it == '{' || it == '[' || it == '(');
    depth -= (it == '}' || it == ']' || it == ')');
    if (it != separator || depth > 0)
      continue;
    if (auto part = trim(text.substr(begin, i - begin)); !part.empty())
      parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

/// The size of a PTX type: 4 for ".b32", 1 for ".pred".
int64_t bytesOf(std::string_view type) {
  size_t digits = type.find_first_of("123456789");
  std::string bits(digits < type.size() ? type.substr(digits) : "8");
  return std::max(std::stol(bits) / 8, 1L);
}

/// The bits of a number, such as 3, -1 or 0f3F800000; 1 for `true` and 0 for
/// `false`; none for other text.
std::optional<uint64_t> numberIn(std::string_view text) {
  std::string digits(text);
  if (text == "true" || text == "false")
    return text == "true";
  if (text.starts_with("0f") || text.starts_with("0d"))
    return std::stoull(digits.substr(2), nullptr, 16);
  if (std::isdigit(text.front()) || text.front() == '-')
    return std::stoull(digits, nullptr, 0);
  return std::nullopt;
}

/// The text without comments, with the line ends of `//` comments.
std::string withoutComments(std::string_view text) {
  std::string kept;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string_view two = text.substr(i, 2);
    if (two == "//")
      i = std::min(text.find('\n', i), text.size());
    if (two != "/*") {
      if (i < text.size())
        kept += text[i];
      continue;
    }
    size_t end = std::min(text.find("*/", i), text.size());
    kept += ' ';
    kept.append(size_t(std::count(text.begin() + i, text.begin() + end, '\n')),
                '\n');
    i = end + 1;
  }
  return kept;
}

/// What instructions other than computations do, by opcode or its first word.
const std::vector<std::pair<Act, std::vector<std::string_view>>> acts = {
    {&Warp::move, {"mov"}},
    {&Warp::access, {"ld", "st"}},
    {&Warp::branch, {"bra"}},
    {&Warp::leave, {"ret", "exit"}},
    {&Warp::nothing, {"membar", "fence"}},
    {&Warp::barrier, {"bar.sync", "barrier.sync", "barrier.sync.aligned"}},
    {&Warp::shuffle,
     {"shfl.sync.up.b32", "shfl.sync.down.b32", "shfl.sync.bfly.b32",
      "shfl.sync.idx.b32"}},
    {&Warp::copy, {"cp.async.cg.shared.global"}},
    {&Warp::commitCopies, {"cp.async.commit_group"}},
    {&Warp::awaitCopies, {"cp.async.wait_group", "cp.async.wait_all"}},
    {&Warp::loadMatrices,
     {"ldmatrix.sync.aligned.m8n8.x4.shared.b16",
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}},
    {&Warp::multiply,
     {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}}};

Act actOf(std::string_view opcode) {
  for (auto &[act, opcodes] : acts)
    for (std::string_view it : opcodes)
      if (it == opcode || it == opcode.substr(0, opcode.find('.')))
        return act;
  return &Warp::compute;
}

class Reader {
public:
  Reader(std::string_view source, Memory &memory, int device)
      : text(withoutComments(source)), memory(memory), device(device) {}

  Module run() {
    std::string_view rest = text;
    for (size_t end = 0;
         (end = rest.find_first_of("\n:;{}", end)) < rest.npos;) {
      line += rest[end] == '\n';
      bool isRead = read(trim(rest.substr(0, end)), rest[end]);
      rest.remove_prefix(isRead ? end + 1 : 0);
      end = isRead ? 0 : end + 1;
    }
    rest = trim(rest);
    require(depth == 0 && rest.empty(), "a statement without an end",
            rest.substr(0, rest.find('\n')));
    return std::move(module);
  }

private:
  /// Reads the text before the character `end`; false if the statement that it
  /// begins goes on after that character.
  bool read(std::string_view text, char end) {
    bool isEntry = text.find(".entry ") != text.npos;
    if (end == '\n')
      return text.starts_with(".version") || text.starts_with(".target") ||
             text.starts_with(".address_size");
    if (end == ':' && text.find(' ') == text.npos)
      names.labels[std::string(text)] = kernel.code.size();
    else if (end == '{' && isEntry)
      begin(text);
    else if (end == ';' && !text.empty())
      statement(text);
    else if (!text.empty() || std::string_view(";{}").find(end) == text.npos)
      return false;
    if (end == '}' && depth == 1)
      finish();
    depth += (end == '{') - (end == '}');
    return true;
  }

  /// Begins a kernel: `.entry name(.param .u64 a) .maxntid 128, 1, 1`
  void begin(std::string_view text) {
    text = text.substr(text.find(".entry ") + 7);
    size_t open = text.find('('), close = text.find(')');
    require(close != text.npos, "a kernel without parameters", text);
    kernel = {};
    kernel.name = trim(text.substr(0, open));
    names = {};
    names.symbols = symbols;
    for (std::string_view name : builtins)
      names.registers[std::string(name)] = kernel.registers++;
    for (const std::string &name : dynamicArrays)
      names.registers[name] = names.registers["%dynamic"];
    for (auto it : split(text.substr(open + 1, close - open - 1), ',')) {
      auto words = split(it, ' ');
      require(words.size() >= 3 && !words.back().ends_with(']'),
              "a parameter that is not known", it);
      names.symbols[std::string(words.back())] =
          int64_t(kernel.parameters.size()) * parameterStride;
      kernel.parameters.push_back(bytesOf(words[1]));
    }
    for (auto it : split(text.substr(close + 1), '\n')) {
      auto directive = it.substr(0, it.find(' '));
      auto values = split(it.substr(directive.size()), ',');
      if (directive == ".maxntid" || directive == ".reqntid")
        for (size_t i = 0; i < values.size() && i < 3; ++i)
          kernel.most[i] = int(count(values[i]));
      else
        require(directive == ".minnctapersm" || directive == ".maxnreg",
                "a directive that is not known", directive);
    }
  }

  void finish() {
    instruction("ret"); // A kernel also ends after its last instruction.
    for (auto &[from, label] : names.branches)
      kernel.code[from].target =
          find(names.labels, label, "a label that is nowhere");
    // Dynamic shared memory follows the arrays that the kernel declares.
    kernel.shared = (kernel.shared + 15) / 16 * 16;
    module.kernels.emplace(kernel.name, std::move(kernel));
  }

  void statement(std::string_view text) {
    if (text.starts_with(".visible"))
      text = trim(text.substr(text.find(' ')));
    for (const char *space : {".extern", ".global", ".shared", ".local"})
      if (text.starts_with(space))
        return array(text);
    require(depth > 0, "a declaration that is not known", text);
    if (text.starts_with(".reg"))
      return registers(text);
    if (text.starts_with(".pragma")) // A hint to the assembler.
      return;
    require(text.front() != '.', "a directive that is not known", text);
    instruction(text);
  }

  void instruction(std::string_view text) {
    Instruction it;
    it.text = text;
    it.line = line;
    if (text.front() == '@') {
      size_t end = text.find_first_of(" \t");
      it.isInverted = text[1] == '!';
      it.guard =
          operand(text.substr(1 + it.isInverted, end - 1 - it.isInverted));
      text = trim(text.substr(end));
    }
    size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    for (auto word : split(text.substr(0, end), '.'))
      it.words.emplace_back(word);
    it.act = actOf(text.substr(0, end));
    constexpr const char *spaces[] = {"global", "shared", "local", "param"};
    for (int i = 0; i < 4; ++i)
      if (it.has(spaces[i]))
        it.space = Space(i + 1);
    it.loads = it.words[0] == "ld";
    it.vector = it.has("v2") ? 2 : it.has("v4") ? 4 : it.has("v8") ? 8 : 1;
    it.bytes = int(bytesOf(it.words.back()));
    it.isSigned = it.words.back().front() == 's';
    bool carries = std::erase(it.words, "cc");
    requireHandler(it);
    std::string_view rest = trim(text.substr(end));
    if (it.act == &Warp::branch)
      names.branches.emplace_back(kernel.code.size(), rest);
    else
      for (auto part : split(rest, ','))
        it.operands.push_back(operand(part));
    if (it.words[0] == "madc")
      it.operands.push_back(operand("%cc"));
    if (carries) { // Two instructions: the carry, then the result.
      Instruction &carry = kernel.code.emplace_back(it);
      carry.operands[0] = operand("%cc");
      carry.words[1] = "carry";
      requireHandler(carry);
    }
    kernel.code.push_back(std::move(it));
  }

  void requireHandler(Instruction &it) const {
    it.handler = handlerOf(it.words);
    require(it.act != &Warp::compute || it.handler,
            "an instruction that is not known", it.text);
  }

  /// Declares registers: `.reg .b32 %r<22>`
  void registers(std::string_view text) {
    for (auto name : split(text.substr(text.find('%')), ',')) {
      size_t open = name.find('<');
      std::string first(name.substr(0, open));
      if (open == name.npos)
        names.registers[first] = kernel.registers++;
      else
        for (int64_t i = 0; i < count(name.substr(open + 1)); ++i)
          names.registers[first + std::to_string(i)] = kernel.registers++;
    }
  }

  /// Declares an array: `.local .align 8 .b8 depot[16]`. The array of dynamic
  /// shared memory is external; a table is in device memory and has values.
  void array(std::string_view text) {
    size_t open = text.find('[');
    auto words = split(text.substr(0, open), ' ');
    std::string name(words.back());
    if (words[0] == ".extern") {
      require(depth == 0 && words[1] == ".shared" && text.ends_with("[]"),
              "an external array that is not shared", text);
      return dynamicArrays.push_back(name);
    }
    size_t values = text.find('{');
    bool isTable = words[0] == ".global", isShared = words[0] == ".shared";
    require(open != text.npos && isTable == (values != text.npos),
            "an array that is not known", text);
    int64_t &symbol = (depth > 0 ? names.symbols : symbols)[name];
    int64_t size = bytesOf(words.end()[-2]);
    int64_t bytes = size * count(text.substr(open + 1));
    if (isTable) {
      symbol = int64_t(memory.allocate(bytes, device));
      return fill(size, bytes, text.substr(values, text.rfind('}') - values),
                  memory.at(uint64_t(symbol), bytes, "allocates"));
    }
    int64_t &used = isShared ? kernel.shared : kernel.local;
    used = (used + 15) / 16 * 16;
    symbol = used + (isShared ? 0 : int64_t(localWindow));
    used += bytes;
  }

  /// Writes a table: values, each of `size` bytes, then zeros.
  void fill(int64_t size, int64_t bytes, std::string_view values, Place to) {
    to.fill(bytes, 0, 1);
    for (auto it : split(values.substr(1), ',')) {
      std::optional<uint64_t> value = numberIn(it);
      require(value && (bytes -= size) >= 0, "an element that is not known",
              it);
      std::memcpy(to.bytes, &*value, size_t(size));
      to.bytes += size;
    }
  }

  Operand operand(std::string_view text) {
    Operand it;
    if (text.front() == '[')
      return address(trim(text.substr(1, text.size() - 2)));
    if (size_t bar = text.find('|'); bar != text.npos)
      return operand(trim(text.substr(0, bar))); // The other is not computed.
    if (text.front() == '{') {
      it.kind = Operand::Vector;
      for (auto part : split(text.substr(1, text.size() - 2), ','))
        it.parts.push_back(operand(part));
      return it;
    }
    if (text.front() == '%' || names.registers.contains(std::string(text)))
      return {Operand::Register,
              find(names.registers, text, "a register that is not declared")};
    return {Operand::Constant, constant(text)};
  }

  /// `%rd1+8`, or the name of a parameter or an array.
  Operand address(std::string_view text) {
    size_t sign = text.find_first_of("+-", 1);
    Operand it = operand(trim(text.substr(0, sign)));
    if (sign != text.npos)
      it.offset = count(text.substr(sign + (text[sign] == '+')));
    return it;
  }

  /// Adds a constant: a number, the offset of a parameter or the address of an
  /// array.
  size_t constant(std::string_view text) {
    std::optional<uint64_t> value = numberIn(text);
    if (!value)
      value = uint64_t(find(names.symbols, text, "a name that is not known"));
    kernel.constants.emplace_back().fill(*value);
    return kernel.constants.size() - 1;
  }

  int64_t count(std::string_view text) const {
    std::optional<uint64_t> value = numberIn(text);
    require(value.has_value(), "a number that is not known", text);
    return int64_t(*value);
  }

  template <typename T>
  T find(const std::unordered_map<std::string, T> &map, std::string_view name,
         const char *otherwise) const {
    auto found = map.find(std::string(name));
    require(found != map.end(), otherwise, name);
    return found->second;
  }

  /// Throws `Unknown` unless the condition holds.
  void require(bool holds, const char *what, std::string_view where) const {
    if (!holds)
      throw Unknown((depth > 0 ? "kernel '" + kernel.name + "', " : "") +
                    emulator::text("line %d: %s: '%.*s'", line, what,
                                   int(where.size()), where.data()));
  }

  std::string text;
  Memory &memory;
  int device, line = 1, depth = 0; ///< of brackets
  Module module;
  Kernel kernel;
  /// Addresses of arrays in the module or in the current kernel, and offsets of
  /// the kernel's parameters.
  using Symbols = std::unordered_map<std::string, int64_t>;
  Symbols symbols;
  std::vector<std::string> dynamicArrays; ///< all at the same address
  struct {
    Symbols symbols;
    std::unordered_map<std::string, size_t> registers, labels;
    std::vector<std::pair<size_t, std::string>> branches;
  } names; ///< of the current kernel
};

} // namespace

Module parse(std::string_view text, Memory &memory, int device) {
  return Reader(text, memory, device).run();
}

} // namespace emulator::ptx
