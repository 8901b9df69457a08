// SPDX-License-Identifier: Apache-2.0
#include "engine/attention/block_attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"

namespace bert::engine {
namespace {

// Queries per block. With a window, larger blocks would multiply more keys outside the queries'
// windows, and smaller ones would pack the same keys more often. The same holds for later keys.
constexpr int64_t kQueries = 768, kCausalQueries = 192, kLeastQueries = 48;

// With a window of so many tokens before and after together: with 511, blocks of 144 take a third
// less time than blocks of 48 (bf16 on AMX).
int64_t queries_for(int64_t window) {
  return std::clamp(window / 3 / kLeastQueries * kLeastQueries, kLeastQueries, kCausalQueries);
}
constexpr float kNone = -std::numeric_limits<float>::infinity();

// Some queries of a sequence and the keys that any of them attends to, by position in the sequence.
struct Block {
  int64_t sequence, length, first, last, first_key, last_key, keys_at_a_time;
  int64_t queries() const { return last - first; }
};

// Divides the keys of long sequences as evenly as whole panels allow.
int64_t keys_at_a_time(int64_t length, const AttentionOptions& options) {
  const int64_t whole = whole_tokens(options), most = std::min<int64_t>(whole, 4096);
  if (length <= whole) return length;
  return round_up(divide_up(length, divide_up(length, most)), 64);
}

std::vector<Block> blocks_of(std::span<const int32_t> starts, const AttentionOptions& options) {
  std::vector<Block> blocks;
  for (int64_t i = 0; i + 1 < std::ssize(starts); ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    const int64_t keys = options.attended.empty() ? length : options.attended[i];
    const bool has_window = options.window > 0 && options.window < length - 1;
    const int64_t window = has_window ? options.window : length;
    const int64_t after = options.causal ? 0 : window;
    const int64_t step = has_window       ? queries_for(window + after)
                         : options.causal ? kCausalQueries
                                          : kQueries;
    const bool all = options.reads == Reads::all;
    for (int64_t first = 0; first < (all ? length : 1); first += step) {
      const int64_t last = std::min(length, first + step);
      blocks.push_back({i, length, first, all ? last : 1, std::max<int64_t>(0, first - window),
                        std::min(keys, last + after), keys_at_a_time(length, options)});
      assert(blocks.back().first_key < blocks.back().last_key);
    }
  }
  return blocks;
}

// The weights of the earlier keys and of the further keys in a mean of values.
struct Shares {
  float before, further;
};

// Merges a query's greatest score and sum over further keys into those over the earlier keys. The
// query attends to some of the earlier ones: a block's first keys outnumber its queries, and with a
// window begin where the first query's does. If attention is causal without one, the very first key
// is attended to by all.
Shares join(float& greatest, float& sum, float further_greatest, float further_sum) {
  if (further_greatest == kNone) return {1, 0};  // the query attends to none of the keys
  const float most = std::max(greatest, further_greatest);
  const float before = sum * std::exp(greatest - most);
  const float further = further_sum * std::exp(further_greatest - most);
  greatest = most;
  sum = before + further;
  return {before / sum, further / sum};
}

void mix(const float* further, int64_t count, Shares shares, float* before) {
  if (shares.further == 0) return;
  for (int64_t i = 0; i < count; ++i) {
    before[i] = before[i] * shares.before + further[i] * shares.further;
  }
}

class BlockAttention {
 public:
  BlockAttention(ConstTensor qkv, std::span<const int32_t> starts, const AttentionOptions& options,
                 Tensor context);
  int64_t tasks() const { return std::ssize(blocks_) * options_.heads; }
  // Floats that all threads share, and floats that each thread needs.
  int64_t shared_floats() const { return whole_lines(2 * reach_ + 1); }
  int64_t worker_floats() const { return layout_.end; }
  void set_mask(float* shared);
  void run(int64_t i, float* space) const;

 private:
  struct Layout {             // offsets into a thread's floats
    int64_t before, further;  // [2, queries]: the greatest scores, and the sums
    int64_t context, probabilities, bias, kernel, end;
  };
  bool masks() const { return options_.window > 0 || options_.causal; }
  Layout lay_out() const;
  AttentionTask task_of(const Block& block, int64_t head, int64_t key, float* space) const;
  void keep(const Block& block, int64_t head, int64_t key, const AttentionTask& task, int64_t i,
            Shares shares) const;
  void drain(const Block& block, int64_t head, const float* greatest, float* context) const;

  ConstTensor qkv_;
  std::span<const int32_t> starts_;
  const AttentionOptions& options_;
  Tensor context_;
  const KernelTable& kernels_ = best_kernels();
  int64_t width_;
  std::vector<Block> blocks_;
  std::vector<int64_t> offsets_;    // probability_offsets()
  int64_t queries_ = 0, keys_ = 0;  // the most that a task has
  int64_t reach_ = 0;               // how far a key may be from a query, with a mask
  Layout layout_;
  const float* mask_ = nullptr;  // for each distance from -reach to reach; points to distance 0
};

BlockAttention::BlockAttention(ConstTensor qkv, std::span<const int32_t> starts,
                               const AttentionOptions& options, Tensor context)
    : qkv_(qkv),
      starts_(starts),
      options_(options),
      context_(context),
      width_(context.columns / options.heads),
      blocks_(blocks_of(starts, options)),
      offsets_(probability_offsets(starts, options)) {
  for (const Block& block : blocks_) {
    queries_ = std::max(queries_, block.queries());
    keys_ = std::max(keys_, std::min(block.keys_at_a_time, block.last_key - block.first_key));
    reach_ = std::max({reach_, block.last - block.first_key, block.last_key - block.first});
  }
  if (!masks()) reach_ = 0;
  layout_ = lay_out();
}

BlockAttention::Layout BlockAttention::lay_out() const {
  int64_t end = 0;
  const auto take = [&](int64_t floats) { return std::exchange(end, end + whole_lines(floats)); };
  Layout layout = {};
  layout.before = take(2 * queries_);
  layout.further = take(2 * queries_);
  layout.context = take(queries_ * width_);
  layout.probabilities = take(options_.probabilities ? queries_ * keys_ : 0);
  layout.bias = take(bias_scratch(options_, queries_, keys_));
  layout.kernel = take(kernels_.attention_scratch(std::max(queries_, keys_), width_));
  layout.end = end;
  return layout;
}

// The mask hides the keys outside a query's window, and if attention is causal those after it.
void BlockAttention::set_mask(float* shared) {
  if (!masks()) return;
  const int64_t before = options_.window > 0 ? options_.window : reach_;
  const int64_t after = options_.causal ? 0 : before;
  for (int64_t i = -reach_; i <= reach_; ++i) {
    shared[reach_ + i] = -before <= i && i <= after ? 0 : kNone;
  }
  mask_ = shared + reach_;
}

// The block's queries with some of its keys, from `key` on. The task of the first keys writes to
// the block's context, the others to a separate one.
AttentionTask BlockAttention::task_of(const Block& block, int64_t head, int64_t key,
                                      float* space) const {
  const bool first = key == block.first_key;
  const int64_t hidden = context_.columns, start = starts_[block.sequence];
  const int64_t key_heads = key_heads_of(options_), key_head = head * key_heads / options_.heads;
  const float* k = qkv_.row(start + key) + hidden + key_head * width_;
  const int64_t row = options_.reads == Reads::all ? start + block.first : block.sequence;
  float* const greatest = space + (first ? layout_.before : layout_.further);
  AttentionTask task{
      .q = qkv_.row(start + block.first) + head * width_,
      .k = k,
      .v = k + key_heads * width_,
      .context = first ? context_.row(row) + head * width_ : space + layout_.context,
      .stride = qkv_.columns,
      .context_stride = first ? hidden : width_,
      .length = std::min(block.keys_at_a_time, block.last_key - key),
      .width = width_,
      .queries = block.queries(),
      .scale = scale_of(options_, width_),
      .probabilities = options_.probabilities ? space + layout_.probabilities : nullptr,
      .greatest = greatest,
      .sums = greatest + queries_};
  const float* const by_distance = options_.bias ? options_.bias->of_head(head) : mask_;
  if (by_distance) {
    task.bias = by_distance + key - block.first;
    task.bias_stride = -1;
  }
  const Place place = {.query = block.first, .key = key};
  if (options_.keys) options_.keys->run(task, place, space + layout_.bias);
  if (options_.disentangled) options_.disentangled->run(task, head, place, space + layout_.bias);
  return task;
}

// Stores the probabilities of the block's query i; those of keys before `key` are already there.
void BlockAttention::keep(const Block& block, int64_t head, int64_t key, const AttentionTask& task,
                          int64_t i, Shares shares) const {
  const int64_t all = options_.reads == Reads::all ? block.length : 1;
  float* row = options_.probabilities + offsets_[block.sequence] +
               (head * all + block.first + i) * block.length;
  if (key == block.first_key) std::fill_n(row, block.length, 0.0f);
  for (int64_t j = block.first_key; j < key; ++j) row[j] *= shares.before;
  for (int64_t j = 0; j < task.length; ++j) {
    const bool hidden = mask_ && mask_[key + j - block.first - i] == kNone;
    if (!hidden) row[key + j] = shares.further * task.probabilities[i * task.length + j];
  }
}

// Lets the head's sink take its share of the block's probabilities. greatest: its queries'
// greatest scores, then their sums.
void BlockAttention::drain(const Block& block, int64_t head, const float* greatest,
                           float* context) const {
  const int64_t all = options_.reads == Reads::all ? block.length : 1;
  for (int64_t q = 0; q < block.queries(); ++q) {
    const float sum = greatest[queries_ + q];
    const float kept = sum / (sum + std::exp(options_.sinks[head] - greatest[q]));
    float* const mean = context + q * context_.columns;
    for (int64_t j = 0; j < width_; ++j) mean[j] *= kept;
    if (!options_.probabilities) continue;
    float* const row = options_.probabilities + offsets_[block.sequence] +
                       (head * all + block.first + q) * block.length;
    for (int64_t j = 0; j < block.length; ++j) row[j] *= kept;
  }
}

void BlockAttention::run(int64_t i, float* space) const {
  const auto attend =
      options_.precision == Precision::f32 ? kernels_.attention_f32 : kernels_.attention_bf16;
  const Block& block = blocks_[i / options_.heads];
  const int64_t head = i % options_.heads;
  float* const greatest = space + layout_.before;
  float* context = nullptr;  // of the block
  for (int64_t key = block.first_key; key < block.last_key; key += block.keys_at_a_time) {
    const AttentionTask task = task_of(block, head, key, space);
    attend(task, space + layout_.kernel);
    const bool first = key == block.first_key;
    if (first) context = task.context;
    for (int64_t q = 0; q < block.queries(); ++q) {
      Shares shares = {0, 1};
      if (!first) {
        shares = join(greatest[q], greatest[queries_ + q], task.greatest[q], task.sums[q]);
        mix(task.context + q * width_, width_, shares, context + q * context_.columns);
      }
      if (task.probabilities) keep(block, head, key, task, q, shares);
    }
  }
  if (options_.sinks) drain(block, head, greatest, context);
}

}  // namespace

int64_t longest_sequence(std::span<const int32_t> starts) {
  int64_t longest = 0;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    longest = std::max<int64_t>(longest, starts[i + 1] - starts[i]);
  }
  return longest;
}

std::vector<int64_t> probability_offsets(std::span<const int32_t> starts,
                                         const AttentionOptions& options) {
  std::vector<int64_t> offsets = {0};
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const int64_t length = starts[i + 1] - starts[i];
    const int64_t queries = options.reads == Reads::all ? length : 1;
    offsets.push_back(offsets.back() + options.heads * queries * length);
  }
  return offsets;
}

float scale_of(const AttentionOptions& options, int64_t width) {
  if (options.scale > 0) return options.scale;
  const int64_t terms = options.disentangled ? options.disentangled->terms() : 1;
  return 1.0f / std::sqrt(static_cast<float>(terms * width));
}

int64_t bias_scratch(const AttentionOptions& options, int64_t queries, int64_t keys) {
  if (options.keys) return options.keys->scratch_size(queries, keys);
  return options.disentangled ? options.disentangled->scratch_size(queries, keys) : 0;
}

void block_attention(Team& team, ConstTensor qkv, std::span<const int32_t> starts,
                     const AttentionOptions& options, Buffer& scratch, Tensor context) {
  assert((options.window == 0 && !options.causal) ||
         (!options.bias && !options.keys && !options.disentangled));
  const Timed timed(Step::attention);
  BlockAttention blocks(qkv, starts, options, context);
  scratch.resize_discarding(blocks.shared_floats() + blocks.worker_floats() * team.threads());
  blocks.set_mask(scratch.data());
  team.run(blocks.tasks(), [&](int64_t i, int worker) {
    blocks.run(i, scratch.data() + blocks.shared_floats() + worker * blocks.worker_floats());
  });
}

}  // namespace bert::engine
