// SPDX-License-Identifier: Apache-2.0
//
// tokenizer_bench load DIR ROUNDS
// tokenizer_bench encode DIR FILE ROUNDS THREADS
// tokenizer_bench hostile DIR FILE ROUNDS
//
// Times loading a tokenizer's directory; encoding the lines of a file; and encoding lines of 10 MB
// that invite quadratic time, compared with the same file. Prints one JSON object: median seconds,
// MB/s. THREADS 0 encodes line by line and keeps nothing; otherwise the batch encoder keeps all.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <time.h>

#include "models/calls/encode_batch.h"
#include "tokenizer/text_encoder.h"

namespace {

using bert::tokenizer::TextEncoder;
using nlohmann::json;

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// CPU time with one thread, as other programs disturb it less; the thread may be one of its own.
double median_seconds(int rounds, int threads, const std::function<void()>& work) {
  const clockid_t clock = threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    const double begin = now(clock);
    work();
    seconds.push_back(now(clock) - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 2, seconds.end());
  return seconds[static_cast<size_t>(rounds / 2)];
}

struct Lines {
  std::vector<std::string> lines;
  double megabytes = 0;
};

Lines read_lines(const char* path) {
  Lines out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line); out.lines.push_back(line)) {
    out.megabytes += static_cast<double>(line.size()) / 1e6;
  }
  return out;
}

size_t tokens = 0;  // printed, so that no work can be optimised away

bert::models::ForEach on_threads(int threads) {
  return [threads](size_t count, const auto& body) {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        for (size_t i; (i = next++) < count;) body(i);
      });
    }
    for (std::thread& worker : workers) worker.join();
  };
}

double encode_rate(const TextEncoder& tokenizer, const Lines& text, int rounds, int threads) {
  std::vector<bert::models::Texts> batch;
  for (const std::string& line : text.lines) batch.push_back({line});
  const double seconds = median_seconds(rounds, threads, [&] {
    if (threads > 0) {
      for (const auto& encoding :
           bert::models::encode_batch(tokenizer, batch, 0, on_threads(threads))) {
        tokens += encoding.ids.size();
      }
      return;
    }
    for (const std::string& line : text.lines) {
      tokens += tokenizer.encode(line, std::nullopt, 0).ids.size();
    }
  });
  return text.megabytes / seconds;
}

json hostile(const TextEncoder& tokenizer, const Lines& text, int rounds) {
  const double english = encode_rate(tokenizer, text, rounds, 0);
  json out = {{"file", {{"mb_per_s", english}}}};
  const std::pair<const char*, const char*> repeated[] = {{"letter", "a"},
                                                          {"accent", "\u0301"},
                                                          {"accented", "e\u0301"},
                                                          {"emoji", "\U0001f600"},
                                                          {"digit", "7"},
                                                          {"space", " "},
                                                          {"letters", "a "},
                                                          {"chinese", "\u4e00"},
                                                          {"punctuation", "."},
                                                          {"hangul", "\ud55c"},
                                                          {"two marks", "\u0301\u0323"},
                                                          {"spacing mark", "\u302e\u0323"},
                                                          {"zero width", "\u200b"},
                                                          {"bracket", "["},
                                                          {"almost special", "[MASK"},
                                                          {"special", "[MASK]"},
                                                          {"capital", "\u0130"},
                                                          {"long words", "internationalization"}};
  for (const auto& [name, unit] : repeated) {
    Lines line{{std::string()}, 0};
    while (line.lines[0].size() < 10'000'000) line.lines[0] += unit;
    line.megabytes = static_cast<double>(line.lines[0].size()) / 1e6;
    const double rate = encode_rate(tokenizer, line, rounds, 0);
    out[name] = {{"mb_per_s", rate}, {"times_file_per_byte", english / rate}};
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto rounds = [&](int at) { return std::max(1, std::atoi(argv[at])); };
  json out;
  if (mode == "load" && argc == 4) {
    const double seconds =
        median_seconds(rounds(3), 1, [&] { tokens += TextEncoder::load(argv[2]).notes().size(); });
    out = {{"load_ms", 1e3 * seconds}};
  } else if (mode == "encode" && argc == 6) {
    out["mb_per_s"] =
        encode_rate(TextEncoder::load(argv[2]), read_lines(argv[3]), rounds(4), std::atoi(argv[5]));
  } else if (mode == "hostile" && argc == 5) {
    out = hostile(TextEncoder::load(argv[2]), read_lines(argv[3]), rounds(4));
  } else {
    return std::fprintf(stderr, "usage: see the head of tokenizer_bench.cc\n"), 2;
  }
  out["tokens"] = tokens;
  std::printf("%s\n", out.dump(1).c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
