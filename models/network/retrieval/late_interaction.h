// SPDX-License-Identifier: Apache-2.0
//
// Queries and documents in late interaction (Khattab and Zaharia 2020): their markers, their
// lengths, and which of their tokens have a vector.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/config/retrieval/retrieval_settings.h"
#include "tokenizer/text_encoder.h"

namespace bert::models {

class LateInteraction {
 public:
  // max_length: of any text; asked_for: the length that the caller wants for documents, or 0.
  LateInteraction(const TokenSettings& settings, const tokenizer::TextEncoder& tokenizer,
                  const Config& config, int max_length, int asked_for);

  // A text is encoded after the prompt, in at most `limit` tokens, then finished: the marker is
  // inserted, and a query is padded.
  struct Side {
    std::string prompt;
    int limit = 0;
    std::optional<int32_t> marker;
    bool skips = false;
  };
  const Side& side(Role role) const { return role == Role::query ? query_ : document_; }
  void finish(Role role, Encoding& encoding) const;
  // Whether the token at this place of an input has a vector.
  bool keeps(Role role, int64_t place, int32_t id) const;

  const std::vector<std::string>& notes() const { return notes_; }
  bool is_mean() const { return is_mean_; }

 private:
  void find_skiplist(const TokenSettings& settings, const tokenizer::TextEncoder& tokenizer,
                     const std::string& path);

  Side query_, document_;
  int expanded_ = 0;  // the shortest length of a query; 0: none
  bool is_attended_ = false;
  int32_t filler_ = -1;
  bool has_first_, is_mean_;
  std::vector<int32_t> skiplist_;  // sorted
  std::vector<std::string> notes_;
};

}  // namespace bert::models
