// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/sentencepiece/sentence_piece.h"

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include "tokenizer/files/files.h"
#include "tokenizer/sentencepiece/wire_reader.h"
#include "tokenizer/unicode/utf8.h"
#include "tokenizer/vocabulary.h"

namespace bert::tokenizer {

namespace {

// The library's Darts recurses for each byte of a piece.
constexpr size_t kMaxPiece = 1024;

// Reads what the library does not expose, and gives it nothing that it could trip over: only the
// pieces, of sizes that it can take. Its normalizer is not used, and the file's self-tests would
// only take time.
class SentencePieceReader {
 public:
  explicit SentencePieceReader(const std::string& path) : path_(path), content_(read_file(path)) {}

  SentencePieceModel read() {
    walk();
    check_kind();
    load();
    if (unknown_ < 0 || unknown_ >= static_cast<int64_t>(out_.pieces.size()) ||
        out_.pieces[static_cast<size_t>(unknown_)].type != SentencePieceModel::kUnknown) {
      fail(fmt::format("trainer_spec.unk_id: found {}, expected the id of the unknown piece",
                       unknown_));
    }
    out_.unknown = static_cast<int32_t>(unknown_);
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw std::runtime_error(fmt::format("{}: {}", path_, message));
  }

  void walk() {
    const std::string where = path_ + ": the SentencePiece model";
    for (WireReader reader(content_, where); !reader.empty();) {
      const WireReader::Field field = reader.field();
      if (field.number < 1 || field.number > 3) continue;
      reader.expect(field, WireReader::kBytes, "a part of the model");
      if (field.number == 1) read_piece(field);
      if (field.number == 2) read_trainer(field.bytes);
      if (field.number == 3) read_normalizer(field.bytes);
      has_[field.number] = true;
    }
    // Trained models have all three parts: a file without them was cut off between two fields.
    if (types_.empty()) fail("found no pieces, so this is not a SentencePiece model");
    if (!has_[2] || !has_[3]) {
      fail(fmt::format("{} is missing", has_[2] ? "normalizer_spec" : "trainer_spec"));
    }
  }

  void read_piece(const WireReader::Field& record) {
    const std::string name = fmt::format("pieces[{}]", types_.size());
    if (types_.size() > static_cast<size_t>(Vocabulary::kMaxId)) {
      fail(fmt::format("{}: expected at most {} pieces", name, Vocabulary::kMaxId + 1));
    }
    const std::string where = fmt::format("{}: {}", path_, name);
    std::string_view text;
    float score = 0;
    int type = SentencePieceModel::kNormal;
    for (WireReader reader(record.bytes, where); !reader.empty();) {
      const WireReader::Field field = reader.field();
      if (field.number == 1) {
        reader.expect(field, WireReader::kBytes, "piece");
        text = field.bytes;
      } else if (field.number == 2) {
        reader.expect(field, WireReader::kFixed32, "score");
        const auto bits = static_cast<uint32_t>(field.value);
        std::memcpy(&score, &bits, sizeof score);
      } else if (field.number == 3) {
        reader.expect(field, WireReader::kVarint, "type");
        if (field.value < 1 || field.value > 6) {
          fail(fmt::format("{}.type: found {}, expected 1 to 6", name, field.value));
        }
        type = static_cast<int>(field.value);
      }
    }
    if (text.empty() || text.size() > kMaxPiece || text.find('\0') != std::string_view::npos ||
        utf8::first_invalid(text) != std::string_view::npos) {
      fail(fmt::format("{}.piece: expected 1 to {} bytes of UTF-8 without NUL", name, kMaxPiece));
    }
    if (!std::isfinite(score)) fail(fmt::format("{}.score: expected a finite number", name));
    types_.push_back(type);
    pieces_ += record.record;
  }

  void read_trainer(std::string_view bytes) {
    const std::string where = path_ + ": trainer_spec";
    for (WireReader reader(bytes, where); !reader.empty();) {
      const WireReader::Field field = reader.field();
      if (field.number != 3 && field.number != 40) continue;
      reader.expect(field, WireReader::kVarint, field.number == 3 ? "model_type" : "unk_id");
      (field.number == 3 ? kind_ : unknown_) = static_cast<int64_t>(field.value);
    }
  }

  void read_normalizer(std::string_view bytes) {
    const std::string where = path_ + ": normalizer_spec";
    for (WireReader reader(bytes, where); !reader.empty();) {
      const WireReader::Field field = reader.field();
      if (field.number != 2) continue;
      reader.expect(field, WireReader::kBytes, "precompiled_charsmap");
      out_.charsmap = field.bytes;
    }
  }

  void check_kind() const {
    constexpr const char* kModelTypes[] = {"nothing", "UNIGRAM", "BPE", "WORD", "CHAR"};
    if (kind_ == 1) return;
    const bool known = kind_ > 1 && kind_ <= 4;
    fail(fmt::format("trainer_spec.model_type: found {}, expected UNIGRAM",
                     known ? kModelTypes[kind_] : fmt::format("{}", kind_)));
  }

  void load() {
    // normalizer_spec with a charsmap of one empty unit: without one, the library prints a note.
    constexpr std::string_view kNothing("\x1a\x0b\x12\x09\4\0\0\0\0\0\0\0\0", 13);
    sentencepiece::SentencePieceProcessor processor;
    try {
      const auto status = processor.LoadFromSerializedProto(pieces_ + std::string(kNothing));
      if (!status.ok()) fail(fmt::format("SentencePiece says: {}", status.error_message()));
    } catch (const std::runtime_error&) {
      throw;
    } catch (const std::exception& error) {  // from Darts
      fail(fmt::format("SentencePiece says: {}", error.what()));
    }
    out_.pieces.reserve(types_.size());
    for (int i = 0; i < processor.GetPieceSize(); ++i) {
      out_.pieces.push_back(
          {processor.IdToPiece(i), processor.GetScore(i), types_[static_cast<size_t>(i)]});
    }
  }

  std::string path_, content_;
  SentencePieceModel out_;
  bool has_[4] = {};                // by field
  std::vector<int> types_;          // by id
  std::string pieces_;              // their records
  int64_t kind_ = 1, unknown_ = 0;  // the format's defaults
};

}  // namespace

SentencePieceModel read_sentence_piece(const std::string& path) {
  return SentencePieceReader(path).read();
}

}  // namespace bert::tokenizer
