// SPDX-License-Identifier: Apache-2.0
#include "models/weights/pytorch/pickle.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include <fmt/format.h>

namespace bert::models {
namespace {

using Kind = PickleValue::Kind;

// Far above the largest encoder's pickle: a tensor takes about 25 opcodes.
constexpr size_t kMaxPickleValues = 1 << 20, kMaxPickleOpcodes = 1 << 23;

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kFunctions[] = {kOrderedDict, kTensor, kParameter};

// Named as in Python's pickletools.
enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kBinFloat = 'G',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

std::string printable(std::string_view text) {
  std::string shown(text.substr(0, 100));
  std::ranges::replace_if(
      shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace

class PickleReader {
 public:
  PickleReader(std::span<const std::byte> bytes, const std::string& where, Pickle& to)
      : bytes_(bytes), where_(where), to_(to) {}

  void read() {
    for (size_t opcodes = 0;; ++opcodes) {
      if (opcodes == kMaxPickleOpcodes) {
        fail(fmt::format("the pickle has over {} opcodes", kMaxPickleOpcodes));
      }
      opcode_at_ = at_;
      const auto opcode = static_cast<uint8_t>(number(1));
      if (opcode == kStop) break;
      if (!scalar(opcode) && !container(opcode) && !memo(opcode) && !call(opcode)) {
        fail(fmt::format("unsupported pickle opcode {:#04x}", opcode));
      }
    }
    to_.root_ = pop();
    if (!stack_.empty() || !marks_.empty()) fail("the pickle ends with more than one value");
    to_.size_ = at_;
  }

 private:
  using Items = std::vector<const PickleValue*>;

  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(
        fmt::format("{}: {} (at byte {} of the pickle)", where_, reason, opcode_at_));
  }

  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) fail("the pickle is truncated");
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += size;
    return {from, size};
  }

  uint64_t number(size_t size) {  // little-endian
    uint64_t value = 0;
    std::memcpy(&value, take(size).data(), size);
    return value;
  }

  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_,
                                std::min<size_t>(bytes_.size() - at_, 4096));
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) fail("a name in the pickle has no end");
    at_ += end + 1;
    return rest.substr(0, end);
  }

  PickleValue& push(Kind kind, Items items = {}) {
    if (to_.values_.size() == kMaxPickleValues) {
      fail(fmt::format("the pickle has over {} values", kMaxPickleValues));
    }
    PickleValue& value = to_.values_.emplace_back();
    value.kind = kind;
    value.items = std::move(items);
    stack_.push_back(&value);
    return value;
  }
  void push_integer(int64_t integer) { push(Kind::integer).integer = integer; }
  void push_text(std::string_view text) { push(Kind::text).text = text; }

  PickleValue* pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("the pickle's stack is empty");
    PickleValue* top = stack_.back();
    stack_.pop_back();
    return top;
  }

  PickleValue* pop(Kind kind, const char* expected) {
    PickleValue* top = pop();
    if (top->kind != kind)
      fail(fmt::format("expected a {} in the pickle, found another value", expected));
    return top;
  }

  Items pop_items(size_t count) {
    Items items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  Items pop_to_mark() {
    if (marks_.empty()) fail("a mark is missing in the pickle");
    Items items = pop_items(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  // Each of these four returns false if the opcode is not of its kind.
  bool scalar(uint8_t opcode) {
    switch (opcode) {
      case kNone:
        return push(Kind::none), true;
      case kNewTrue:
      case kNewFalse:
        push(Kind::boolean).integer = opcode == kNewTrue;
        return true;
      case kBinInt:
        return push_integer(static_cast<int32_t>(number(4))), true;
      case kBinInt1:
        return push_integer(static_cast<int64_t>(number(1))), true;
      case kBinInt2:
        return push_integer(static_cast<int64_t>(number(2))), true;
      case kLong1:
        return push_long(), true;
      case kBinFloat:
        push(Kind::other).text = take(8);
        return true;
      case kBinUnicode:
      case kBinString:
        return push_text(take(number(4))), true;
      case kShortBinUnicode:
      case kShortBinString:
        return push_text(take(number(1))), true;
      default:
        return false;
    }
  }

  void push_long() {
    const std::string_view bytes = take(number(1));
    if (bytes.size() > 8) {
      push(Kind::other).text = bytes;
      return;
    }
    uint64_t value = !bytes.empty() && static_cast<uint8_t>(bytes.back()) >= 128 ? ~uint64_t{0} : 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    push_integer(static_cast<int64_t>(value));
  }

  bool container(uint8_t opcode) {
    switch (opcode) {
      case kMark:
        if (marks_.size() == kMaxPickleValues) fail("the pickle has too many marks");
        return marks_.push_back(stack_.size()), true;
      case kEmptyTuple:
        return push(Kind::tuple), true;
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return push(Kind::tuple, pop_items(opcode - kTuple1 + 1u)), true;
      case kTuple:
        return push(Kind::tuple, pop_to_mark()), true;
      case kEmptyList:
        return push(Kind::list), true;
      case kEmptyDict:
        return push(Kind::dict), true;
      case kAppend:
        return add(Kind::list, pop_items(1)), true;
      case kAppends:
        return add(Kind::list, pop_to_mark()), true;
      case kSetItem:
        return add(Kind::dict, pop_items(2)), true;
      case kSetItems:
        return add(Kind::dict, pop_to_mark()), true;
      default:
        return false;
    }
  }

  void add(Kind kind, const Items& items) {
    PickleValue* to = pop(kind, kind == Kind::dict ? "dict" : "list");
    if (kind == Kind::dict && items.size() % 2 != 0) fail("the pickle has a key without a value");
    to->items.insert(to->items.end(), items.begin(), items.end());
    stack_.push_back(to);
  }

  bool memo(uint8_t opcode) {
    switch (opcode) {
      case kBinPut:
        return put(number(1)), true;
      case kLongBinPut:
        return put(number(4)), true;
      case kMemoize:
        return put(memo_.size()), true;
      case kBinGet:
        return get(number(1)), true;
      case kLongBinGet:
        return get(number(4)), true;
      default:
        return false;
    }
  }

  void put(uint64_t index) {
    if (memo_.size() == kMaxPickleValues) fail("the pickle's memo is too large");
    PickleValue* top = pop();
    stack_.push_back(top);
    memo_[index] = top;
  }

  void get(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail(fmt::format("the pickle's memo has no value {}", index));
    stack_.push_back(found->second);
  }

  bool call(uint8_t opcode) {
    switch (opcode) {
      case kProto:
        if (const uint64_t version = number(1); version < 2 || version > 5) {
          fail(fmt::format("unsupported pickle protocol {}, expected 2 to 5", version));
        }
        return true;
      case kFrame:
        return number(8), true;
      case kGlobal: {
        const std::string_view module = line();
        return push_function(module, line()), true;
      }
      case kStackGlobal: {
        const std::string_view name = pop(Kind::text, "name")->text;
        return push_function(pop(Kind::text, "module")->text, name), true;
      }
      case kBinPersId:
        return push_storage(), true;
      case kReduce:
        return reduce(), true;
      case kBuild:
        return build(), true;
      default:
        return false;
    }
  }

  void push_function(std::string_view module, std::string_view name) {
    const std::string full = fmt::format("{}.{}", module, name);
    const auto* function = std::ranges::find(kFunctions, full);
    const auto* type = std::ranges::find(kStorageTypes, full, &StorageType::name);
    const bool is_type = type != std::end(kStorageTypes);
    if (!is_type && function == std::end(kFunctions)) {
      fail(fmt::format("the pickle calls '{}', expected nothing but tensors", printable(full)));
    }
    push(Kind::function).text = is_type ? type->name : *function;
  }

  void push_storage() {
    const Items id = pop(Kind::tuple, "tuple")->items;
    const bool good = (id.size() == 5 || id.size() == 6) && id[0]->is("storage") &&
                      id[1]->kind == Kind::function && id[1]->text.ends_with("Storage") &&
                      id[2]->kind == Kind::text && id[4]->kind == Kind::integer &&
                      (id.size() == 5 || id[5]->kind == Kind::none);
    if (!good) fail("a persistent id in the pickle is not a whole storage of a known type");
    to_.storages_.push_back(&push(Kind::storage, id));
  }

  void reduce() {
    const PickleValue& arguments = *pop(Kind::tuple, "tuple");
    const PickleValue& function = *pop(Kind::function, "function");
    const size_t count = arguments.items.size();
    if (function.text == kOrderedDict && count == 0) {
      push(Kind::dict);
    } else if (function.text == kTensor && (count == 6 || count == 7)) {
      push(Kind::tensor, arguments.items);
    } else if (function.text == kParameter && count == 3 &&
               arguments.items[0]->kind == Kind::tensor) {
      push(Kind::tensor, arguments.items[0]->items);
    } else {
      fail(fmt::format("the pickle calls '{}' with {} arguments, which is not supported",
                       function.text, count));
    }
  }

  // A state dict's only attribute is _metadata, the versions of its modules. It is ignored.
  void build() {
    const PickleValue& state = *pop(Kind::dict, "dict");
    PickleValue* to = pop(Kind::dict, "dict");
    if (state.items.size() != 2 || !state.items[0]->is("_metadata")) {
      fail("the pickle sets attributes other than '_metadata'");
    }
    stack_.push_back(to);
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  Pickle& to_;
  size_t at_ = 0, opcode_at_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;  // the stack's size at each mark
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

Pickle::Pickle(std::span<const std::byte> bytes, const std::string& where) {
  PickleReader(bytes, where, *this).read();
}

}  // namespace bert::models
