// SPDX-License-Identifier: Apache-2.0
//
// Queries, keys and values as the products of attention read them: in words, keys and values in
// panels. As in vectors.h, each file has its own copy.
#pragma once

#include <type_traits>

#include "engine/kernels/narrow/narrow_kinds.h"
#include "engine/kernels/tiles/tiles.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

template <typename Kind>
constexpr bool kInTiles = kHasTiles&& std::is_same_v<Kind, Bf16>;
// Tiles multiply whole ones only, so that words and columns are padded with zeros.
template <typename Kind>
constexpr int64_t kWordStep = kInTiles<Kind> ? 16 : 1;
template <typename Kind>
constexpr int64_t kColumnStep = kInTiles<Kind> ? 32 : W;

template <typename Kind>
constexpr int64_t words_of(int64_t floats) {
  return round_up((floats + Kind::kFloatsPerWord - 1) / Kind::kFloatsPerWord, kWordStep<Kind>);
}

// Software prefetching: rows lie too far apart for the hardware prefetcher.
constexpr int64_t kRowsAhead = 8;
inline void prefetch(const float* row, int64_t width) {
  for (int64_t d = 0; d < width; d += 16) __builtin_prefetch(row + d);
}

// W words of a row from element d on, padded with zeros.
template <typename Kind>
inline typename Kind::In words_at(const float* row, int64_t d, int64_t width) {
  constexpr int64_t kFloats = W * Kind::kFloatsPerWord;
  if (width - d >= kFloats) return Kind::from(row + d);
  float part[kFloats] = {};
  for (int64_t i = 0; d + i < width; ++i) part[i] = row[d + i];
  return Kind::from(part);
}

// Converts a row to words in place: no word is written beyond the floats that it comes from.
template <typename Kind>
void to_words(float* row, int64_t padded) {
  for (int64_t i = 0; Kind::kFloatsPerWord > 1 && i < padded / Kind::kFloatsPerWord; i += W) {
    store(row + i, (Vec)words_at<Kind>(row, i * Kind::kFloatsPerWord, padded));
  }
}

// Packs k [S, D] into panels of kPanel keys (the last may be narrower, a multiple of kColumnStep),
// each [D in words, keys]. Keys past the end are zero.
template <typename Kind>
void pack_keys(const AttentionTask& task, Word32* packed) {
  const int64_t padded = round_up(task.length, kColumnStep<Kind>);
  const int64_t words = words_of<Kind>(task.width);
  for (int64_t j = 0; j < padded; j += W) {
    const int64_t panel = j / kPanel * kPanel;
    const int64_t keys = padded - panel < kPanel ? padded - panel : kPanel;
    Word32* to = packed + panel * words + (j - panel);
    for (int64_t d = 0; d < words; d += W) {
      Vec block[W];
      for (int i = 0; i < W; ++i) {
        const float* row = task.k + (j + i) * task.stride;
        prefetch(row + W * task.stride + d * Kind::kFloatsPerWord, W * Kind::kFloatsPerWord);
        block[i] = j + i >= task.length
                       ? Vec{}
                       : (Vec)words_at<Kind>(row, d * Kind::kFloatsPerWord, task.width);
      }
      transpose(block);
      const int64_t rows = words - d < W ? words - d : W;
      for (int64_t i = 0; i < rows; ++i) store(to + (d + i) * keys, block[i]);
    }
  }
}

// Packs `count` rows of q [S, D], from `first` on, as [count, D in words], padding rows to whole
// vectors.
template <typename Kind>
void pack_queries(const AttentionTask& task, int64_t first, int64_t count, Word32* packed) {
  const int64_t stride = round_up(task.width, kColumnStep<Kind>);
  const int64_t width = words_of<Kind>(task.width);
  for (int64_t i = 0; i < count; ++i) {
    const float* row = task.q + (first + i) * task.stride;
    for (int64_t d = 0; d < width; d += W) {
      store(packed + i * stride + d,
            (Vec)words_at<Kind>(row, d * Kind::kFloatsPerWord, task.width));
    }
  }
}

// Packs v [S, D], padded with zeros, into panels of kPanel dimensions, each [S in words,
// dimensions].
template <typename Kind>
void pack_values(const AttentionTask& task, Word32* packed) {
  const int64_t padded = round_up(task.width, kColumnStep<Kind>);
  const int64_t all = words_of<Kind>(task.length);
  if (all * Kind::kFloatsPerWord > task.length + 1 || padded > round_up(task.width, W)) {
    __builtin_memset(packed, 0, all * padded * sizeof(Word32));
  }
  for (int64_t i = 0; i < task.length; i += Kind::kFloatsPerWord) {
    const float* row = task.v + i * task.stride;
    const float* next = row + task.stride;
    for (int r = 0; r < Kind::kFloatsPerWord; ++r) {
      prefetch(row + (kRowsAhead + r) * task.stride, task.width);
      if (i + r < task.queries) prefetch(task.q + (i + r) * task.stride, task.width);
    }
    for (int64_t panel = 0; panel < padded; panel += kPanel) {
      const int64_t end = padded - panel < kPanel ? padded : panel + kPanel;
      Word32* to = packed + panel * all + i / Kind::kFloatsPerWord * (end - panel);
      for (int64_t d = panel; d < end && d < task.width; d += W, to += W) {
        const int64_t dims = task.width - d < W ? task.width - d : W;
        float low[W] = {}, high[W] = {};
        const bool both = Kind::kFloatsPerWord == 2 && i + 1 < task.length, whole = dims == W;
        if (!whole) store(low, load_part(row + d, dims, 0));
        if (both && !whole) store(high, load_part(next + d, dims, 0));
        const auto words = Kind::pair(whole ? row + d : low, both && whole ? next + d : high);
        store(to, (Vec)words);
      }
    }
  }
}

}  // namespace
}  // namespace bert::engine::INSTRUCTION_SET
