// SPDX-License-Identifier: Apache-2.0
//
// f32 on the matrix tiles of AMX, which multiply bf16. A float is the sum of three bf16: its high,
// middle and low part. Of the nine products of two floats' parts, the six largest are added up, the
// other three being less than 2^-22 of the whole: the result is as exact as by multiply-adds in
// f32.
//
// Inputs are split once per row (split_row), weights while the tiles multiply those before them:
// panels stay in f32, so that no more has to be read from memory.
#pragma once

#include "engine/kernels/matmul/tile_panels.h"
#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/tiles/tiles.h"
#include "engine/kernels/vectors.h"

#if defined(HAS_TILES)
namespace bert::engine::INSTRUCTION_SET {
namespace {

constexpr int64_t kSplitParts = 3;
constexpr int64_t kStepInputs = 2 * kTileWords;  // of one tile
// A step's weights: kStepInputs rows of a panel, which become kSplitParts times two tiles.
constexpr int64_t kStepFloats = kStepInputs * kStripColumns, kPartWords = kStepFloats / 2;
constexpr int64_t kStepWords = kSplitParts * kPartWords;
constexpr int64_t kFloatsAhead = 2048;  // how far ahead to prefetch the weights that are split

typedef uint32_t Bits __attribute__((vector_size(W * sizeof(uint32_t))));
// Takes the upper half off each float, rounded; of the last part, which has eight bits, all.
inline Bits take_part(Vec& v, bool last) {
  if (last) return (Bits)v;
  const Bits upper = ((Bits)v + 0x8000u) & 0xffff0000u;
  v -= (Vec)upper;
  return upper;
}
// A row [k] becomes kSplitParts rows of bf16, each padded with zeros to whole steps.
inline void split_row_in_parts(const float* row, int64_t k, Word32* words) {
  const int64_t part_words = round_up(k, kStepInputs) / 2;
  for (int64_t i = 0; i < k; i += kStepInputs) {
    const int64_t left = k - i;
    Vec first = left < W ? load_part(row + i, left, 0) : load(row + i);
    Vec second = left < 2 * W ? load_part(row + i + W, left - W, 0) : load(row + i + W);
#pragma GCC unroll 3
    for (int64_t part = 0; part < kSplitParts; ++part) {
      const bool last = part + 1 == kSplitParts;
      const Bits low = take_part(first, last), high = take_part(second, last);
      store(words + part * part_words + i / 2, (Vec)Bf16::from((Vec)low, (Vec)high));
    }
  }
}
// Splits two rows of W columns into words that hold a bf16 of each.
inline void split_pair(const Word32* rows, Word32* to) {
  Vec first = load(rows), second = load(rows + kStripColumns);
#pragma GCC unroll 3
  for (int64_t part = 0; part < kSplitParts; ++part) {
    const bool last = part + 1 == kSplitParts;
    const Bits low = take_part(first, last), high = take_part(second, last);
    store(to + part * kPartWords, (Vec)(low >> 16 | (high & 0xffff0000u)));
  }
}

class SplitPanel {
 public:
  // For up to kMaxStrips strips.
  static constexpr int64_t kMaxStrips = 8;
  explicit SplitPanel(const MatmulTask& task)
      : task_(task),
        steps_((task.words + kStepInputs - 1) / kStepInputs),
        strips_((task.rows + kStripRows - 1) / kStripRows),
        part_(steps_ * kTileWords),
        before_{.task = task} {
    before_.task.rows = 0;
  }
  // Strips take turns at each chunk of steps, whose split weights stay in the first-level cache; a
  // single strip's sums can stay in tiles.
  void run() {
    const int64_t chunk = strips_ == 1 ? 1 : kChunkSteps;
    split_from(0, steps_ < chunk ? steps_ : chunk, 1);
    split_some(pairs_left_);
    for (int64_t begin = 0; begin < steps_; begin += chunk) {
      const int64_t end = begin + chunk < steps_ ? begin + chunk : steps_;
      const int64_t next = end + chunk < steps_ ? chunk : steps_ - end;
      split_from(end, next, strips_ * (end - begin) * kGroups);
      for (int64_t strip = 0; strip < strips_; ++strip) {
        const bool two = task_.rows - strip * kStripRows > kTileRows;
        two ? add_chunk<true>(strip, begin, end) : add_chunk<false>(strip, begin, end);
      }
      split_some(pairs_left_);
    }
    before_.some(kStripRows);
  }

 private:
  static constexpr int64_t kChunkSteps = 2;
  static constexpr int64_t kGroups = 6;  // of products in a step; vectors work between them

  // The steps to split next, evenly in `slots` slots.
  void split_from(int64_t step, int64_t steps, int64_t slots) {
    buffer_ ^= 1;
    from_ = step * kStepFloats;
    to_ = split_[buffer_];
    pairs_left_ = steps * kTileWords;
    pairs_ = (pairs_left_ + slots - 1) / slots;
  }
  // Splits up to `most` pairs of rows.
  void split_some(int64_t most) {
    const int64_t size = steps_ * kStepFloats;
    for (int64_t i = 0; i < most && pairs_left_ > 0; ++i, --pairs_left_) {
      const int64_t ahead = from_ + kFloatsAhead;
      prefetch_pair(ahead < size ? task_.panel + ahead : task_.next + (ahead - size));
      split_pair(task_.panel + from_, to_);
      split_pair(task_.panel + from_ + W, to_ + W);
      from_ += 2 * kStripColumns;
      to_ += kStripColumns;
      if (from_ % kStepFloats == 0) to_ += kStepWords - kPartWords;
    }
  }
  static void prefetch_pair(const Word32* rows) {
    for (int64_t i = 0; i < 2 * kStripColumns; i += kLine) prefetch_l2(rows + i);
    // As in add_block(): with its first lines under way, a page is fetched in time.
    constexpr int64_t kPageWords = 4096 / sizeof(Word32);
    if (reinterpret_cast<uintptr_t>(rows) % (kPageWords * sizeof(Word32)) > 0) return;
    for (int64_t i = 0; i < 3 * kLine; i += kLine) prefetch_l2(rows + kPageWords + i);
  }
  void between() {
    split_some(pairs_);
    if (before_.task.rows > 0) before_.some(kEpilogueRows);
  }

  template <bool Two>
  void add_chunk(int64_t strip, int64_t begin, int64_t end) {
    float* const sums = sums_ + strip * kStripRows * kStripColumns;
    const bool last = end == steps_;
    if (begin == 0) {
      clear_sums();
    } else if (strips_ > 1) {
      load_sums<Two>(sums, kStripBytes);
    }
    const Word32* x = task_.x + strip * kStripRows * task_.x_stride + begin * kTileWords;
    const Word32* w = split_[buffer_ ^ 1];
    for (int64_t step = begin; step < end; ++step, x += kTileWords, w += kStepWords) {
      add_step<Two>(x, w);
    }
    if (last || strips_ > 1) store_sums<Two>(sums, kStripBytes);
    if (!last) return;
    before_.some(kStripRows);
    const int64_t row = strip * kStripRows, left = task_.rows - row;
    before_.set(task_, row, left < kStripRows ? left : kStripRows, sums);
  }
  // The six products, in an order that loads few tiles: middle middle, high middle, high low, high
  // high, middle high, low high.
  template <bool Two>
  void add_step(const Word32* x, const Word32* w) {
    load_inputs<Two>(x + part_);
    load_weights(w + kPartWords);
    multiply<Two>();
    load_inputs<Two>(x);
    multiply<Two>();
    load_weights(w + 2 * kPartWords);
    multiply<Two>();
    load_weights(w);
    multiply<Two>();
    load_inputs<Two>(x + part_);
    multiply<Two>();
    load_inputs<Two>(x + 2 * part_);
    multiply<Two>();
  }
  template <bool Two>
  void load_inputs(const Word32* x) {
    const auto stride = static_cast<int64_t>(task_.x_stride * sizeof(Word32));
    _tile_loadd(4, x, stride);
    if constexpr (Two) _tile_loadd(5, x + kTileRows * task_.x_stride, stride);
  }
  void load_weights(const Word32* w) {
    _tile_loadd(6, w, kStripBytes);
    _tile_loadd(7, w + kTileWords, kStripBytes);
  }
  template <bool Two>
  void multiply() {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (Two) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    between();
  }

  static constexpr int64_t kEpilogueRows = kStripRows / (kChunkSteps * kGroups) + 1;
  const MatmulTask task_;
  const int64_t steps_, strips_;  // of the inputs, and of the rows
  const int64_t part_;            // words of a row's part
  StripEpilogue<F32> before_;
  int buffer_ = 0;                                 // the half of split_ that is written
  int64_t from_ = 0, pairs_left_ = 0, pairs_ = 0;  // pairs of rows; pairs_ in a slot
  Word32* to_ = nullptr;
  alignas(64) Word32 split_[2][kChunkSteps * kStepWords];
  alignas(64) float sums_[kMaxStrips * kStripRows * kStripColumns];
};

void multiply_split(const MatmulTask& task) {
  const int64_t strips = (task.rows + kStripRows - 1) / kStripRows;
  const int64_t groups = (strips + SplitPanel::kMaxStrips - 1) / SplitPanel::kMaxStrips;
  if (groups > 0) shape_tiles(kStripRows);
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t first = strips * g / groups * kStripRows;
    const int64_t end = g + 1 == groups ? task.rows : strips * (g + 1) / groups * kStripRows;
    MatmulTask some = task;
    some.x += first * task.x_stride;
    some.y += first * task.y_stride;
    some.rows = end - first;
    if (g + 1 < groups) some.next = task.panel;
    SplitPanel(some).run();
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
#endif
