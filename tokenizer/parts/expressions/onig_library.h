// SPDX-License-Identifier: Apache-2.0
//
// Oniguruma, loaded when a tokenizer first needs it. Programs are not linked with it because it
// also defines POSIX's regcomp() and the like, which would replace the C library's.
#pragma once

#include <oniguruma.h>

namespace bert::tokenizer {

struct OnigLibrary {
  OnigEncoding utf8;
  decltype(::OnigDefaultSyntax) syntax;

  decltype(&::onig_initialize) initialize;
  decltype(&::onig_unicode_define_user_property) define_property;
  decltype(&::onig_error_code_to_str) message;
  decltype(&::onig_new) make;
  decltype(&::onig_free) free;
  decltype(&::onig_region_new) make_region;
  decltype(&::onig_region_free) free_region;
  decltype(&::onig_new_match_param) make_limits;
  decltype(&::onig_free_match_param) free_limits;
  decltype(&::onig_initialize_match_param) initialize_limits;
  decltype(&::onig_set_match_stack_limit_size_of_match_param) limit_stack;
  decltype(&::onig_set_retry_limit_in_match_of_match_param) limit_match;
  decltype(&::onig_set_retry_limit_in_search_of_match_param) limit_search;
  decltype(&::onig_search_with_param) search;
  decltype(&::onig_match_with_param) match;
};

// Throws std::runtime_error if it is not installed.
const OnigLibrary& onig();

}  // namespace bert::tokenizer
