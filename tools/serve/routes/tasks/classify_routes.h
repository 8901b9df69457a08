// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "tools/serve/routes/route.h"

namespace bert::tools::serve {

// spell(logits) returns Spelled.
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

// In the shapes of Hugging Face's inference API.
Work classification_work(const Call& call, const ServedModel& model);
Work zero_shot_work(const Call& call, const ServedModel& model);

}  // namespace bert::tools::serve
