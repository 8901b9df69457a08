// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/weights/stored_tensor.h"

namespace bert::models {

// Classes of storages by their names in pickles.
struct StorageType {
  std::string_view name;
  DType dtype;
};
constexpr StorageType kStorageTypes[] = {
    {"torch.DoubleStorage", DType::f64}, {"torch.FloatStorage", DType::f32},
    {"torch.HalfStorage", DType::f16},   {"torch.BFloat16Storage", DType::bf16},
    {"torch.LongStorage", DType::i64},   {"torch.IntStorage", DType::i32},
    {"torch.ShortStorage", DType::i16},  {"torch.CharStorage", DType::i8},
    {"torch.ByteStorage", DType::u8},    {"torch.BoolStorage", DType::boolean}};

struct PickleValue {
  enum class Kind {
    none,
    boolean,
    integer,
    text,
    other,  // a float or an integer of over 64 bits; text: its bytes
    tuple,
    list,
    dict,      // a dict or an OrderedDict; items: key, value, key, value, …
    function,  // or class, one of the few allowed; text: "torch.FloatStorage"
    storage,   // items: its persistent id's: 'storage', type, key, device, elements, …
    tensor,    // items: the arguments of _rebuild_tensor_v2
  };
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string_view text;  // a view of the file's bytes
  std::vector<const PickleValue*> items;

  bool is(std::string_view expected) const { return kind == Kind::text && text == expected; }
};

// Reads a pickle of protocol 2 to 5 as torch.save writes it. A pickle is a program, which this
// reader never runs: it knows the opcodes that make values and three functions, which make an
// OrderedDict, a tensor and a parameter; any other call is an error that names the function. Time
// and memory are linear in the bytes read even for hostile input: values are shared, never copied
// or traversed, and their number is limited. Errors are std::runtime_error that begin with `where`.
class Pickle {
 public:
  // Bytes may follow the pickle. The values refer to the bytes, which must outlive them.
  Pickle(std::span<const std::byte> bytes, const std::string& where);
  Pickle(Pickle&&) = default;

  const PickleValue& root() const { return *root_; }
  size_t size() const { return size_; }  // of the pickle, in bytes
  const std::vector<const PickleValue*>& storages() const { return storages_; }

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;
  std::vector<const PickleValue*> storages_;
  const PickleValue* root_ = nullptr;
  size_t size_ = 0;
};

}  // namespace bert::models
