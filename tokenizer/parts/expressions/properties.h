// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace bert::tokenizer {

// The expression with Hugging Face's general categories, such as \p{L}, and punctuation,
// [[:punct:]], in place of those of the installed Oniguruma, which may be old: to 6.9.8, no symbol
// is punctuation. Defines them there: the caller holds the lock of Oniguruma, which is initialised.
// Throws std::runtime_error if there is no room for another category.
std::string with_our_properties(std::string_view expression);

}  // namespace bert::tokenizer
