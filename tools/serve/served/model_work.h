// SPDX-License-Identifier: Apache-2.0
//
// What routes ask of a model's queue for encodings. spell(output) returns Spelled.
#pragma once

#include <utility>
#include <vector>

#include "tools/serve/served/served_model.h"
#include "tools/serve/served/work.h"

namespace bert::tools::serve {

// Logits, [inputs, labels].
template <typename Spell>
Work logits_work(const ServedModel& model, std::vector<bert::Encoding> encodings, Work work,
                 Spell spell) {
  set_ask<bert::Output>(
      work,
      [&model, encodings = std::move(encodings)](auto options, auto done) mutable {
        model.queue.run(std::move(encodings), std::move(options), std::move(done));
      },
      std::move(spell));
  return work;
}

// Embeddings, [inputs, info.embedding].
template <typename Spell>
Work embedding_work(const ServedModel& model, std::vector<bert::Encoding> encodings, Work work,
                    Spell spell) {
  work.numbers = work.inputs * model.info.embedding;
  set_ask<bert::Output>(
      work,
      [&model, encodings = std::move(encodings)](auto options, auto done) mutable {
        model.queue.embed(std::move(encodings), std::move(options), std::move(done));
      },
      std::move(spell));
  return work;
}

}  // namespace bert::tools::serve
