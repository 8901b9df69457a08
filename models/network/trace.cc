// SPDX-License-Identifier: Apache-2.0
#include "models/network/trace.h"

#include "models/model_impl.h"
#include "models/network/batch.h"

namespace bert {

using engine::Tensor;
using models::first_rows;

void Model::Impl::trace(const Encoding& encoding, const models::Trace& trace) const {
  models::check_encoding(encoding, 0, config);
  spaces.use([&](Workspace& space) {
    const int64_t order[] = {0};
    engine::ThreadPool& pool = workers.all();
    const models::Batch batch = models::make_batch({&encoding, 1}, order, config);
    const Tensor x = encoder.run(batch, pool, engine::Reads::all, space, trace);
    const Tensor first = first_rows(batch, x, space);
    if (pooler) trace("pooler", pooler->run(pool, first, space));
    if (token_head) trace("logits", token_head->run(pool, x, space));
    if (sequence_head) {
      trace(token_head ? "next_sentence" : "logits", by_sequence(pool, first, space));
    }
    trace("embedding", sentence.run(batch, engine::Reads::all, x, pool, space));
  });
}

}  // namespace bert

namespace bert::models {

void run_traced(const Model& model, const Encoding& encoding, const OnStage& on_stage) {
  guarded([&] { Internals::impl(model).trace(encoding, {on_stage}); });
}

struct Pass::Impl {
  const Model model;
  Batch batch;
  Workspace space;
};

Pass::Pass(const Model& model, std::span<const Encoding> encodings) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < encodings.size(); ++i) {
    check_encoding(encodings[i], static_cast<int64_t>(i), Internals::impl(model).config);
    order.push_back(static_cast<int64_t>(i));
  }
  impl_.reset(
      new Impl{model, make_batch(encodings, order, Internals::impl(model).config), Workspace{}});
}
Pass::~Pass() = default;

void Pass::hidden() {
  const auto& model = Internals::impl(impl_->model);
  model.encoder.run(impl_->batch, pool(), engine::Reads::all, impl_->space, {});
}
void Pass::logits() {
  const auto& model = Internals::impl(impl_->model);
  const engine::Tensor first =
      model.encoder.run(impl_->batch, pool(), engine::Reads::first, impl_->space, {});
  model.by_sequence(pool(), first, impl_->space);
}
engine::Precision Pass::precision() const {
  return Internals::impl(impl_->model).encoder.precision;
}
engine::ThreadPool& Pass::pool() { return Internals::impl(impl_->model).workers.all(); }

}  // namespace bert::models
