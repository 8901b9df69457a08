// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bert::tokenizer {

// A SentencePiece model of type Unigram, as in its file.
struct SentencePieceModel {
  // Numbered as in SentencePiece's ModelProto.
  enum Type { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
  struct Piece {
    std::string text;
    float score;
    int type;
  };
  std::vector<Piece> pieces;  // by id
  int32_t unknown = 0;
  std::string charsmap;  // empty: none
};

// Throws if the file is not such a model, or is of another type: BPE, word, char.
SentencePieceModel read_sentence_piece(const std::string& path);

}  // namespace bert::tokenizer
