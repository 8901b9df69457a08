// SPDX-License-Identifier: Apache-2.0
//
// Every format gives the same bits; damaged and hostile files give errors that name the file.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "models/weights/pytorch/pytorch_file.h"
#include "models/weights/safetensors.h"
#include "models/weights/tensorflow/crc32c.h"
#include "models/weights/tensorflow/tensorflow_checkpoint.h"
#include "tests/models/goldens.h"

namespace bert {
namespace {

namespace fs = std::filesystem;
using models::StoredTensor;
using models::WeightFile;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kFormats[] = {
    "safetensors-shards", "zip",        "zip-transposed", "legacy",
    "legacy-transposed",  "zip-shards", "tensorflow",     "tensorflow-shards"};

std::string format_directory(const std::string& head, const std::string& name) {
  return test::golden("formats/" + head + "/" + name);
}

// Logits and hidden states of one input.
std::vector<float> answer(const Model& model) {
  const std::span<const Encoding> input(&test::kInput, 1);
  std::vector<float> values = model.run(input).values;
  const auto hidden = model.hidden(input);
  values.insert(values.end(), hidden[0].states.values.begin(), hidden[0].states.values.end());
  return values;
}

std::vector<float> answer(const std::string& directory) {
  Options options;
  options.threads = 1;
  return answer(Model::load(directory, options));
}

TEST(WeightFiles, EveryFormatGivesTheSameBits) {
  for (const std::string head : {"classification", "pretraining"}) {
    const std::vector<float> want = answer(format_directory(head, "safetensors"));
    for (const char* name : kFormats) {
      EXPECT_EQ(answer(format_directory(head, name)), want) << head << " as " << name;
    }
  }
}

TEST(WeightFiles, EveryFormatContainsTheSameTensors) {
  const WeightFile want = models::read_safetensors(format_directory("pretraining", "safetensors") +
                                                   "/model.safetensors");
  for (const WeightFile& file :
       {models::read_pytorch(format_directory("pretraining", "zip-transposed") +
                             "/pytorch_model.bin"),
        models::read_pytorch(format_directory("pretraining", "legacy") + "/pytorch_model.bin"),
        models::read_tensorflow(format_directory("pretraining", "tensorflow") +
                                "/bert_model.ckpt")}) {
    ASSERT_EQ(file.tensors().size(), want.tensors().size()) << file.path();
    for (const StoredTensor& tensor : want.tensors()) {
      const StoredTensor* found = file.find(tensor.name);
      ASSERT_TRUE(found) << file.path() << " " << tensor.name;
      EXPECT_EQ(found->shape, tensor.shape) << file.path() << " " << tensor.name;
      EXPECT_EQ(found->row_major(), tensor.row_major()) << file.path() << " " << tensor.name;
      std::vector<float> values(found->elements());
      found->copy_to(values.data());
      for (int64_t i = 0; i < found->elements(); ++i) EXPECT_EQ(values[i], tensor.at(i));
      file.check(*found);
    }
  }
}

TEST(WeightFiles, ArchitectureMissingFromAGoogleConfigurationIsInferred) {
  const Model next = Model::load(format_directory("pretraining", "tensorflow"));
  EXPECT_EQ(next.info().architecture, "BertForPreTraining");
  EXPECT_THAT(next.info().notes,
              Contains(AllOf(HasSubstr("bert_config.json"), HasSubstr("BertForPreTraining"))));
  const Model classifier = Model::load(format_directory("classification", "tensorflow-shards"));
  EXPECT_EQ(classifier.info().architecture, "BertForSequenceClassification");
  EXPECT_EQ(classifier.info().labels.size(), 3);
}

TEST(StoredTensors, OfF16HaveEveryKindOfNumber) {
  constexpr uint16_t kHalves[] = {0x3c00, 0xc000, 0x0001, 0x8001, 0x7bff,
                                  0x7c00, 0xfc00, 0x7e00, 0x8000};
  const StoredTensor tensor{.name = "halves",
                            .dtype = models::DType::f16,
                            .shape = {9},
                            .bytes = std::as_bytes(std::span(kHalves))};
  std::vector<float> values(9);
  tensor.copy_to(values.data());
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_THAT(values, testing::ElementsAre(1.0f, -2.0f, 0x1p-24f, -0x1p-24f, 65504.0f, infinite,
                                           -infinite, testing::IsNan(), 0.0f));
  EXPECT_TRUE(std::signbit(values[8]));
}

TEST(Crc32c, BothImplementationsMatchTheStandard) {
  const std::string check = "123456789";
  const auto bytes = std::as_bytes(std::span(check));
  EXPECT_EQ(models::crc32c(bytes), 0xe3069283u);
  EXPECT_EQ(models::crc32c_portable(bytes), 0xe3069283u);
  EXPECT_EQ(models::unmasked_crc32c(0xa282ead8u), 0u);
  std::mt19937 generator(1);
  std::vector<std::byte> random(1000);
  for (std::byte& byte : random) byte = static_cast<std::byte>(generator());
  for (size_t size = 0; size < 100; ++size) {
    const auto part = std::span(random).subspan(size, 9 * size);
    EXPECT_EQ(models::crc32c(part), models::crc32c_portable(part));
  }
}

// The zip archive with 0 for each checksum, which counts as none.
std::string without_checksums(std::string bytes) {
  for (size_t entry = bytes.find("PK\1\2"); entry != std::string::npos;
       entry = bytes.find("PK\1\2", entry + 1)) {
    bytes.replace(entry + 16, 4, 4, '\0');
  }
  return bytes;
}

// A copy of one format's directory, to be damaged.
class Damaged : public testing::Test {
 protected:
  ~Damaged() override { fs::remove_all(path_); }
  void copy(const std::string& name) {
    fs::remove_all(path_);
    fs::copy(format_directory("classification", name), path_, fs::copy_options::recursive);
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  std::string error() const {
    try {
      answer(path_.string());
    } catch (const Error& caught) {
      return caught.what();
    }
    return "no error";
  }
  // The error if this pickle takes the place of the tensors' in a file of torch's legacy format.
  std::string error_of(const std::string& pickle,
                       const std::string& storages = "\x80\x02].") const {
    static const std::string kStart("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.",
                                    15);
    write("pytorch_model.bin", kStart + "\x80\x02M\xe9\x03.\x80\x02}.\x80\x02" + pickle + storages);
    return error();
  }
  // Reads `count` mutants of a file, changed in its first `limit` bytes. Each may load or be an
  // error that names the directory. Returns the number of errors.
  template <typename Read>
  int errors_of_mutants(const std::string& name, const std::string& good, size_t limit, int count,
                        const Read& read) {
    std::mt19937 generator(2026);
    const auto pick = [&](size_t bound) {
      return std::uniform_int_distribution<size_t>(0, bound - 1)(generator);
    };
    int errors = 0;
    for (int i = 0; i < count; ++i) {
      std::string bytes = good;
      for (size_t changes = 1 + pick(3); changes-- > 0;) {
        bytes[pick(limit)] = static_cast<char>(pick(256));
      }
      if (i % 4 == 0) bytes.erase(pick(limit), 1 + pick(8));
      write(name, bytes);
      try {
        read();
      } catch (const std::runtime_error& caught) {
        EXPECT_THAT(caught.what(), HasSubstr(path_.string())) << "mutant " << i;
        ++errors;
      }
    }
    return errors;
  }

  fs::path path_ = fs::temp_directory_path() / ("bert_infer_weights_" + std::to_string(getpid()));
};

TEST_F(Damaged, PickleThatCallsOtherFunctionsIsRefusedByName) {
  copy("legacy");
  EXPECT_EQ(error(), "no error");
  EXPECT_THAT(error_of("cos\nsystem\nX\4\0\0\0true\x85R."),
              HasSubstr("pytorch_model.bin: the pickle calls 'os.system', expected nothing but "
                        "tensors"));
  EXPECT_THAT(error_of("\x8c\x08"
                       "builtins\x8c\x04"
                       "eval\x93."),
              HasSubstr("'builtins.eval'"));
  EXPECT_THAT(error_of("ctorch._utils\n_rebuild_qtensor\n."), HasSubstr("_rebuild_qtensor"));
  EXPECT_THAT(error_of("ctorch._utils\n_rebuild_tensor_v3\n."), HasSubstr("_rebuild_tensor_v3"));
  EXPECT_THAT(error_of("ctorch\nQUInt8Storage\n."), HasSubstr("torch.QUInt8Storage"));
  EXPECT_THAT(error_of("K\1."), HasSubstr("not a dict"));
  EXPECT_THAT(error_of("}U\1aK\1s."), HasSubstr("'a' is not a tensor"));
  EXPECT_THAT(error_of("}U\1a}s."), HasSubstr("'a' is not a tensor"));
  EXPECT_THAT(error_of("}U\6config}s."), HasSubstr("found neither"));  // it is passed over
  EXPECT_THAT(error_of("i."), HasSubstr("unsupported pickle opcode 0x69"));
  EXPECT_THAT(error_of("."), HasSubstr("stack is empty"));
  EXPECT_THAT(error_of("K\1(\x85."), HasSubstr("stack is empty"));
  EXPECT_THAT(error_of("((t."), HasSubstr("more than one value"));
  EXPECT_THAT(error_of("h\1."), HasSubstr("no value 1"));
  EXPECT_THAT(error_of("ccollections\nOrderedDict\nK\1\x85R."), HasSubstr("with 1 arguments"));
  EXPECT_THAT(error_of(std::string(2 << 20, ')') + "."), HasSubstr("values"));
  EXPECT_THAT(error_of(")" + std::string(1 << 19, '\x85') + "."), HasSubstr("not a dict"));
  EXPECT_THAT(error_of("]q" + std::string(1, '\1') + "h\1a."), HasSubstr("not a dict"));
}

TEST_F(Damaged, TensorsMustLieInTheirStorageWithoutOverlaps) {
  copy("legacy");
  // A tensor in a storage of four floats: its offset, shape and strides.
  const auto error_at = [&](char offset, const std::string& shape, const std::string& strides) {
    return error_of(std::string("}U\1actorch._utils\n_rebuild_tensor_v2\n(") +
                        "(U\7storagectorch\nFloatStorage\nU\1" + "0U\3cpuK\4NtQ" + 'K' + offset +
                        shape + strides + "\x89" + "ccollections\nOrderedDict\n)RtRs.",
                    std::string("\x80\x02](U\1") + "0e." + '\4' + std::string(7 + 16, '\0'));
  };
  EXPECT_THAT(error_at(0, "K\4\x85", "K\1\x85"), HasSubstr("found neither"));  // it is read
  EXPECT_THAT(error_at(1, "K\4\x85", "K\1\x85"), HasSubstr("exceeds its storage of 4"));
  EXPECT_THAT(error_at(0, "K\3\x85", "K\2\x85"), HasSubstr("exceeds its storage of 4"));
  EXPECT_THAT(error_at(0, "K\2K\2\x86", "K\1K\1\x86"), HasSubstr("has overlapping elements"));
  std::string sizes = "(";
  for (int i = 0; i < 65; ++i) sizes += "K\1";
  EXPECT_THAT(error_at(0, sizes + "t", sizes + "t"),
              HasSubstr("has 65 dimensions, expected at most 64"));
}

TEST_F(Damaged, TruncatedFilesAreErrors) {
  const auto torch = [&] { models::read_pytorch(path_ / "pytorch_model.bin"); };
  const auto google = [&] { models::read_tensorflow(path_ / "bert_model.ckpt"); };
  struct Case {
    const char *format, *name;
    std::function<void()> read;
  };
  for (const auto& [format, name, read] :
       {Case{"zip", "pytorch_model.bin", torch}, Case{"legacy", "pytorch_model.bin", torch},
        Case{"tensorflow", "bert_model.ckpt.index", google},
        Case{"tensorflow", "bert_model.ckpt.data-00000-of-00001", google}}) {
    copy(format);
    const size_t whole = fs::file_size(path_ / name);
    // From the longest to the shortest, so that the file need not be written again.
    for (size_t size = whole; size-- > 0; size -= std::min<size_t>(size, size < 20000 ? 6 : 997)) {
      fs::resize_file(path_ / name, size);
      try {
        read();
        ADD_FAILURE() << format << ": " << size << " bytes";
      } catch (const std::runtime_error& caught) {
        EXPECT_THAT(caught.what(), HasSubstr(path_.string())) << format << ": " << size << " bytes";
      }
    }
  }
}

TEST_F(Damaged, MutantsAreCleanErrorsOrLoad) {
  for (const char* format : {"zip", "legacy"}) {
    copy(format);
    const std::string path = path_ / "pytorch_model.bin",
                      good = without_checksums(test::read_file(path));
    const size_t pickles = 9000;
    ASSERT_LT(pickles, good.size());
    EXPECT_GT(errors_of_mutants("pytorch_model.bin", good, pickles, 2000,
                                [&] { models::read_pytorch(path); }),
              400);
  }
  copy("tensorflow");
  const std::string index = test::read_file(path_ / "bert_model.ckpt.index");
  EXPECT_GT(errors_of_mutants("bert_model.ckpt.index", index, index.size(), 2000,
                              [&] { models::read_tensorflow(path_ / "bert_model.ckpt"); }),
            1900);
}

TEST_F(Damaged, ZipEntriesMustNotBeCompressedOrEncrypted) {
  copy("zip");
  const std::string good = without_checksums(test::read_file(path_ / "pytorch_model.bin"));
  const size_t entry = good.find("PK\1\2");
  const auto changed = [&](size_t at, char value) {
    std::string bytes = good;
    bytes[at] = value;
    write("pytorch_model.bin", bytes);
    return error();
  };
  EXPECT_THAT(changed(entry + 10, 8), HasSubstr("'archive/data.pkl' is compressed (method 8)"));
  EXPECT_THAT(changed(entry + 8, 1), HasSubstr("'archive/data.pkl' is encrypted"));
  EXPECT_THAT(changed(entry + 20, static_cast<char>(good[entry + 20] + 1)),
              HasSubstr("stored bytes, expected"));
  EXPECT_THAT(changed(good.find("little"), 'b'), HasSubstr("not little-endian"));
  write("pytorch_model.bin", "PK\3\4 and then nothing of an archive");
  EXPECT_THAT(error(), HasSubstr("no end record"));
  write("pytorch_model.bin", "<!DOCTYPE html>");
  EXPECT_THAT(error(), HasSubstr("neither a zip archive nor in torch's legacy format"));
}

TEST_F(Damaged, OneFlippedBitInAnyMemberOfAZipIsFound) {
  copy("zip");
  const std::string good = test::read_file(path_ / "pytorch_model.bin");
  EXPECT_EQ(error(), "no error");
  int members = 0;
  for (size_t entry = good.find("PK\1\2"); entry != std::string::npos;
       entry = good.find("PK\1\2", entry + 1)) {
    const auto number = [&](size_t at, int bytes) {
      uint64_t value = 0;
      std::memcpy(&value, good.data() + at, bytes);
      return value;
    };
    const size_t name_size = number(entry + 28, 2), local = number(entry + 42, 4);
    const std::string name = good.substr(entry + 46, name_size);
    const size_t begin = local + 30 + number(local + 26, 2) + number(local + 28, 2);
    const size_t size = number(entry + 20, 4);
    ASSERT_GT(size, 0u) << name;
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      std::string bytes = good;
      bytes[begin + at] ^= 1 << at % 8;
      write("pytorch_model.bin", bytes);
      EXPECT_THAT(error(),
                  AllOf(HasSubstr("pytorch_model.bin: the archive's '" + name + "' has checksum"),
                        HasSubstr("its data is damaged")))
          << name << " byte " << at;
    }
    ++members;
  }
  EXPECT_GT(members, 30);
  write("pytorch_model.bin", without_checksums(good));  // as torch.save may be told
  EXPECT_EQ(error(), "no error");
}

TEST_F(Damaged, TensorFlowChecksumsAreVerified) {
  copy("tensorflow");
  const std::string name = "bert_model.ckpt.data-00000-of-00001";
  std::string data = test::read_file(path_ / name);
  data[data.size() / 2] ^= 1;
  write(name, data);
  EXPECT_THAT(error(), AllOf(HasSubstr("bert_model.ckpt.index: tensor 'bert."),
                             HasSubstr("its data is damaged")));
  fs::remove(path_ / name);
  EXPECT_THAT(error(), HasSubstr(name + ": cannot be read: No such file"));
}

TEST_F(Damaged, FirstOfSeveralFormatsIsReadAndANoteSaysSo) {
  copy("zip");
  for (const char* name : {"bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"}) {
    fs::copy(format_directory("classification", "tensorflow") + "/" + name, path_ / name);
  }
  EXPECT_THAT(Model::load(path_).info().notes,
              Contains(HasSubstr("read from pytorch_model.bin, not from bert_model.ckpt.index")));
  fs::copy(format_directory("classification", "safetensors") + "/model.safetensors",
           path_ / "model.safetensors");
  EXPECT_THAT(Model::load(path_).info().notes,
              Contains(HasSubstr("from model.safetensors, not from pytorch_model.bin or")));
  copy("tensorflow-shards");
  fs::copy(path_ / "model.ckpt-1000.index", path_ / "model.ckpt-2000.index");
  EXPECT_THAT(error(), HasSubstr("expected one TensorFlow checkpoint"));
}

}  // namespace
}  // namespace bert
