// SPDX-License-Identifier: Apache-2.0
#include "tools/console/output_file.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace bert::tools {
namespace {

namespace fs = std::filesystem;

int64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

class OutputFiles : public testing::Test {
 protected:
  std::string path(const char* name) const { return folder_ + "/" + name; }
  void SetUp() override {
    folder_ = testing::TempDir() + "output_file_test." + std::to_string(getpid());
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

 private:
  std::string folder_;
};

TEST_F(OutputFiles, MillionsOfAnswersTakeConstantMemory) {
  OutputFile file(path("many"));
  for (int i = 0; i < 100000; ++i) file.append("x\n");
  const int64_t before = peak_bytes();
  for (int i = 0; i < 5000000; ++i) file.append("x\n");  // 8 bytes each would be 40 MB
  EXPECT_LT(peak_bytes() - before, int64_t{8} << 20);
  file.close();
  EXPECT_EQ(fs::file_size(path("many")), 10200000u);
}

TEST_F(OutputFiles, AreCutAfterTheLastWholeAnswer) {
  const std::string answer = std::string(30000, 'x') + "\n";
  OutputFile file(path("cut"));
  for (int i = 0; i < 7; ++i) file.append(answer);  // 6 of them are flushed
  // What a full disk leaves of the buffer: one and a half answers.
  std::ofstream(path("cut.partial"), std::ios::app) << answer << answer.substr(0, 15000);
  file.append(answer);
  EXPECT_EQ(file.cut(), 7);
  EXPECT_EQ(fs::file_size(path("cut.partial")), 7 * answer.size());
  file.truncate(static_cast<int64_t>(answer.size()));
  file.append("end\n");
  EXPECT_EQ(file.keep_partial(), path("cut") + ".partial");
  EXPECT_EQ(fs::file_size(path("cut.partial")), answer.size() + 4);
}

TEST_F(OutputFiles, StandardOutputIsNeverCut) {
  OutputFile file("-");
  EXPECT_THROW(file.cut(), OutputError);
}

TEST_F(OutputFiles, LeaveNothingBehindUnlessTheyAreClosedOrKept) {
  { OutputFile(path("x")).append("begun"); }
  EXPECT_FALSE(fs::exists(path("x.partial")));
  OutputFile(path("x")).keep_partial();
  EXPECT_TRUE(fs::exists(path("x.partial")));
  std::ofstream(path("x.partial")) << "earlier";
  { const OutputFile resumed(path("x"), -1, true); }
  EXPECT_EQ(fs::file_size(path("x.partial")), 7u);
  const OutputFile first(path("x"));
  const auto descriptors = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = descriptors();
  EXPECT_THROW(OutputFile(path("x")), OutputError);  // another is writing it
  EXPECT_EQ(descriptors(), before);
  EXPECT_TRUE(fs::exists(path("x.partial")));
}

TEST_F(OutputFiles, WhatCannotGetItsNameStays) {
  {
    OutputFile file(path("taken"));
    file.append("answer");
    fs::create_directories(path("taken/folder"));
    EXPECT_THROW(file.close(), OutputError);
    EXPECT_EQ(file.keep_partial(), path("taken.partial"));
  }
  {
    OutputFile file(path("x"));
    file.append("answer");
    fs::create_directories(path("x/folder"));
    EXPECT_THROW(file.close(), OutputError);
  }
  EXPECT_EQ(fs::file_size(path("taken.partial")), 6u);
  EXPECT_EQ(fs::file_size(path("x.partial")), 6u);
}

TEST_F(OutputFiles, OfALinkAreNamedByWhereItLeads) {
  fs::create_directory(path("data"));
  fs::create_symlink("data/x", path("link"));
  EXPECT_EQ(OutputFile(path("link")).keep_partial(), fs::canonical(path("data")) / "x.partial");
}

TEST_F(OutputFiles, ALinkInThePartialFilesPlaceIsNotFollowed) {
  fs::create_symlink(path("victim"), path("x.partial"));
  EXPECT_THROW(OutputFile(path("x")), OutputError);
  EXPECT_FALSE(fs::exists(path("victim")));
}

// A scheduler may start a command while the one before ends. Neither empties what is whole.
TEST_F(OutputFiles, ThatTwoFinishAtOnceAreWhole) {
  std::atomic<int> written = 0, torn = 0;
  std::atomic<bool> ended = false;
  const auto write = [&] {
    for (int i = 0; i < 500; ++i) {
      try {
        OutputFile file(path("both"));
        file.append(std::string(1000, 'x'));
        file.close();
        ++written;
      } catch (const OutputError& error) {
        EXPECT_NE(std::string(error.what()).find("another process"), std::string::npos)
            << error.what();
      }
    }
  };
  std::thread reader([&] {
    while (!ended) {
      std::ifstream file(path("both"));
      const std::string content(std::istreambuf_iterator<char>(file), {});
      if (file.is_open() && content.size() != 1000) ++torn;
    }
  });
  std::thread other(write);
  write();
  other.join();
  ended = true;
  reader.join();
  EXPECT_GT(written, 0);
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace bert::tools
