// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/bert_queue.h"
#include "tests/models/copied_model.h"

namespace bert::test {

inline std::vector<Encoding> mixed(const Model& model, int count, int longest, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Encoding> inputs;
  for (int i = 0; i < count; ++i) {
    const int length = 1 + static_cast<int>(random() % static_cast<unsigned>(longest));
    inputs.push_back(random_encoding(length, model.info().vocabulary, random));
  }
  return inputs;
}

inline Model load_small_batches(const std::string& name, int batch_tokens, int threads = 2) {
  Options options;
  options.threads = threads;
  options.batch_tokens = batch_tokens;
  return Model::load(golden(name), options);
}

template <typename Result>
std::string error_of(std::future<Result>& answer) {
  return error_of([&] { answer.get(); });
}

template <typename Result>
Unanswered::Reason reason_of(std::future<Result>& answer) {
  try {
    answer.get();
  } catch (const Unanswered& error) {
    return error.reason();
  }
  throw std::logic_error("there is an answer");
}

// Requests that come meanwhile wait: the thread for small requests is in this one's callback.
class Held {
 public:
  explicit Held(Queue& queue) {
    answer_ = queue.embed(std::vector<Encoding>{kInput},
                          {.progress = [this, released = released_](int64_t done, int64_t) {
                            if (done > 0) return;
                            begun_.set_value();
                            released.wait();
                          }});
    begun_.get_future().wait();
  }
  ~Held() { release(); }
  void release() {
    if (!answer_.valid()) return;
    release_.set_value();
    answer_.get();
  }

 private:
  std::promise<void> begun_, release_;
  std::shared_future<void> released_ = release_.get_future().share();
  std::future<Output> answer_;
};

}  // namespace bert::test
