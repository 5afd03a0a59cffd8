//===- Body.cpp - the statements of a kernel ------------------------------===//
//
// Part of Stagewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

namespace emulator::ptx {

namespace {

using Run = BlockRunner;

/// By opcode, or by its first word.
const std::unordered_map<std::string_view, Act> acts = {
    {"mov", &Run::move},
    {"ld", &Run::access},
    {"st", &Run::access},
    {"bra", &Run::branch},
    {"ret", &Run::leave},
    {"exit", &Run::leave},
    {"membar", &Run::nothing},
    {"fence", &Run::nothing},
    {"bar.sync", &Run::barrier},
    {"barrier.sync", &Run::barrier},
    {"barrier.sync.aligned", &Run::barrier},
    {"shfl.sync.up.b32", &Run::shuffle},
    {"shfl.sync.down.b32", &Run::shuffle},
    {"shfl.sync.bfly.b32", &Run::shuffle},
    {"shfl.sync.idx.b32", &Run::shuffle},
    {"cp.async.cg.shared.global", &Run::copy},
    {"cp.async.commit_group", &Run::copy},
    {"cp.async.wait_group", &Run::copy},
    {"cp.async.wait_all", &Run::copy},
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", &Run::loadMatrices},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", &Run::loadMatrices},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", &Run::multiply},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", &Run::multiply}};

/// Special registers, as `BlockRunner::special` numbers them: those of three
/// dimensions, then the others.
constexpr std::string_view dimensional[] = {"%tid", "%ntid", "%ctaid",
                                            "%nctaid"};
constexpr std::string_view others[] = {"%laneid", "%warpid"};

int specialOf(std::string_view text) {
  for (int i = 0; i < 2; ++i)
    if (text == others[i])
      return 12 + i;
  for (int i = 0; i < 4; ++i)
    if (text.substr(0, text.size() - 2) == dimensional[i])
      return 3 * i + text.back() - 'x';
  return -1;
}

class BodyReader {
public:
  BodyReader(Kernel &kernel, int line, Symbols symbols)
      : kernel(kernel), line(line), symbols(std::move(symbols)) {
    numbers["%cc"] = kernel.registers++; // The carry of add.cc and mad.cc.
  }

  void run(std::string_view body) {
    size_t begin = 0;
    for (size_t i = 0; i < body.size(); ++i) {
      line += body[i] == '\n';
      std::string_view text = trim(body.substr(begin, i - begin));
      bool isLabel = body[i] == ':' && text.find(' ') == text.npos;
      if (isLabel)
        labels[std::string(text)] = int(kernel.code.size());
      else if (body[i] == ';' && !text.empty())
        statement(text);
      // A bracket that begins or ends a scope is not part of a statement.
      bool isScope = (body[i] == '{' || body[i] == '}') && text.empty();
      if (isLabel || body[i] == ';' || isScope)
        begin = i + 1;
    }
    if (auto rest = trim(body.substr(begin)); !rest.empty())
      fail("a statement without an end", rest);
    for (auto &[number, label] : branches) {
      auto found = labels.find(label);
      if (found == labels.end())
        fail("a label that is nowhere", label);
      kernel.code[size_t(number)].target = found->second;
    }
    // Dynamic shared memory follows the arrays that the kernel declares.
    kernel.shared = (kernel.shared + 15) / 16 * 16;
    for (int constant : dynamicUses)
      kernel.constants[size_t(constant)].fill(uint64_t(kernel.shared));
  }

private:
  void statement(std::string_view text) {
    if (text.starts_with(".reg"))
      return registers(text);
    if (text.starts_with(".shared") || text.starts_with(".local"))
      return array(text);
    if (text.starts_with(".pragma")) // A hint to the assembler.
      return;
    if (text.front() == '.')
      fail("a directive that is not known", text);
    Instruction it;
    it.text = text;
    it.line = line;
    if (text.front() == '@') {
      size_t end = text.find_first_of(" \t");
      it.guard = operand(text.substr(1, end - 1));
      text = trim(text.substr(end));
    }
    size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    for (std::string_view word : split(text.substr(0, end), '.'))
      it.words.emplace_back(word);
    std::string_view rest = trim(text.substr(end));
    classify(it, text.substr(0, end));
    if (it.act == &Run::branch)
      branches.emplace_back(kernel.code.size(), rest);
    else
      for (std::string_view part : split(rest, ','))
        it.operands.push_back(operand(part));
    if (it.words[0] == "madc")
      it.operands.push_back(operand("%cc"));
    if (it.has("cc")) { // Two instructions: the carry, then the result.
      std::erase(it.words, "cc");
      Instruction carry = it;
      carry.operands[0] = operand("%cc");
      carry.words[1] = "carry";
      for (Instruction *each : {&carry, &it})
        each->handler = require(handlerOf(each->words), it.text);
      kernel.code.push_back(std::move(carry));
    }
    kernel.code.push_back(std::move(it));
  }

  void classify(Instruction &it, std::string_view opcode) {
    auto act = acts.find(opcode);
    if (act == acts.end())
      act = acts.find(it.words[0]);
    it.act = act == acts.end() ? &Run::compute : act->second;
    constexpr std::string_view spaces[] = {"global", "shared", "local",
                                           "param"};
    for (int i = 0; i < 4; ++i)
      if (it.has(spaces[i]))
        it.space = Space(i + 1);
    it.loads = it.words[0] == "ld";
    it.vector = it.has("v2") ? 2 : it.has("v4") ? 4 : it.has("v8") ? 8 : 1;
    it.bytes = int(bytesOf(it.words.back()));
    it.isSigned = it.words.back().front() == 's';
    if (it.act == &Run::compute && !it.has("cc"))
      it.handler = require(handlerOf(it.words), it.text);
  }

  Handler require(Handler handler, std::string_view text) const {
    if (!handler)
      fail("an instruction that is not known", text);
    return handler;
  }

  /// Declares registers: `.reg .b32 %r<22>`
  void registers(std::string_view text) {
    for (std::string_view name : split(text.substr(text.find('%')), ',')) {
      size_t open = name.find('<');
      std::string first(name.substr(0, open));
      if (open == name.npos)
        numbers[first] = kernel.registers++;
      for (int i = 0; open != name.npos &&
                      i < std::stoi(std::string(name.substr(open + 1)));
           ++i)
        numbers[first + std::to_string(i)] = kernel.registers++;
    }
  }

  /// Declares an array: `.local .align 8 .b8 depot[16]`
  void array(std::string_view text) {
    size_t open = text.find('['), name = text.rfind(' ', open) + 1;
    std::vector<std::string_view> words = split(text.substr(0, open), ' ');
    int64_t bytes = std::stol(std::string(text.substr(open + 1))) *
                    bytesOf(words[words.size() - 2]);
    bool shared = text.starts_with(".shared");
    int64_t &used = shared ? kernel.shared : kernel.local;
    used = (used + 15) / 16 * 16;
    symbols[std::string(text.substr(name, open - name))] =
        used + (shared ? 0 : int64_t(localWindow));
    used += bytes;
  }

  Operand operand(std::string_view text) {
    Operand it;
    if (text == "_")
      return it;
    if (text.front() == '[')
      return address(trim(text.substr(1, text.size() - 2)));
    if (size_t bar = text.find('|'); bar != text.npos)
      return operand(trim(text.substr(0, bar))); // The other is not computed.
    if (text.front() == '!') {
      it = operand(trim(text.substr(1)));
      it.inverted = true;
    } else if (text.front() == '{') {
      it.kind = Operand::Vector;
      for (std::string_view part : split(text.substr(1, text.size() - 2), ','))
        it.parts.push_back(operand(part));
    } else if ((it.number = specialOf(text)) >= 0) {
      it.kind = Operand::Special;
    } else {
      bool isRegister = text.front() == '%';
      it.kind = isRegister ? Operand::Register : Operand::Constant;
      it.number = isRegister ? numberOf(text) : constantOf(text);
    }
    return it;
  }

  /// `%rd1+8`, or the name of a parameter or an array.
  Operand address(std::string_view text) {
    Operand it;
    it.kind = Operand::Address;
    size_t sign = text.find_first_of("+-", 1);
    if (sign != text.npos)
      it.offset =
          std::stol(std::string(text.substr(sign + (text[sign] == '+'))));
    std::string_view base = trim(text.substr(0, sign));
    for (const Parameter &parameter : kernel.parameters)
      if (parameter.name == base) {
        it.offset += parameter.offset;
        return it;
      }
    it.parts.push_back(operand(base));
    return it;
  }

  int numberOf(std::string_view name) {
    auto found = numbers.find(std::string(name));
    if (found == numbers.end())
      fail("a register that is not declared", name);
    return found->second;
  }

  /// Adds a constant: a number or the address of an array.
  int constantOf(std::string_view text) {
    int number = int(kernel.constants.size());
    kernel.constants.emplace_back();
    std::optional<uint64_t> value = numberIn(text);
    if (auto it = symbols.find(std::string(text)); it != symbols.end()) {
      value = uint64_t(it->second);
      if (it->second == dynamicShared)
        dynamicUses.push_back(number);
    }
    if (!value)
      fail("a name that is not known", text);
    kernel.constants.back().fill(*value);
    return number;
  }

  [[noreturn]] void fail(const char *what, std::string_view where) const {
    throw Unknown("kernel '" + kernel.name + "', line " + std::to_string(line) +
                  ": " + what + ": '" + std::string(where) + "'");
  }

  Kernel &kernel;
  int line;
  std::unordered_map<std::string, int> numbers, labels;
  Symbols symbols;
  std::vector<std::pair<int64_t, std::string>> branches;
  std::vector<int> dynamicUses; ///< constants that are its address
};

} // namespace

void readBody(Kernel &kernel, std::string_view body, int line,
              Symbols symbols) {
  BodyReader(kernel, line, std::move(symbols)).run(body);
}

} // namespace emulator::ptx
