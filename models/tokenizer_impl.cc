// SPDX-License-Identifier: Apache-2.0
#include "models/tokenizer_impl.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/workers.h"

namespace bert {

using models::guarded;

Tokenizer Tokenizer::load(const std::string& directory, int max_length) {
  return guarded([&] {
    models::check_max_length(max_length);
    models::require_directory(directory);
    auto loaded = tokenizer::Tokenizer::load(directory);
    const int limit = max_length > 0 ? max_length : loaded.default_max_length();
    return Tokenizer(std::make_shared<const Impl>(Impl{std::move(loaded), limit, ""}));
  });
}

Encoding Tokenizer::encode(const Input& input) const {
  return guarded([&] {
    return impl_->converted(
        impl_->tokenizer.encode(impl_->prompt + input.first, input.second, impl_->max_length));
  });
}

std::vector<Encoding> Tokenizer::encode(std::span<const Input> inputs, int threads) const {
  return guarded([&] { return impl_->encode(inputs, models::resolve_threads(threads)); });
}

const std::string& Tokenizer::token(int32_t id) const {
  return guarded([&]() -> const std::string& { return impl_->tokenizer.token(id); });
}

bool Tokenizer::continues_word(int32_t id) const {
  return guarded([&] { return impl_->tokenizer.continues_word(id); });
}
int32_t Tokenizer::mask_id() const { return impl_->tokenizer.mask_id(); }

const std::vector<std::string>& Tokenizer::notes() const { return impl_->tokenizer.notes(); }

}  // namespace bert

namespace bert::models {

void require_directory(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw Error(fmt::format("{}: not a directory (expected a Hugging Face model directory)",
                            directory.empty() ? "''" : directory));
  }
}

void check_max_length(int length) {
  if (length < 0) throw Error(fmt::format("max_length is {}, expected at least 0", length));
}

}  // namespace bert::models
