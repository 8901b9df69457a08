// SPDX-License-Identifier: Apache-2.0
#include "models/inspection.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "models/model_impl.h"

namespace bert::models {

using engine::Tensor;

namespace {

void trace_retrieval(const auto& impl, const Batch& batch, Tensor x, engine::Team& team,
                     Workspace& space, const Trace& trace) {
  const RetrievalParts& parts = impl.retrieval;
  if (parts.sparse) {
    const Head* mlm = impl.token_head ? &*impl.token_head : nullptr;
    parts.sparse->run(batch, x, mlm, impl.config.vocabulary, team, space,
                      [&](int64_t, std::span<float> weights) {
                        trace("sparse", Tensor{weights.data(), 1, std::ssize(weights)});
                      });
  }
  if (parts.token_vectors) trace("vectors", parts.token_vectors->run(team, x, space));
  if (!parts.embeds) return;
  trace("embedding", impl.sentence.run(batch, engine::Reads::all, x, team, space));
}

}  // namespace

void run_traced(const Model& model, const Encoding& encoding, const OnStage& on_stage) {
  guarded([&] {
    const auto& impl = Internals::impl(model);
    check_encoding(encoding, 0, impl.config);
    const Trace trace{on_stage};
    impl.spaces.use([&](Workspace& space) {
      const int64_t order[] = {0};
      engine::Team team(impl.workers.scheduler());
      const Batch batch = make_batch({&encoding, 1}, order, impl.config);
      const Tensor x = impl.encoder.run(batch, team, engine::Reads::all, space, trace);
      if (impl.pooler) trace("pooler", impl.pooler->run(team, first_rows(batch, x, space), space));
      if (impl.token_head) trace("logits", impl.token_head->run(team, x, space));
      if (impl.sequence_head) {
        trace(impl.token_head ? "next_sentence" : "logits",
              impl.by_sequence(batch, x, team, space));
      }
      trace_retrieval(impl, batch, x, team, space, trace);
    });
  });
}

Pass::Pass(const Model& model, std::span<const Encoding> encodings) : model_(model) {
  const Config& config = Internals::impl(model).config;
  for (size_t i = 0; i < encodings.size(); ++i) {
    check_encoding(encodings[i], static_cast<int64_t>(i), config);
  }
  std::vector<int64_t> order(encodings.size());
  std::iota(order.begin(), order.end(), 0);
  batch_ = make_batch(encodings, order, config);
}

void Pass::hidden() {
  engine::Team team(scheduler());
  Internals::impl(model_).encoder.run(batch_, team, engine::Reads::all, space_, {});
}

void Pass::logits() {
  const auto& impl = Internals::impl(model_);
  engine::Team team(scheduler());
  const Tensor x = impl.encoder.run(batch_, team, impl.sequence_reads(), space_, {});
  impl.by_sequence(batch_, x, team, space_);
}

std::string Pass::product() const {
  return Internals::impl(model_).encoder.layers.front().qkv.product().name();
}
engine::Precision Pass::precision() const { return Internals::impl(model_).encoder.precision; }

engine::Scheduler& Pass::scheduler() const { return Internals::impl(model_).workers.scheduler(); }

}  // namespace bert::models
