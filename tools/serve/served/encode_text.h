// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/bert_infer.h"

namespace bert::tools::serve {

enum class Side { left, right };

// What a request says of its texts.
struct EncodeOptions {
  bool truncates = true;                   // if not, what is too long is refused
  std::optional<Side> cut = {};            // where; nothing: where the tokenizer's files say
  std::optional<int64_t> second = {};      // tokens of a pair's second text that are kept, at most
  std::optional<std::string> prompt = {};  // a name; nothing: the model's default
};

struct TextToken {
  int32_t id;
  std::string text;   // the part of the text, or the name of a special token
  bool special;       // added by the template
  size_t begin, end;  // in bytes of the text with its prompt
};

// The ways from text to ids that requests may choose between.
class TextReader {
 public:
  TextReader(const std::string& directory, const bert::Model& model);

  // Throw RequestError. `field` is where the request has the ids.
  bert::Encoding encode(const bert::Input& input, const EncodeOptions& options) const;
  bert::Encoding encode_ids(const std::vector<int64_t>& ids, const std::string& field) const;
  // Without truncation.
  std::vector<TextToken> tokens(const std::string& text, const EncodeOptions& options,
                                bool with_special) const;
  std::string decode(const std::vector<int64_t>& ids, bool skips_special,
                     const std::string& field) const;
  // A text with a filled mask, without what tokenizer_config.json has cleaned up.
  std::string decode_filled(std::vector<int64_t> ids, bool skips_special) const;
  // The id of a token as the vocabulary spells it.
  std::optional<int32_t> id_of(std::string_view token) const;
  int32_t padding() const { return padding_; }  // the padding token's id; -1: none

 private:
  bool has_token(int32_t id) const;
  bert::Input prompted(const bert::Input& input, const EncodeOptions& options) const;
  std::vector<int32_t> check_ids(const std::vector<int64_t>& ids, const std::string& field) const;

  bert::Tokenizer usual_;    // the model's: with its limit and default prompt
  bert::Tokenizer limited_;  // without the prompt
  bert::Tokenizer whole_;    // with neither
  std::map<std::string, std::string> prompts_;
  std::string default_prompt_;
  int max_length_, vocabulary_;
  int32_t padding_ = -1;
  bool cleans_up_ = false, cuts_left_ = false;
  mutable std::once_flag is_listed_;
  mutable std::unordered_map<std::string_view, int32_t> ids_;  // once they are asked for
};

}  // namespace bert::tools::serve
