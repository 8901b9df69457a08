// SPDX-License-Identifier: Apache-2.0
//
// The files of PhoBERT and BERTweet, read like transformers' Python classes: fairseq's vocab.txt,
// with a token and its count in each line, and fastBPE's bpe.codes, with two symbols to merge and
// their count.
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "tokenizer/files/definition.h"
#include "tokenizer/files/files.h"
#include "tokenizer/files/tokenizer_config.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

constexpr std::pair<const char*, const char*> kSpecialTokens[] = {
    {"bos_token", "<s>"}, {"pad_token", "<pad>"}, {"eos_token", "</s>"},   {"unk_token", "<unk>"},
    {"cls_token", "<s>"}, {"sep_token", "</s>"},  {"mask_token", "<mask>"}};
constexpr size_t kNumbered = 4;  // of these have the ids 0 to 3

// What is between white space, as Python's split() finds it.
std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  size_t begin = 0;  // of a field
  for (size_t at = 0; at < line.size();) {
    const size_t before = at;
    if (!unicode::is_python_space(utf8::decode(line.data(), at))) continue;
    if (begin < before) fields.push_back(line.substr(begin, before - begin));
    begin = at;
  }
  if (begin < line.size()) fields.push_back(line.substr(begin));
  return fields;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

class BpeCodesReader {
 public:
  explicit BpeCodesReader(const std::string& directory)
      : config_(read_tokenizer_config(directory)), directory_(directory) {}

  Definition read() {
    // It needs the emoji package's names, and regular expressions for tweets.
    if (config_.normalization.value_or(false)) {
      throw std::runtime_error(
          fmt::format("{}: normalization: found true, expected false", config_.file));
    }
    out_.file = directory_ + "/vocab.txt";
    out_.model = Definition::Model::byte_pair;
    out_.is_fast_bpe = out_.first_gets_odd = true;
    out_.notes = config_.notes;
    set_encoding(config_, out_);
    for (const auto& [name, token] : kSpecialTokens) {
      const auto [known, is_absent] = config_.special_tokens.try_emplace(name);
      if (is_absent) known->second.content = token;
      const std::string_view field = name;  // the Python classes do without these two
      if (!known->second.content.empty() || field == "mask_token" || field == "pad_token") continue;
      throw null_token(config_, name);
    }
    read_vocabulary();
    read_merges(directory_ + "/bpe.codes");
    set_added_tokens();
    set_templates(id_of("cls_token"), id_of("sep_token"), true, out_);
    out_.word_piece.unknown = special("unk_token");
    out_.mask = special("mask_token");
    set_decoders();
    return std::move(out_);
  }

 private:
  [[noreturn]] static void fail(const std::string& path, size_t line, const char* expected) {
    throw std::runtime_error(fmt::format("{}: line {}: expected {}", path, line + 1, expected));
  }

  const std::string& special(const char* name) const {
    return config_.special_tokens.at(name).content;
  }

  // As in a Python dictionary, a token that is there already keeps its place and gets another id.
  void set(const std::string& token, size_t id) {
    if (id > Vocabulary::kMaxId) {
      throw std::runtime_error(
          fmt::format("{}: expected at most {} tokens", out_.file, Vocabulary::kMaxId + 1));
    }
    const auto [known, is_new] = places_.emplace(token, out_.vocabulary.size());
    if (is_new) out_.vocabulary.emplace_back(token, 0);
    out_.vocabulary[known->second].second = static_cast<int32_t>(id);
  }

  int32_t id_of(const char* name) const {
    const auto found = places_.find(special(name));
    if (found != places_.end()) return out_.vocabulary[found->second].second;
    throw std::runtime_error(
        fmt::format("{}: the {} \"{}\" is not in the vocabulary", out_.file, name, special(name)));
  }

  void read_vocabulary() {
    for (size_t id = 0; id < kNumbered; ++id) set(special(kSpecialTokens[id].first), id);
    const VocabularyLines lines(out_.file);
    for (size_t i = 0; i < lines.size(); ++i) {
      std::string_view line = lines.token(i);
      const auto fields = split(line);
      if (!fields.empty()) line.remove_prefix(static_cast<size_t>(&fields[0][0] - &line[0]));
      const size_t space = line.rfind(' ');
      // Python would begin a line at a carriage return.
      if (space == std::string_view::npos || !is_number(fields.back()) ||
          line.substr(space + 1) != fields.back() || line.find('\r') != std::string_view::npos) {
        fail(out_.file, i, "a token, a space and its count");
      }
      set(std::string(line.substr(0, space)), out_.vocabulary.size());
    }
  }

  void read_merges(const std::string& path) {
    if (!is_there(path)) {
      throw std::runtime_error(fmt::format("{}: not found, expected beside vocab.txt", path));
    }
    const VocabularyLines lines(path);
    // The Python classes leave out a last line without a line end.
    const size_t size = lines.size() - (lines.size() > 0 && !lines.is_last_ended() ? 1 : 0);
    for (size_t i = 0; i < size; ++i) {
      const std::string_view line = lines.token(i);
      const size_t first = line.find(' '), last = line.rfind(' ');
      if (std::ranges::count(line, ' ') != 2 || first == 0 || last == first + 1 ||
          !is_number(line.substr(last + 1)) || line.find('\r') != std::string_view::npos) {
        fail(path, i, "two symbols and their count, with spaces between them");
      }
      // Other white space, which fastBPE keeps, separates symbols for Python; it then finds one or
      // more than two, which are never merged.
      const auto fields = split(line);
      if (fields.size() == 3) out_.byte_pair.merges.emplace_back(fields[0], fields[1]);
    }
    out_.byte_pair.merges_name = "bpe.codes";
    out_.byte_pair.unknown = " ";  // no symbol
    out_.byte_pair.suffix = "</w>";
    out_.byte_pair.at_once = true;
  }

  void set_added_tokens() {
    out_.added_tokens = config_.added_tokens;
    TokenList list(out_.added_tokens);
    // Of these, version 5 takes the content alone.
    const auto add = [&](const NamedToken& token) {
      DeclaredToken bare;
      bare.content = token.content;
      list.add(bare).first.special = true;
    };
    for (const NamedToken& token : named_tokens(config_, {}, false, {})) add(token);
    for (const NamedToken& token : config_.additional_special_tokens) add(token);
    for (DeclaredToken& token : out_.added_tokens) {
      if (token.single_word) {  // means something else than in the fast tokenizers
        throw std::runtime_error(
            fmt::format("{}: the added token \"{}\": single_word: found true, expected false",
                        config_.file, token.content));
      }
      token.normalized = false;  // all are looked for together
      if (token.id != -1) set(token.content, static_cast<size_t>(token.id));  // whatever it is
    }
  }

  void set_decoders() {
    using Kind = Decoder::Kind;
    Decoder joins{Kind::replace}, strips{Kind::strip, "", " "};
    joins.pattern = make_literal_pattern("@@ ");
    strips.start = strips.stop = std::string::npos;
    out_.decoders = {{Kind::spaces}, {Kind::fuse}, joins, strips};
    out_.has_decoders = true;
  }

  TokenizerConfig config_;
  std::string directory_;
  Definition out_;
  std::unordered_map<std::string, size_t> places_;  // in out_.vocabulary
};

}  // namespace

bool has_bpe_codes(const std::string& directory) {
  const bool is_json = is_there(directory + "/tokenizer.json");
  const bool is_here = is_there(directory + "/bpe.codes");
  if ((is_json && !is_here) || !is_there(directory + "/vocab.txt")) return false;
  const std::string name = read_tokenizer_config(directory).tokenizer_class;
  if (name.empty()) return is_here && !is_json;
  return is_tokenizer_class(name, "Phobert") || is_tokenizer_class(name, "Bertweet");
}

Definition read_bpe_codes(const std::string& directory) { return BpeCodesReader(directory).read(); }

}  // namespace bert::tokenizer
