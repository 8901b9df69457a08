// SPDX-License-Identifier: Apache-2.0
#include "models/directory/description.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/files/files.h"

namespace bert::models {
namespace {

using HeadRows = std::vector<const HeadRow*>;

// A model with two heads is for its token head's task; one whose files describe vectors for search
// is for those.
Task task_of(const HeadRows& heads, const RetrievalParts& retrieval) {
  if (!retrieval.embeds) return retrieval.sparse ? Task::sparse : Task::multi_vector;
  Task task = Task::embed;
  for (const HeadRow* head : heads) {
    switch (head->kind) {
      case HeadKind::masked_lm:
        return Task::fill_mask;
      case HeadKind::token_classification:
        return Task::tag;
      case HeadKind::question_answering:
        return Task::answer;
      case HeadKind::replaced_token:
        return Task::detect;
      case HeadKind::multiple_choice:
        task = Task::choose;
        break;
      case HeadKind::classification:
      case HeadKind::next_sentence:
      case HeadKind::sentence_order:
        task = Task::classify;
    }
  }
  return task;
}

}  // namespace

std::vector<std::string> make_notes(const std::string& directory, const Config& config,
                                    const Checkpoint& checkpoint,
                                    const tokenizer::TextEncoder& tokenizer, const Encoder& encoder,
                                    const RetrievalParts& retrieval, const Decisions& decisions) {
  std::vector<std::string> notes;
  const auto add_all = [&](const std::vector<std::string>& more) {
    notes.insert(notes.end(), more.begin(), more.end());
  };
  if (decisions.heads.empty() && !config.heads_on_top.empty()) {
    notes.push_back(fmt::format("{}: {} has no tensors of its head, so only the encoder is used",
                                checkpoint.path(), config.architecture));
  }
  add_all(tokenizer.notes());
  if (!tokenizer.takes_text()) {
    notes.push_back("only token ids are accepted, not text: " + tokenizer.refusal());
  } else if (const int ids = tokenizer.vocabulary_size(); ids != config.vocabulary) {
    notes.push_back(fmt::format(
        "{}: the tokenizer has {} ids, but config.json's vocab_size is {}{}", directory, ids,
        config.vocabulary, ids < config.vocabulary ? "" : ": its last added tokens are refused"));
  }
  if (!decisions.prompt.name.empty()) {
    notes.push_back(
        fmt::format("prompt {}: \"{}\" is {}", decisions.prompt.name, decisions.prompt.text,
                    decisions.has_chat ? "the chat template's message of the role system"
                                       : "put before each first text"));
  }
  if (decisions.has_chat) notes.push_back("each pair is put into the directory's chat template");
  constexpr double kWorthIt = 1.1;
  // Measured once: a second time could differ, and contradict the first.
  const double bf16_speed = decisions.precision.stored_as_bf16 ? engine::bf16_speed() : 0;
  if (bf16_speed >= kWorthIt) {
    notes.push_back(
        fmt::format("{}: the weights are stored in BF16; precision auto is f32, which is exact; "
                    "bf16 would be {:.1f} times as fast on this machine",
                    checkpoint.path(), bf16_speed));
  }
  add_all(config.notes);
  add_all(checkpoint.notes());
  if (decisions.unevaluated_tensors > 0) {
    notes.push_back(fmt::format("{}: {} tensors of other heads or parts are not evaluated",
                                directory, decisions.unevaluated_tensors));
  }
  if (encoder.precision == engine::Precision::int8) notes.push_back(encoder.int8_note());
  if (retrieval.interaction) add_all(retrieval.interaction->notes());
  return notes;
}

Info make_info(const Config& config, const Workers& workers, const Heads& heads,
               const SentenceEmbedding& sentence, const RetrievalParts& retrieval,
               const Decisions& decisions) {
  Info info;
  info.architecture = config.architecture;
  info.family = config.family->model_type;
  info.layers = config.layers;
  info.hidden = config.output;
  info.heads = config.heads;
  info.intermediate = config.intermediate;
  info.vocabulary = config.vocabulary;
  info.head_task = heads.entities ? Task::tag : task_of(decisions.heads, retrieval);
  info.task = retrieval.embeds && sentence.is_configured() ? Task::embed : info.head_task;
  info.max_length = decisions.max_length.tokens;
  info.has_logits = heads.by_sequence.has_value();
  info.has_token_logits = heads.by_token.has_value();
  info.has_pooler = heads.pooler.has_value();
  info.has_chat_template = decisions.has_chat;
  const auto& labels = heads.by_sequence ? config.by_sequence : config.by_token;
  info.labels = labels.names;
  info.scores = labels.scores;
  if (retrieval.embeds) {
    info.pooling = sentence.description();
    info.embedding = static_cast<int>(sentence.columns());
  }
  info.has_sparse = retrieval.sparse.has_value();
  if (const auto& vectors = retrieval.token_vectors) {
    info.token_vector = static_cast<int>(vectors->columns());
  }
  info.similarity = retrieval.similarity();
  info.precision = name_of(decisions.precision.precision);
  info.backend = decisions.products.layers.backend == engine::Backend::onednn ? "onednn" : "panels";
  info.workers = workers.count();
  info.threads = workers.threads_of_each();
  return info;
}

std::vector<std::string> files_of(const Config& config, const Checkpoint& checkpoint,
                                  const tokenizer::TextEncoder& tokenizer) {
  std::vector<std::string> files = {config.path};
  for (std::string& file : checkpoint.paths()) files.push_back(std::move(file));
  if (tokenizer.takes_text()) files.push_back(tokenizer.file());
  // Modules, prompts, settings of the tokenizer: results depend on them as well.
  for (std::string& file : tokenizer::FilesRead::so_far()) {
    if (std::ranges::count(files, file) == 0) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace bert::models
