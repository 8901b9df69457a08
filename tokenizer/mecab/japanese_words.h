// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tokenizer/files/definition.h"
#include "tokenizer/files/tokenizer_config.h"

namespace bert::tokenizer {

// Makes a definition cut a text into words as BertJapaneseTokenizer does with MeCab, and these into
// WordPiece's tokens or characters. Throws for its other ways, and if there is no dictionary.
void cut_japanese_words(const TokenizerConfig& config, Definition& out);

}  // namespace bert::tokenizer
