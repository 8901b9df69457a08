// SPDX-License-Identifier: Apache-2.0
//
// Many callers of a Queue, run by hand:
//
//   queue_callers MODEL   threads with a pair each beside one caller with all of the pairs; a pair
//                         while 4,096 tokens are computed; a large request beside a large call
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "models/bert_queue.h"

namespace {

using Clock = std::chrono::steady_clock;
using Encodings = std::vector<bert::Encoding>;

constexpr auto kTime = std::chrono::seconds(3);

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Encodings random_inputs(int count, int tokens, int vocabulary) {
  Encodings inputs(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    for (int t = 0; t < tokens; ++t) {
      inputs[i].ids.push_back((i * 4099 + t * 7919) % vocabulary);
      inputs[i].type_ids.push_back(0);
    }
  }
  return inputs;
}

struct Times {
  std::vector<double> latencies;  // of each call, in ms
  double seconds = 0;
};

Times time_threads(int threads, const std::function<void()>& call,
                   Clock::duration pause = Clock::duration::zero()) {
  std::atomic<bool> stop = false;
  std::mutex mutex;
  Times times;
  std::vector<std::thread> callers;
  const auto begin = Clock::now();
  for (int i = 0; i < threads; ++i) {
    callers.emplace_back([&] {
      std::vector<double> own;
      while (!stop) {
        const auto start = Clock::now();
        call();
        own.push_back(1e3 * seconds_since(start));
        if (pause > pause.zero()) std::this_thread::sleep_for(pause);
      }
      const std::lock_guard lock(mutex);
      times.latencies.insert(times.latencies.end(), own.begin(), own.end());
    });
  }
  std::this_thread::sleep_for(kTime);
  stop = true;
  times.seconds = seconds_since(begin);
  for (std::thread& caller : callers) caller.join();
  std::ranges::sort(times.latencies);
  return times;
}

void print(const std::string& what, const Times& times, int inputs) {
  const auto at = [&](double part) {
    return times
        .latencies[static_cast<size_t>(part * static_cast<double>(times.latencies.size() - 1))];
  };
  std::printf("%-52s %8.0f inputs/s   median %8.2f ms   95 %% %8.2f   max %8.2f\n", what.c_str(),
              static_cast<double>(times.latencies.size()) * inputs / times.seconds, at(0.5),
              at(0.95), at(1));
  std::fflush(stdout);
}

void compare_threads(const bert::Model& model, int tokens) {
  const std::string each = " of " + std::to_string(tokens) + " tokens";
  for (const int count : {1, 4, 16, 64}) {
    const Encodings inputs = random_inputs(count, tokens, model.info().vocabulary);
    const std::string number = std::to_string(count);
    print("one caller, " + number + each, time_threads(1, [&] { model.embed(inputs); }), count);
    std::atomic<size_t> next = 0;
    const auto own = [&] { return std::span(inputs).subspan(next++ % inputs.size(), 1); };
    print("  " + number + " threads, Model", time_threads(count, [&] { model.embed(own()); }), 1);
    bert::Queue queue(model);
    print("  " + number + " threads, Queue",
          time_threads(count,
                       [&] {
                         const auto input = own();
                         queue.embed(Encodings(input.begin(), input.end())).get();
                       }),
          1);
    const bert::QueueStatistics all = queue.statistics();
    std::printf("    %.1f inputs a batch\n",
                static_cast<double>(all.batch_inputs) / static_cast<double>(all.batches));
  }
}

void time_beside_large(const bert::Model& model) {
  const Encodings pair = random_inputs(1, 32, model.info().vocabulary);
  const Encodings large = random_inputs(32, 128, model.info().vocabulary);
  bert::Queue queue(model);
  const auto ask = [&](const Encodings& inputs) { queue.embed(inputs).get(); };
  print("32 of 128 tokens, alone", time_threads(1, [&] { ask(large); }), 32);
  print("one of 32 tokens, alone", time_threads(1, [&] { ask(pair); }), 1);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) ask(large);
  });
  const Times beside = time_threads(
      1, [&] { ask(pair); }, std::chrono::milliseconds(5));
  print("  now and then, while 4,096 tokens are computed", beside, 1);
  stop = true;
  other.join();
}

void compare_large(const bert::Model& model) {
  const Encodings inputs = random_inputs(1024, 32, model.info().vocabulary);
  print("one caller, 1,024 of 32 tokens", time_threads(1, [&] { model.embed(inputs); }), 1024);
  bert::Queue queue(model);
  print("  Queue", time_threads(1, [&] { queue.embed(inputs).get(); }), 1024);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: queue_callers MODEL\n");
    return 2;
  }
  const bert::Model model = bert::Model::load(argv[1]);
  compare_threads(model, 32);
  time_beside_large(model);
  compare_large(model);
  return 0;
} catch (const bert::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
