// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/attention.h"

#include <cassert>
#include <vector>

#include "engine/attention/block_attention.h"
#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"

namespace bert::engine {

void attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
               const AttentionOptions& options, Buffer& scratch, Tensor context) {
  assert(!options.bias + !options.keys + !options.disentangled >= 2);  // at most one
  assert(options.attended.empty() || !options.probabilities);
  const int64_t longest = longest_sequence(starts);
  const bool masks = options.causal || (options.window > 0 && options.window < longest - 1);
  if (masks || options.sinks || longest > whole_tokens(options)) {
    return block_attention(team, qkv, starts, options, scratch, context);
  }
  const Timed timed(Step::attention);
  const KernelTable& kernels = best_kernels();
  const auto attend =
      options.precision == Precision::f32 ? kernels.attention_f32 : kernels.attention_bf16;
  const int64_t heads = options.heads, hidden = context.columns, width = hidden / heads;
  const int64_t key_heads = key_heads_of(options);
  const int64_t sequences = std::ssize(starts) - 1;
  const bool all = options.reads == Reads::all;
  const std::vector<int64_t> offsets = probability_offsets(starts, options);
  const int64_t task_floats = whole_lines(kernels.attention_scratch(longest, width));
  const int64_t worker_floats = task_floats + whole_lines(bias_scratch(options, longest, longest));
  scratch.resize_discarding(worker_floats * team.threads());

  team.run(sequences * heads, [&](int64_t i, int worker) {
    const int64_t sequence = i / heads, head = i % heads;
    const float* row = qkv.row(starts[sequence]);
    const float* k = row + hidden + head * key_heads / heads * width;
    const int64_t length = starts[sequence + 1] - starts[sequence];
    AttentionTask task{.q = row + head * width,
                       .k = k,
                       .v = k + key_heads * width,
                       .context = context.row(all ? starts[sequence] : sequence) + head * width,
                       .stride = qkv.columns,
                       .context_stride = hidden,
                       .length = length,
                       .width = width,
                       .queries = all ? length : 1,
                       .scale = scale_of(options, width)};
    float* space = scratch.data() + worker * worker_floats;
    if (options.bias) {
      task.bias = options.bias->of_head(head);
      task.bias_stride = -1;
    }
    if (options.keys) options.keys->run(task, {}, space + task_floats);
    if (options.disentangled) options.disentangled->run(task, head, {}, space + task_floats);
    if (!options.attended.empty()) task.length = options.attended[sequence];
    if (options.probabilities) {
      task.probabilities = options.probabilities + offsets[sequence] + head * task.queries * length;
    }
    attend(task, space);
  });
}

}  // namespace bert::engine
