// SPDX-License-Identifier: Apache-2.0
//
// Parts of the public API: loading, calls with texts, and what models and tokenizers report about
// themselves.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/model_impl.h"
#include "tokenizer/files/files.h"
#include "tokenizer/unicode/printable.h"

namespace bert {

Error::Error(const std::string& what)
    : runtime_error(tokenizer::printable(what, tokenizer::kMostOfMessage)) {}
Error::~Error() = default;

std::string version() { return BERT_INFER_VERSION; }

Tokenizer Tokenizer::load(const std::string& name, int max_length) {
  return models::guarded([&] {
    models::check_max_length(max_length);
    const std::string directory = find_model(name);
    auto loaded = tokenizer::TextEncoder::load(models::transformer_folder(directory));
    const int limit = max_length > 0 ? max_length : loaded.default_max_length();
    auto chat = models::ChatPairs::load(directory, models::default_prompt(directory), loaded);
    return Tokenizer(
        std::make_shared<const Impl>(Impl{std::move(loaded), limit, "", std::move(chat)}));
  });
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skips_special) const {
  return models::guarded([&] { return impl_->text_encoder.decode(ids, skips_special); });
}

const std::string& Tokenizer::token(int32_t id) const {
  return models::guarded([&]() -> const std::string& { return impl_->text_encoder.token(id); });
}

bool Tokenizer::continues_word(int32_t id) const {
  return models::guarded([&] { return impl_->text_encoder.continues_word(id); });
}

int32_t Tokenizer::mask_id() const { return impl_->text_encoder.mask_id(); }

const std::vector<std::string>& Tokenizer::notes() const { return impl_->text_encoder.notes(); }

Model Model::load(const std::string& name, const Options& options) {
  return models::guarded([&] {
    if (options.adapter.find('\0') != std::string::npos) {
      throw Error("adapter is '" + options.adapter + "', expected no NUL in it");
    }
    const tokenizer::FilesRead files_read;  // for Info::files
    return Model(Impl::load(name, options));
  });
}

Output Model::run(std::span<const Input> inputs) const {
  return models::guarded([&] { return impl_->run(impl_->tokenize(inputs)); });
}
std::vector<Encoding> Model::tokenize(std::span<const Input> inputs) const {
  return models::guarded([&] { return impl_->tokenize(inputs); });
}
const Tokenizer& Model::tokenizer() const { return impl_->tokenizer; }
const Info& Model::info() const { return impl_->info; }
int64_t Model::kept_memory() const { return impl_->spaces.kept(); }
void Model::release_memory() const { impl_->spaces.clear(); }

}  // namespace bert
