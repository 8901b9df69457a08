// SPDX-License-Identifier: Apache-2.0
#include "models/config/texts/text_settings.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/config/sentence_settings.h"

namespace bert::models {

MaxLength choose_max_length(const std::string& directory, const Options& options,
                            const Config& config, const tokenizer::TextEncoder& tokenizer) {
  const std::optional<JsonFile> settings = read_sentence_settings(directory);
  if (settings && settings->boolean("do_lower_case", false) && !tokenizer.lowercases()) {
    settings->fail("do_lower_case", "false, because the tokenizer does not lowercase");
  }
  if (options.max_length > 0) return {options.max_length, "as asked"};
  int64_t tokens = tokenizer.default_max_length();
  std::string source = "from the tokenizer's files";
  if (settings && settings->find("max_seq_length")) {
    const int64_t special =
        tokenizer.takes_text() ? std::ssize(tokenizer.encode("", std::nullopt, 0).ids) : 1;
    tokens = settings->integer("max_seq_length", std::max<int64_t>(1, special), INT_MAX);
    source = "from " + settings->path();
  }
  if (tokens > 0 && tokens < config.positions) return {static_cast<int>(tokens), source};
  return {config.positions, "as many as the model has positions"};
}

namespace {

Prompt find_prompt(const std::string& directory, const std::string& wanted, const Config& config,
                   bool is_taken) {
  if (!is_taken) {
    if (wanted.empty()) return {};
    throw Error(
        fmt::format("prompt '{}' is only for embeddings and scores of whole inputs, but {} is for "
                    "other tasks ({})",
                    wanted, directory, config.architecture));
  }
  const Prompts prompts = read_prompts(directory);
  const std::string& name = wanted.empty() ? prompts.default_name : wanted;
  if (name.empty()) return {};
  const auto found = prompts.by_name.find(name);
  if (found == prompts.by_name.end()) {
    std::vector<std::string> names;
    for (const auto& [known, text] : prompts.by_name) names.push_back(known);
    throw Error(fmt::format(
        "{}/config_sentence_transformers.json: 'prompts' has no '{}', {}", directory, name,
        names.empty() ? "there are none at all"
                      : fmt::format("expected one of {}", fmt::join(names, ", "))));
  }
  return {name, found->second};
}

}  // namespace

Prompt choose_prompt(const std::string& directory, const std::string& wanted, const Config& config,
                     const std::vector<const HeadRow*>& heads, RetrievalSettings& retrieval) {
  const bool is_taken = !retrieval.embeds || ModuleList(directory).has("Pooling") ||
                        std::ranges::all_of(heads, [](const HeadRow* row) {
                          return row->kind == HeadKind::classification;
                        });
  Prompt prompt = find_prompt(directory, wanted, config, is_taken);
  if (wanted.empty()) return prompt;
  retrieval.query_prompt = retrieval.document_prompt = prompt.text;
  if (retrieval.tokens) {
    retrieval.tokens->query.prompt = retrieval.tokens->document.prompt = prompt.text;
  }
  return prompt;
}

}  // namespace bert::models
