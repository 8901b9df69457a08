// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bert::models {

// What a pickle of tensors holds.
struct PickleValue {
  enum class Kind {
    none,
    boolean,
    integer,
    text,
    other,  // a float or a long integer; text: its bytes
    tuple,
    list,
    dict,      // a dict or an OrderedDict; items: key, value, key, value, …
    function,  // one of the few that are known; text: "torch.FloatStorage"
    storage,   // items: those of its persistent id, ('storage', type, key, place, elements, …)
    tensor,    // items: the arguments of _rebuild_tensor_v2
  };
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string_view text;  // in the file's bytes
  std::vector<const PickleValue*> items;

  bool is(std::string_view expected) const { return kind == Kind::text && text == expected; }
};

// Reads a pickle as torch.save writes one, of protocols 2 to 5. A pickle is a program: this reader
// runs none of it. It knows the opcodes that make values, and three functions, for an OrderedDict,
// a tensor and a parameter; whatever else is called is refused by name. Time and memory grow with
// the bytes read, whatever they are: values are shared, never copied or walked, and there are
// limits on their number. Errors are std::runtime_error that begin with `where`.
class Pickle {
 public:
  // Of the bytes those up to the pickle's end are read. Values refer to them.
  Pickle(std::span<const std::byte> bytes, const std::string& where);
  Pickle(Pickle&&) = default;

  const PickleValue& root() const { return *root_; }
  size_t size() const { return size_; }  // bytes that it takes
  const std::vector<const PickleValue*>& storages() const { return storages_; }

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;
  std::vector<const PickleValue*> storages_;
  const PickleValue* root_ = nullptr;
  size_t size_ = 0;
};

}  // namespace bert::models
