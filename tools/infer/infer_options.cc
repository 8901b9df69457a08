// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/infer_options.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "tools/console/command_line.h"

namespace bert::tools {

const char* const InferCommandLine::kManual =
    R"(bert-infer: run a BERT encoder from an unmodified Hugging Face directory

  bert-infer [OPTIONS] FIRST [SECOND]   one text or pair; prints a human-readable line
  bert-infer [OPTIONS] FIRST CHOICE...  the same for multiple choice, with up to 31 choices
  bert-infer [OPTIONS] -i FILE          many inputs, one per line; prints JSON Lines
  ... | bert-infer [OPTIONS]            the same from a pipe

Model
  -m, --model DIR        config.json, the weights and the tokenizer's files, as downloaded
                         (default: the demo model that comes with bert-infer)
      --precision P      f32     agrees with Hugging Face to the fifth decimal
                         bf16    half the memory; faster if the processor multiplies bf16
                         int8    a third of the memory and of the time; about one label in a
                                 thousand changes
                         auto    f32, or int8 if bert-convert wrote DIR in int8 (default)
      --backend B        what multiplies: onednn, panels (kernels of bert-infer's own), or auto, the
                         faster of the two on this processor (default)
      --workers N        batches computed at the same time, with one copy of the weights
      --threads N        threads per worker; without --workers, there is one worker. Default: as
                         many single-threaded workers as the process may use threads
      --batch-tokens N   the most tokens per batch (default 4096); each takes about 20 H bytes of
                         memory besides the weights. These three options do not change results
      --max-length N     truncate texts to N tokens, special tokens included (default: the model's)

Input
  -i, --input FILE       the format follows from the ending; - is standard input:
                           .tsv    first, or first<TAB>second, or first<TAB>choice<TAB>choice...;
                                   no quoting
                           .jsonl  {"first": "text", "second": "text"}, where second is optional;
                                   {"ids": [101, ...], "type_ids": [0, ...]}, used as they are,
                                   where type_ids default to 0; {"first": ..., "choices": [...]}
      --input-format F   tsv or jsonl, whatever the ending (default for standard input: tsv)

Task and output
      --task T           auto        what the checkpoint's head is for, else embed (default)
                         logits      one raw score per label; per token and label if the head
                                     is for tokens
                         embed       one vector per input, pooled as the directory configures it
                         similarity  cosine of the two texts' embeddings
                         fill-mask   the most probable tokens for each mask token
                         tag         words with labels, and the entities that they make up
                         answer      the part of the second text that answers the first
                         choose      which of several choices goes with the text
                         hidden      the last hidden state of every token, or those of --layers
                         attention   the attention probabilities of --layers, by head
                         tokens      ids and pieces; needs only the tokenizer's files, and so knows
                                     neither the model's limit of tokens nor its prompts
      --top-k N          fill-mask: tokens per mask (default 5)
      --stride N         answer, tag: a text that does not fit is read in windows that overlap by
                         N tokens (default 128; half a window at most)
      --answer-tokens N  answer: the most tokens of an answer (default 15)
      --aggregation A    tag: how tokens become words and entities, as in Hugging Face's pipeline:
                         none, simple, first (default), average or max
      --layers N,...     hidden: 0 is the input of the first layer, -1 the last hidden state;
                         attention: 0 is the first layer, -1 the last
      --prompt NAME      embed, logits: put the prompt that config_sentence_transformers.json
                         calls NAME before each first text
  -o, --output FILE      the format follows from the ending; - is standard output, JSON Lines:
                           .jsonl        any task
                           .tsv          logits, embed: a header line, then one line per input
                           .npy          logits, embed: float32 [inputs, columns]
                           .safetensors  logits, embedding: [inputs, columns]; hidden: [tokens, H],
                                         input i owns the rows from starts[i] to starts[i + 1]

Other
  -h, --help             this text
      --version          the version
      --                 what follows is text, even if it begins with a dash

JSON Lines come in input order; their numbers read back to the same float32:
  {"index": 0, "logits": [0.25, -1.5], "label": "yes", "probability": 0.85, "tokens": 17,
   "truncated": false}
  label and probability are there only if the head's scores are probabilities (softmax or
  sigmoid). embed gives "embedding"; hidden gives "hidden" and, if the model has one, "pooler";
  tokens gives "ids", "type_ids", "tokens" and "offsets"; fill-mask "masks"; tag "entities",
  "words" and "windows"; answer "answer", "begin", "end", "score", "no_answer" and "windows";
  choose "choice", "string", "probabilities" and "logits"; similarity "similarity". Positions count
  Unicode characters.

A bad line stops the run with FILE:LINE and the reason; so do a full disk, Ctrl-C and SIGTERM. The
answers so far are kept: an output file is written as FILE.partial, which gets its name when it is
whole. A second signal ends the run at once.
Notes, progress (on a terminal) and a final summary go to standard error.
Exit status: 0 success, 1 failure, 2 wrong usage.

Examples
  bert-infer "A man is playing a guitar." "A man plays music."
  bert-infer -m DIR --task embed -i texts.tsv -o vectors.npy
  cut -f 1,2 pairs.tsv | bert-infer -m DIR > answers.jsonl
  echo '{"first": "Where are my keys?"}' | bert-infer -m DIR --input-format jsonl
  bert-infer -m DIR --task tokens "unaffable"
  bert-infer -m DIR "Paris is the [MASK] of France."
  bert-infer -m DIR "Where was she born?" "$ARTICLE"
)";

namespace {

OutputFormat output_format(const std::string& output) {
  if (output == "-" || output.ends_with(".jsonl")) return OutputFormat::jsonl;
  if (output.ends_with(".tsv")) return OutputFormat::tsv;
  if (output.ends_with(".npy")) return OutputFormat::npy;
  if (output.ends_with(".safetensors")) return OutputFormat::safetensors;
  throw UsageError(
      fmt::format("--output {}: unknown ending, expected .jsonl, .tsv, .npy or .safetensors (or - "
                  "for JSON Lines)",
                  output));
}

// Reads "0,-1". CLI11 would accept "0,,-1" too.
std::vector<int> layers_of(std::string_view text) {
  std::vector<int> layers;
  const char *at = text.data(), *end = at + text.size();
  for (;; ++at) {
    const auto [next, error] = std::from_chars(at, end, layers.emplace_back());
    if (error == std::errc() && next == end) return layers;
    if (error != std::errc() || *next != ',') {
      throw UsageError(
          fmt::format("--layers {}: expected whole numbers separated by commas", text));
    }
    at = next;
  }
}

}  // namespace

void InferOptions::check_task(Task wanted) const {
  const auto& allowed = traits(wanted).options;
  for (const std::string& given : special_options) {
    if (std::ranges::find(allowed, given) != allowed.end()) continue;
    throw UsageError(fmt::format("{} goes with --task {}, not with {}", given,
                                 tasks_with_option(given), task_name(wanted)));
  }
  if (wanted == Task::attention && layers.empty()) {
    throw UsageError("--task attention needs --layers");
  }
}

void InferOptions::check_output(Task wanted) const {
  if (can_hold(output_format, wanted)) return;
  throw UsageError(
      fmt::format("--output {} cannot hold the answers of --task {}, a .jsonl file can", output,
                  task_name(wanted)));
}

void InferCommandLine::declare(CLI::App& app) {
  const auto at_least_one = whole_number(1, INT_MAX);
  model_option_ = app.add_option("-m,--model", model_);
  input_option_ = app.add_option("-i,--input", input_);
  input_format_option_ =
      app.add_option("--input-format", input_format_)->check(CLI::IsMember({"tsv", "jsonl"}));
  output_option_ = app.add_option("-o,--output", output_);
  app.add_option("--task", task_)->check(CLI::IsMember(task_names()));
  special_options_ = {
      app.add_option("--layers")->each([this](const std::string& text) {
        given_.layers = layers_of(text);
      }),
      app.add_option("--top-k", given_.top_k)->transform(at_least_one),
      app.add_option("--stride", given_.answer.stride)->transform(whole_number(0, INT_MAX)),
      add_choice<Aggregation>(app, "--aggregation",
                              {{"none", Aggregation::none},
                               {"simple", Aggregation::simple},
                               {"first", Aggregation::first},
                               {"average", Aggregation::average},
                               {"max", Aggregation::max}},
                              given_.tag.aggregation),
      app.add_option("--answer-tokens", given_.answer.most_tokens)->transform(at_least_one),
  };
  app.add_option("--prompt", given_.load.prompt);
  add_precision(app, given_.load.precision);
  add_backend(app, given_.load.backend);
  app.add_option("--workers", given_.load.workers)->transform(thread_count());
  app.add_option("--threads", given_.load.threads)->transform(thread_count());
  app.add_option("--batch-tokens", given_.load.batch_tokens)->transform(at_least_one);
  app.add_option("--max-length", given_.load.max_length)->transform(at_least_one);
  for (size_t i = 0; i < kMaxTexts; ++i) {
    text_options_[i] = app.add_option(fmt::format("TEXT{}", i + 1), texts_[i]);
  }
  app.add_option("MORE", more_texts_);
}

InputFormat InferCommandLine::input_format(const std::string& input) const {
  if (input_format_option_->count() > 0) {
    return input_format_ == "jsonl" ? InputFormat::jsonl : InputFormat::tsv;
  }
  if (input.ends_with(".jsonl")) return InputFormat::jsonl;
  if (input == "-" || input.ends_with(".tsv")) return InputFormat::tsv;
  throw UsageError(fmt::format(
      "--input {}: the name ends in neither .tsv nor .jsonl; say which format it is with "
      "--input-format",
      input));
}

std::optional<InferOptions> InferCommandLine::options() const {
  const bool has_text = text_options_[0]->count() > 0;
  if (!has_text && input_option_->count() == 0 && isatty(STDIN_FILENO) != 0) {
    fmt::print(stderr, "{}", kManual);
    return std::nullopt;
  }
  InferOptions options = given_;
  options.tag.stride = options.answer.stride;
  options.task = find_task(task_);
  for (const CLI::Option* option : special_options_) {
    if (option->count() > 0) options.special_options.push_back(option->get_name());
  }
  if (options.task != Task::automatic) options.check_task(options.task);
  if (options.task == Task::tokens && !options.load.prompt.empty()) {
    throw UsageError("--prompt goes with embeddings, not with --task tokens");
  }
  if (model_option_->count() > 0) options.model = model_;
  if (has_text) {
    if (input_option_->count() > 0) throw UsageError("--input and a text exclude each other");
    if (input_format_option_->count() > 0) {
      throw UsageError("--input-format goes with --input, not with a text");
    }
    if (!more_texts_.empty()) {
      throw UsageError(
          fmt::format("{} texts are given, expected at most {} here (--input takes more)",
                      kMaxTexts + more_texts_.size(), kMaxTexts));
    }
    for (size_t i = 0; i < kMaxTexts && text_options_[i]->count() > 0; ++i) {
      options.arguments.push_back(texts_[i]);
    }
    options.output_format = OutputFormat::text;
  } else {
    if (input_option_->count() > 0) options.input = input_;
    options.input_format = input_format(options.input);
  }
  if (output_option_->count() > 0) {
    options.output = output_;
    options.output_format = output_format(output_);
  }
  options.check_output(options.task);
  return options;
}

}  // namespace bert::tools
