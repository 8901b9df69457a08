// SPDX-License-Identifier: Apache-2.0
//
// The public API. Whatever goes wrong below it becomes a bert::Error here.
#include <algorithm>

#include <fmt/format.h>

#include "models/model_impl.h"

namespace bert {

Error::~Error() = default;

namespace {

using models::Batch;
using models::guarded;

}  // namespace

void Model::Impl::check_head(const std::optional<models::Head>& head, const char* what) const {
  if (!head) {
    throw Error(fmt::format("a {} has no head that gives logits for {}, but {}",
                            config.architecture, what, head_description()));
  }
}

bool Model::Impl::reads_mean() const {
  return config.mean_pooled && sequence_head->row.reads == models::ReadBy::classifier_pooling;
}

engine::Tensor Model::Impl::by_sequence(const Batch& batch, engine::Tensor x, engine::Team& team,
                                        Workspace& space) const {
  engine::Tensor rows = x;
  if (reads_mean()) {
    rows = models::mean_rows(batch, x, team, space);
  } else if (x.rows != batch.sequences()) {
    rows = models::first_rows(batch, x, space);
  }
  const bool pooled = sequence_head->row.reads == models::ReadBy::pooler;
  return sequence_head->run(team, pooled ? pooler->run(team, rows, space) : rows, space);
}

Output Model::Impl::run(std::span<const Encoding> encodings) const {
  check_head(sequence_head, "a whole input");
  Output output(std::ssize(encodings), sequence_head->columns());
  for_batches(encodings, sequence_reads(),
              [&](const Batch& batch, const auto& order, engine::Tensor x, engine::Team& team,
                  Workspace& space) {
                const engine::Tensor logits = by_sequence(batch, x, team, space);
                for (int64_t i = 0; i < logits.rows; ++i) {
                  std::copy_n(logits.row(i), output.columns, output.row(order[i]).data());
                }
              });
  check_rows(output);
  return output;
}

Output Model::Impl::embed(std::span<const Encoding> encodings) const {
  Output output(std::ssize(encodings), sentence.columns());
  for_batches(encodings, sentence.reads(),
              [&](const Batch& batch, const auto& order, engine::Tensor x, engine::Team& team,
                  Workspace& space) {
                const engine::Tensor rows = sentence.run(batch, sentence.reads(), x, team, space);
                for (int64_t i = 0; i < rows.rows; ++i) {
                  std::copy_n(rows.row(i), output.columns, output.row(order[i]).data());
                }
              });
  check_rows(output);
  return output;
}

Model Model::load(const std::string& directory, const Options& options) {
  return guarded([&] { return Model(Impl::load(directory, options)); });
}

Output Model::run(std::span<const Encoding> encodings) const {
  return guarded([&] { return impl_->run(encodings); });
}
Output Model::run(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->run(impl_->tokenize(inputs)); });
}
Output Model::embed(std::span<const Encoding> encodings) const {
  return guarded([&] { return impl_->embed(encodings); });
}
Output Model::embed(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->embed(impl_->tokenize(inputs)); });
}
std::vector<Encoding> Model::tokenize(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->tokenize(inputs); });
}
const Tokenizer& Model::tokenizer() const { return impl_->tokenizer; }
const Info& Model::info() const { return impl_->info; }
void Model::release_memory() const { impl_->spaces.clear(); }

}  // namespace bert
