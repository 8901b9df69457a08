// SPDX-License-Identifier: Apache-2.0
//
// A tokenised input: part of the public API, included by bert_infer.h.
#pragma once

#include <cstdint>
#include <vector>

namespace bert {

// Where a token is in its text, in Unicode scalars of the original (not bytes): [begin, end).
// {0, 0} for tokens that are not of the text: special ones, a prompt's and a chat template's.
struct Offset {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const Offset&) const = default;
};

// The tokens [begin, end) of an Encoding.
struct TokenRange {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const TokenRange&) const = default;
};

// One input as the model reads it: [CLS] first [SEP], or [CLS] first [SEP] second [SEP].
struct Encoding {
  std::vector<int32_t> ids;       // [S]
  std::vector<int32_t> type_ids;  // [S] segment of each token (token_type_ids): 0 first, 1 second
  std::vector<Offset> offsets = {};  // [S], or empty if the ids did not come from text
  bool truncated = false;            // tokens were dropped to keep to max_length
  // The tokens of each text, without special tokens; a prompt's tokens count as the first text's.
  // The second is empty for a single text, and both are if the ids did not come from text.
  TokenRange first = {}, second = {};
  // The number of trailing tokens that no token attends to, although each gets a vector: the mask
  // tokens that fill up a query for late interaction.
  int32_t unattended = 0;
};

}  // namespace bert
