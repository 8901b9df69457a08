// SPDX-License-Identifier: Apache-2.0
//
// From encodings to hidden states: batches of a model, each computed by a team.
#pragma once

#include <cstdint>
#include <span>

#include "engine/threads/scheduler.h"
#include "models/bert_queue.h"
#include "models/calls/workers.h"
#include "models/model_impl.h"

namespace bert {

template <typename Body, typename MakeTrace>
void Model::Impl::for_batches(std::span<const Encoding> encodings, engine::Reads reads,
                              const Body& body, const MakeTrace& make_trace,
                              const InputOf& input_of) const {
  for (size_t i = 0; i < encodings.size(); ++i) {
    models::check_encoding(encodings[i], static_cast<int64_t>(input_of(i)), config);
  }
  const auto orders =
      models::plan_batches(encodings, workers.batch_budget(encodings, batch_tokens));
  const engine::Scheduler::Work work = {.batches = std::ssize(orders),
                                        .at_once = workers.count(),
                                        .small = workers.is_small(encodings),
                                        .others = workers.others};
  workers.scheduler().run(
      work, [&, wanted = models::Workers::wanted](int64_t i, engine::Team& team) {
        if (wanted && !(*wanted)()) {
          throw Unanswered(Unanswered::Reason::cancelled, "nobody waits for the answer any more");
        }
        spaces.use([&](Workspace& space) {
          const models::Batch batch = models::make_batch(encodings, orders[i], config);
          const models::Trace trace = make_trace(batch, orders[i]);
          body(batch, orders[i], encoder.run(batch, team, reads, space, trace), team, space);
        });
      });
}

}  // namespace bert
