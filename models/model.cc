// SPDX-License-Identifier: Apache-2.0
//
// The two calls from a pair to its logits: Tokenizer::encode and Model::run. Any exception below
// the public API becomes a bert::Error here.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/calls/for_batches.h"
#include "models/model_impl.h"
#include "models/network/pooling.h"

namespace bert {

Encoding Tokenizer::encode(const Input& input) const {
  return models::guarded([&] {
    if (impl_->is_for_chat(input)) return impl_->encode_chat(input);
    Encoding encoding =
        impl_->text_encoder.encode(impl_->prompt + input.first, input.second, impl_->max_length);
    if (!impl_->prompt.empty()) Impl::remove_prompt(impl_->prompt, encoding);
    return encoding;
  });
}

void Model::Impl::check_answer(size_t i, std::span<const float> values) const {
  if (engine::all_finite(values)) return;
  const auto bad = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  throw Error(fmt::format("input {}: the model of {} produced {}, expected finite numbers", i,
                          checkpoint.path(), std::isnan(*bad) ? std::fabs(*bad) : *bad));
}

void Model::Impl::check_rows(const Output& output, const InputOf& input_of) const {
  for (int64_t i = 0; i < output.rows; ++i) check_answer(input_of(i), output.row(i));
}

engine::Tensor Model::Impl::by_sequence(const models::Batch& batch, engine::Tensor x,
                                        engine::Team& team, Workspace& space) const {
  const ClassifierPooling pooling = sequence_pooling();
  if (pooling == ClassifierPooling::late) {  // the output layer is linear: averaging its inputs
                                             // averages the logits
    const engine::ConstTensor each = sequence_head->transformed(team, x, space);
    return sequence_head->scores(team, models::mean_rows(batch, each, team, space), space);
  }
  const engine::Tensor rows = models::classified_rows(config, pooling, batch, x, team, space);
  const bool pooled = sequence_head->row.reads == models::ReadBy::pooler;
  return sequence_head->run(team, pooled ? pooler->run(team, rows, space) : rows, space);
}

Output Model::Impl::run(std::span<const Encoding> encodings, const InputOf& input_of) const {
  if (!sequence_head) refuse_head("a whole input");
  for (size_t i = 0; i < encodings.size(); ++i) {
    models::check_end(encodings[i], static_cast<int64_t>(input_of(i)), config);
  }
  Output output(std::ssize(encodings), sequence_head->columns());
  const auto copy = [&](const models::Batch& batch, const auto& order, engine::Tensor x,
                        engine::Team& team, Workspace& space) {
    const engine::Tensor logits = by_sequence(batch, x, team, space);
    for (int64_t i = 0; i < logits.rows; ++i) {
      std::copy_n(logits.row(i), output.columns, output.row(order[i]).data());
    }
  };
  for_batches(encodings, sequence_reads(), copy, input_of);
  check_rows(output, input_of);
  return output;
}

Output Model::run(std::span<const Encoding> encodings) const {
  return models::guarded([&] { return impl_->run(encodings); });
}

}  // namespace bert
