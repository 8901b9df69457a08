// SPDX-License-Identifier: Apache-2.0
//
// Many callers of one model, run by hand. `time` prints latency and throughput of 1, 2, 4, 16 and
// 64 callers with an input of 16 tokens each, alone and beside calls of 64 x 128 tokens. `stress`,
// for the thread sanitizer, has callers, sizes, threads, cancellations, deadlines, unloads and
// released memory at random, where every answer must be the same bits as alone.
//
//   callers time MODEL
//   callers stress MODEL SECONDS
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "models/bert_queue.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<bert::Encoding> inputs_of(int count, int tokens, int vocabulary) {
  std::vector<bert::Encoding> inputs(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    for (int t = 0; t < tokens; ++t) {
      inputs[i].ids.push_back((i * 4099 + t * 7919) % vocabulary);
      inputs[i].type_ids.push_back(0);
    }
  }
  return inputs;
}

void time_callers(const bert::Model& model, int callers, bool beside_large) {
  const auto small = inputs_of(1, 16, model.info().vocabulary);
  const auto large = inputs_of(64, 128, model.info().vocabulary);
  std::atomic<bool> stop = false;
  std::atomic<int> large_calls = 0;
  std::vector<std::thread> threads;
  if (beside_large) {
    threads.emplace_back([&] {
      for (; !stop; ++large_calls) model.hidden(large);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  std::mutex mutex;
  std::vector<double> latencies;
  const auto begin = Clock::now();
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&] {
      std::vector<double> own;
      while (!stop) {
        const auto start = Clock::now();
        model.hidden(small);
        own.push_back(1e3 * seconds_since(start));
      }
      const std::lock_guard lock(mutex);
      latencies.insert(latencies.end(), own.begin(), own.end());
    });
  }
  std::this_thread::sleep_for(std::chrono::seconds(3));
  stop = true;
  const double seconds = seconds_since(begin);
  for (std::thread& thread : threads) thread.join();
  std::ranges::sort(latencies);
  const auto at = [&](double part) {
    return latencies[static_cast<size_t>(part * static_cast<double>(latencies.size() - 1))];
  };
  std::printf(
      "%2d callers %-14s median %8.2f ms   95 %% %8.2f   max %8.2f   %7.0f calls/s   %5.1f "
      "large/s\n",
      callers, beside_large ? "beside a large" : "alone", at(0.5), at(0.95), at(1),
      static_cast<double>(latencies.size()) / seconds, large_calls / seconds);
  std::fflush(stdout);
}

// The model that all callers share, until one of them loads another.
class Shared {
 public:
  explicit Shared(bert::Model model) { *this = std::move(model); }
  Shared& operator=(bert::Model model) {
    auto next = std::make_shared<const bert::Model>(std::move(model));
    const std::lock_guard lock(mutex_);
    model_.swap(next);
    return *this;
  }
  std::shared_ptr<const bert::Model> get() {
    const std::lock_guard lock(mutex_);
    return model_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const bert::Model> model_;
};

struct Counts {
  std::atomic<int64_t> calls{0}, unanswered{0}, wrong{0};
};

// A request to a queue, which is cancelled or late at random. Returns its answer, if there is one.
std::optional<bert::Output> request_at_random(bert::Queue& queue,
                                              std::span<const bert::Encoding> inputs,
                                              std::mt19937& random) {
  std::stop_source stop;
  bert::RequestOptions options;
  options.stop = stop.get_token();
  if (random() % 3 == 0) {
    options.deadline = Clock::now() + std::chrono::microseconds(random() % 20000);
  }
  auto answer = queue.embed(std::vector(inputs.begin(), inputs.end()), options);
  if (random() % 3 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    stop.request_stop();
  }
  try {
    return answer.get();
  } catch (const bert::Unanswered&) {
    return std::nullopt;
  }
}

// Calls at random until the time is over; counts answers that are not those of a call alone, and
// requests without an answer.
void call_at_random(const std::string& directory, unsigned seed, Clock::time_point end,
                    Shared& shared, Counts& counts) {
  std::mt19937 random(seed);
  bert::Options alone;
  alone.threads = 1;
  const bert::Model first = bert::Model::load(directory, alone);
  const auto inputs = inputs_of(40, 12, first.info().vocabulary);
  const bert::Output expected = first.embed(inputs);
  std::optional<bert::Queue> queue;
  while (Clock::now() < end) {
    const std::shared_ptr<const bert::Model> model = shared.get();
    if (!queue || random() % 20 == 0) queue.emplace(*model);
    const size_t begin = random() % inputs.size();
    const size_t count = random() % 3 == 0 ? random() % (inputs.size() - begin) + 1 : 1;
    const auto some = std::span(inputs).subspan(begin, count);
    const bool queued = random() % 2 == 0;
    const auto found = queued ? request_at_random(*queue, some, random) : model->embed(some);
    const float* const want = expected.row(static_cast<int64_t>(begin)).data();
    if (!found) {
      ++counts.unanswered;
    } else if (!std::equal(found->values.begin(), found->values.end(), want)) {
      ++counts.wrong;
    }
    ++counts.calls;
    switch (random() % 40) {
      case 0: {  // unloaded, once nobody calls it any more
        bert::Options options;
        options.workers = static_cast<int>(random() % 3);
        options.threads = static_cast<int>(random() % 3);
        options.batch_tokens = 1 << (random() % 12);
        shared = bert::Model::load(directory, options);
        break;
      }
      case 1:
        model->release_memory();
        break;
      case 2:
        model->tokenize(std::vector<bert::Input>(random() % 20, {"a man plays", "the guitar"}));
        break;
      case 3:
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
        break;
      case 4:
        try {
          model->attention(inputs, std::vector<int>{1000});
          ++counts.wrong;
        } catch (const bert::Error&) {
        }
        break;
      default:
        break;
    }
  }
}

int stress(const std::string& directory, int seconds) {
  const auto end = Clock::now() + std::chrono::seconds(seconds);
  Counts counts;
  int64_t callers = 0;
  for (unsigned round = 1; Clock::now() < end; ++round) {
    std::mt19937 random(round);
    Shared shared(bert::Model::load(directory));
    const auto round_end = std::min(end, Clock::now() + std::chrono::seconds(10));
    std::vector<std::thread> threads;
    for (unsigned i = 0, count = 1 + random() % 16; i < count; ++i, ++callers) {
      threads.emplace_back([&, seed = round * 100 + i] {
        call_at_random(directory, seed, round_end, shared, counts);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::printf("%lld calls of %lld callers, %lld cancelled or late, %lld wrong answers\n",
              static_cast<long long>(counts.calls), static_cast<long long>(callers),
              static_cast<long long>(counts.unanswered), static_cast<long long>(counts.wrong));
  return counts.wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "stress" && argc == 4) return stress(argv[2], std::atoi(argv[3]));
  if (mode != "time" || argc != 3) {
    std::fprintf(stderr, "usage: callers time MODEL | callers stress MODEL SECONDS\n");
    return 2;
  }
  const bert::Model model = bert::Model::load(argv[2]);
  for (const bool beside : {false, true}) {
    for (const int callers : {1, 2, 4, 16, 64}) time_callers(model, callers, beside);
  }
  return 0;
} catch (const bert::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
