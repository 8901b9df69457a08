// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/parts/expressions/onig_library.h"

#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>

namespace bert::tokenizer {
namespace {

template <typename Symbol>
void look_up(void* library, const char* name, Symbol& symbol) {
  symbol = reinterpret_cast<Symbol>(dlsym(library, name));
  if (!symbol) throw std::runtime_error(fmt::format("libonig.so.5 has no {}", name));
}

OnigLibrary load_onig() {
  void* const library = dlopen("libonig.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    throw std::runtime_error(fmt::format(
        "regular expressions need Oniguruma (libonig5 in Debian), which cannot be loaded: {}",
        dlerror()));
  }
  OnigLibrary onig{};
  decltype(::OnigDefaultSyntax)* syntax = nullptr;
  look_up(library, "OnigEncodingUTF8", onig.utf8);
  look_up(library, "OnigDefaultSyntax", syntax);
  onig.syntax = *syntax;
  look_up(library, "onig_initialize", onig.initialize);
  look_up(library, "onig_unicode_define_user_property", onig.define_property);
  look_up(library, "onig_error_code_to_str", onig.message);
  look_up(library, "onig_new", onig.make);
  look_up(library, "onig_free", onig.free);
  look_up(library, "onig_region_new", onig.make_region);
  look_up(library, "onig_region_free", onig.free_region);
  look_up(library, "onig_new_match_param", onig.make_limits);
  look_up(library, "onig_free_match_param", onig.free_limits);
  look_up(library, "onig_initialize_match_param", onig.initialize_limits);
  look_up(library, "onig_set_match_stack_limit_size_of_match_param", onig.limit_stack);
  look_up(library, "onig_set_retry_limit_in_match_of_match_param", onig.limit_match);
  look_up(library, "onig_set_retry_limit_in_search_of_match_param", onig.limit_search);
  look_up(library, "onig_search_with_param", onig.search);
  look_up(library, "onig_match_with_param", onig.match);
  return onig;
}

}  // namespace

const OnigLibrary& onig() {
  static const OnigLibrary library = load_onig();
  return library;
}

}  // namespace bert::tokenizer
