// SPDX-License-Identifier: Apache-2.0
//
// Files that are there but are not what their names say: each is an error by name, whether or not
// the model could do without the file.
#include <chrono>
#include <cstring>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/weights/safetensors.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

namespace fs = std::filesystem;
using test::CopiedModel;
using test::load_error;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

struct Lie {
  const char* what;
  const char* expected;
  void (*put)(const std::string& path);
};
constexpr Lie kLies[] = {
    {"a dangling link", "a link to a file that does not exist",
     [](const std::string& path) { fs::create_symlink("absent", path); }},
    {"a loop", "Too many levels of symbolic links",
     [](const std::string& path) { fs::create_symlink(fs::path(path).filename(), path); }},
    {"a FIFO", "not a regular file",
     [](const std::string& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
    {"a link to a device", "not a regular file",
     [](const std::string& path) { fs::create_symlink("/dev/zero", path); }},
    {"a folder", "not a regular file", [](const std::string& path) { fs::create_directory(path); }},
    {"a Git LFS pointer", "a Git LFS pointer, not the file",
     [](const std::string& path) { std::ofstream(path) << kPointer; }},
};

// The files of a model, and those that must not be there for the file to be looked for.
struct HostileCase {
  const char* file;
  std::vector<const char*> without = {};
};
const std::vector<HostileCase> kFiles = {
    {"config.json"},
    {"modules.json"},
    {"1_Pooling/config.json"},
    {"sentence_bert_config.json"},
    {"config_sentence_transformers.json"},
    {"tokenizer.json"},
    {"tokenizer_config.json"},
    {"special_tokens_map.json"},
    {"added_tokens.json"},
    {"vocab.txt"},
    {"spiece.model", {"vocab.txt"}},
    {"sentencepiece.bpe.model", {"vocab.txt"}},
    {"spm.model", {"vocab.txt"}},
    {"model.safetensors"},
    {"model.safetensors.index.json", {"model.safetensors"}},
    {"pytorch_model.bin", {"model.safetensors"}},
    {"pytorch_model.bin.index.json", {"model.safetensors"}},
    {"bert_model.ckpt.index", {"model.safetensors"}},
    {"bert_config.json", {"config.json"}},
};

TEST(HostileFiles, AreErrorsByName) {
  for (const HostileCase& each : kFiles) {
    for (const Lie& lie : kLies) {
      const CopiedModel copy("st-mean");
      for (const char* other : each.without) fs::remove(copy.path(other));
      if (std::string_view(each.file).ends_with(".model")) {  // SentencePiece's
        copy.change("tokenizer_config.json", {{"tokenizer_class", "AlbertTokenizer"}});
      }
      fs::remove(copy.path(each.file));
      lie.put(copy.path(each.file));
      EXPECT_THAT(load_error(copy),
                  AllOf(HasSubstr(copy.path(each.file) + ": "), HasSubstr(lie.expected)))
          << each.file << " is " << lie.what;
    }
  }
}

TEST(HostileFiles, ShardsAndDataFilesToo) {
  for (const auto& [golden, file] :
       {std::pair{"safetensors-shards", "model-00002-of-00003.safetensors"},
        {"zip-shards", "pytorch_model-00002-of-00003.bin"},
        {"tensorflow", "bert_model.ckpt.data-00000-of-00001"}}) {
    for (const Lie& lie : kLies) {
      const CopiedModel copy(std::string("formats/classification/") + golden);
      ASSERT_TRUE(fs::remove(copy.path(file))) << file;
      lie.put(copy.path(file));
      EXPECT_THAT(load_error(copy),
                  AllOf(HasSubstr(copy.path(file) + ": "), HasSubstr(lie.expected)))
          << file << " is " << lie.what;
    }
  }
}

TEST(HostileFiles, TheTokenizerAloneRefusesThemToo) {
  for (const char* file : {"tokenizer.json", "tokenizer_config.json", "vocab.txt"}) {
    for (const Lie& lie : kLies) {
      const CopiedModel copy("plain");
      fs::remove(copy.path(file));
      lie.put(copy.path(file));
      EXPECT_THAT(test::error_of([&] { Tokenizer::load(copy.path()); }),
                  AllOf(HasSubstr(copy.path(file) + ": "), HasSubstr(lie.expected)))
          << file << " is " << lie.what;
    }
  }
}

TEST(HostileFiles, UnreadableOnesAreNotPassedOver) {
  constexpr uid_t kNobody = 65534;
  const uid_t user = geteuid();
  for (const char* file : {"modules.json", "vocab.txt", "model.safetensors"}) {
    const CopiedModel copy("st-mean");
    fs::permissions(copy.path(), fs::perms(0755));
    fs::permissions(copy.path(file), fs::perms::none);
    if (user == 0) {  // who may read everything
      ASSERT_EQ(seteuid(kNobody), 0);
    }
    const std::string error = load_error(copy);
    ASSERT_EQ(seteuid(user), 0);
    EXPECT_THAT(error, HasSubstr(copy.path(file) + ": cannot be read: Permission"));
  }
}

TEST(HostileFiles, ManyTensorsTakeLinearTime) {
  const CopiedModel copy("plain");
  std::string header = "{";
  for (int i = 0; i < 60000; ++i) {
    header += (i > 0 ? ", \"t" : "\"t") + std::to_string(i) +
              R"(": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]})";
  }
  header += "}";
  const uint64_t length = header.size();
  copy.write("many.safetensors",
             std::string(reinterpret_cast<const char*>(&length), sizeof length) + header);
  const auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(models::read_safetensors(copy.path("many.safetensors")).tensors().size(), 60000u);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(SANITIZED ? 60 : 10));
}

}  // namespace
}  // namespace bert
