// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/finish.h"
#include "engine/kernels/vectors.h"

namespace bert::engine::INSTRUCTION_SET {
namespace {

// Like F32 and Bf16 in vectors.h.
struct Bytes {
  using In = IntVec;
  using Sum = IntVec;
  static constexpr int64_t kBlock = int64_t{1} << 40;  // whole numbers: nothing is rounded
  static In broadcast(const Unit* p) { return broadcast_bits(p); }
  static In load(const Unit* p) { return load_bits(p); }
  static Sum dot(Sum sum, In x, In w) {
#if defined(__AVX512VNNI__)
    return (Sum)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
#elif defined(__AVXVNNI__)
    return (Sum)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x, (__m256i)w);
#elif defined(__AVX512BW__)
    return sum + (Sum)_mm512_madd_epi16((__m512i)x, (__m512i)w);
#elif defined(__AVX2__)
    return sum + (Sum)_mm256_madd_epi16((__m256i)x, (__m256i)w);
#elif defined(__SSE2__)
    return sum + (Sum)_mm_madd_epi16((__m128i)x, (__m128i)w);
#else
    return sum + (x << 16 >> 16) * (w << 16 >> 16) + (x >> 16) * (w >> 16);
#endif
  }
};

// The same within 1.6e-4, and past the clamp 2e-5 |x| more, for what is rounded to eight bits right
// afterwards: x / 2 + |x| p(|x|), where p is Phi - 1/2.
template <>
inline Vec gelu<Bytes>(Vec x) {
  const Vec u = magnitude(x), t = min(u, broadcast(3.9f));
  Vec p = broadcast(0.000686555461f);
  p = p * t - 0.0104904901f;
  p = p * t + 0.0604671277f;
  p = p * t - 0.147275239f;
  p = p * t + 0.0521836355f;
  p = p * t + 0.385195196f;
  p = p * t + 0.00067053223f;
  return x * 0.5f + u * p;
}

// What a sum is worth: row `row` and columns `column` to `column` + W of the task.
inline Vec value(const MatmulTask&, int64_t, int64_t, Vec sum) { return sum; }
inline Vec value(const MatmulTask& task, int64_t row, int64_t column, IntVec sum) {
  const RowScale& scale = task.row_scales[row];
  IntVec column_sums;
  __builtin_memcpy(&column_sums, task.column_sums + column, sizeof column_sums);
  const Vec exact = __builtin_convertvector(sum - scale.zero * column_sums, Vec);
  return exact * (scale.scale * load(task.column_scales + column));
}

// A tile whose sums are there and not yet in y, `rows` of them or none. What is left to do is
// mostly other work than multiplications, so the next tile's leave room for it.
template <typename Kind>
struct Pending {
  // By measurement, only where there are 32 registers: GELU takes four beside the tile's.
  static constexpr bool gelu_too = W == 16;
  const float *sums, *bias;
  float* y;
  int64_t rows, y_stride;
  bool add, gelu_of_it;  // or neither
  [[gnu::always_inline]] void operator()(int64_t r) const {
    const float* from = sums + r * kPanel;
    float* to = y + r * y_stride;
    if (gelu_too && gelu_of_it) {
#pragma GCC unroll 8
      for (int64_t j = 0; j < kPanel; j += W) {
        store(to + j, gelu<Kind>(load(from + j) + load(bias + j)));
      }
      return;
    }
#pragma GCC unroll 8
    for (int64_t j = 0; j < kPanel; j += W) {
      const Vec v = load(from + j) + load(bias + j);
      store(to + j, add ? load(to + j) + v : v);
    }
  }
};

// The lines of y that a tile will write.
inline void fetch_outputs(const MatmulTask& task, int64_t first, int64_t rows) {
  for (int64_t r = first; r < first + rows; ++r) {
    for (int64_t j = 0; j < task.columns; j += kLine) fetch_line(task.y + r * task.y_stride + j);
  }
}

// To sums[R, V * W], kPanel from row to row, what the units from begin to end add up to: in R rows
// from `first` on, and V vectors of columns from `column` on. Until all units are there, int8's are
// the bits of whole numbers.
template <typename Sum, int R, int V>
[[gnu::always_inline]] inline void keep(const MatmulTask& task, int64_t first, int64_t column,
                                        int64_t begin, int64_t end, Sum (&sum)[R][V], float* sums) {
  const bool there = begin > 0, complete = end == task.units;
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) {
      float* to = sums + r * kPanel + v * W;
      const Sum all = there ? (Sum)load(to) + sum[r][v] : sum[r][v];
      store(to, complete ? value(task, first + r, column + v * W, all) : (Vec)all);
    }
  }
  // A compiler that kept the sums of a few rows in registers, and not those of many, could fuse
  // the last multiplication with what is added next: a row's bits would depend on its company.
  asm volatile("" : : "r"(sums) : "memory");
}

// A tile's sums[R, kPanel] of the units from begin to end, for R rows from `first` on. Meanwhile
// fetches so many lines of what lies ahead for every two rows of the panel, and finishes what is
// pending.
template <typename Kind, int R, typename Of>
[[gnu::always_inline]] inline void add_block(const MatmulTask& task, int64_t first, int64_t begin,
                                             int64_t end, int64_t lines, const Unit* ahead,
                                             const Pending<Of>& pending, float* sums) {
  const Unit *x = task.x + first * task.x_stride + begin, *panel = task.panel + begin * kPanel;
  const int64_t stride = task.x_stride, k = end - begin;
  const auto fetch = [&](int row, bool half) {
    for (int64_t l = 0; row % 2 == 0 && !half && l < lines; ++l, ahead += kLine) {
      fetch_line(ahead);
      // Processors themselves run ahead of who reads line by line, though not into the next page of
      // 4 KiB: with its first lines on the way they find it in time.
      constexpr int64_t kPage = 4096 / sizeof(Unit);
      if (reinterpret_cast<uintptr_t>(ahead) % 4096 > 0) continue;
      for (int64_t j = 0; j < 3; ++j) fetch_line(ahead + kPage + j * kLine);
    }
  };
  constexpr int64_t kEvery = kStep * kVectors;
  const int64_t rows = pending.rows;
  int64_t done = 0, due = rows > 0 ? 0 : k;  // rows of y, and that of the panel beside the next
  int64_t i = 0;
  typename Kind::Sum sum[R][kVectors] = {};
  for (; i + kStep <= k; i += kStep) {
    if (i == due) {
      pending(done++);
      due = done < rows ? due + kEvery : k;
    }
    add_rows<Kind, kStep>({x + i}, stride, panel + i * kPanel, kPanel, sum, fetch);
  }
  for (; i < k; ++i) add_rows<Kind, 1>({x + i}, stride, panel + i * kPanel, kPanel, sum, nothing);
  while (done < rows) pending(done++);
  keep(task, first, 0, begin, end, sum, sums);
}

// sums[R, kPanel] = x[R] panel.
template <typename Kind, int R>
void tile(const MatmulTask& task, int64_t first, int64_t lines, const Unit* ahead,
          const Pending<Kind>& pending, float* sums) {
  fetch_outputs(task, first, R);
  const Pending<Kind> none = {};
  const auto ahead_of = [&](int64_t begin) { return ahead + begin * lines / 2 * kLine; };
  for (int64_t begin = 0; begin < task.units; begin += Kind::kBlock) {
    const int64_t end = task.units - begin < Kind::kBlock ? task.units : begin + Kind::kBlock;
    add_block<Kind, R>(task, first, begin, end, lines, ahead_of(begin), begin == 0 ? pending : none,
                       sums);
  }
  if (task.exact > 0) {
    add_block<F32, R>(task, first, task.units, task.units + task.exact, lines, ahead_of(task.units),
                      none, sums);
  }
}

template <typename Kind>
using Tile = void (*)(const MatmulTask&, int64_t, int64_t, const Unit*, const Pending<Kind>&,
                      float*);
template <typename Kind>
constexpr Tile<Kind> kTiles[] = {nullptr,
                                 tile<Kind, 1>,
                                 tile<Kind, 2>,
                                 tile<Kind, 3>,
                                 tile<Kind, 4>,
                                 tile<Kind, (kRows > 4 ? 5 : 4)>,
                                 tile<Kind, (kRows > 4 ? 6 : 4)>};

}  // namespace

void pack_panel(const Unit* const* rows, int64_t columns, int64_t units, Unit* panel) {
  for (int64_t j = 0; j < kPanel; j += W) {
    for (int64_t i = 0; i < units; i += W) {
      const int64_t left = units - i < W ? units - i : W;
      Vec block[W];
      for (int c = 0; c < W; ++c) {
        const bool inside = j + c < columns;
        block[c] = !inside     ? Vec{}
                   : left == W ? load(rows[j + c] + i)
                               : load_part(rows[j + c] + i, left, 0);
      }
      transpose(block);
      for (int64_t d = 0; d < left; ++d) store(panel + (i + d) * kPanel + j, block[d]);
    }
  }
}

namespace {

constexpr int kHalf = kVectors / 2;
constexpr int kTallest = 12;  // with kHalf vectors, as many accumulators as kRows with kVectors

// Half a tile: sums[R, kPanel / 2] of R rows from `first` on. Beside each row of the panel it
// fetches so many lines of half a panel to the first level, and of what is far ahead to the second.
template <typename Kind, int R, int Lines>
void half_tile(const MatmulTask& task, int64_t first, int64_t column, int64_t begin, int64_t end,
               const Unit* near, const Unit* far, float* sums) {
  // Of every third row: there are not registers for all rows' addresses, as they lie some stride
  // apart, and most are one or two strides from one of these.
  constexpr int kAddresses = (R + 2) / 3;
  const Unit* x[kAddresses];
#pragma GCC unroll 8
  for (int j = 0; j < kAddresses; ++j) {
    x[j] = task.x + (first + 3 * j) * task.x_stride + begin;
  }
  const auto advance = [&](int64_t by) {
#pragma GCC unroll 8
    for (int j = 0; j < kAddresses; ++j) {
      x[j] += by;
      asm("" : "+r"(x[j]));  // or a compiler derives the other rows' from it, before the loop
    }
  };
  const Unit* panel = task.panel + begin * kPanel + column;
  const int64_t stride = task.x_stride, k = end - begin;
  typename Kind::Sum sum[R][kHalf] = {};
  int64_t i = 0;
  const auto fetch = [&](int row, bool half) {
    if (Lines == 1 && !half) return;  // by measurement: bf16 is 5 % faster than with the other half
    const int64_t line = row * Lines + (Lines == 2 && half);
    fetch_line(near + (i * Lines / kHalf + line / kHalf) * kPanel + line % kHalf * kLine);
    fetch_far(far + (i * Lines + line) * kLine);
  };
  for (; i + kStep <= k; i += kStep, advance(kStep)) {
    add_rows<Kind, kStep>(x, stride, panel + i * kPanel, kPanel, sum, fetch);
  }
  for (; i < k; ++i, advance(1)) {
    add_rows<Kind, 1>(x, stride, panel + i * kPanel, kPanel, sum, nothing);
  }
  keep(task, first, column, begin, end, sum, sums);
}

// By height, from kShortest on: those that fetch so many lines.
constexpr int kShortest = kTallest / 2;
using HalfTile = void (*)(const MatmulTask&, int64_t, int64_t, int64_t, int64_t, const Unit*,
                          const Unit*, float*);
template <typename Kind, int Lines, int... I>
HalfTile half_tile_of(int64_t rows, Lanes<I...>) {
  constexpr HalfTile kHalfTiles[] = {half_tile<Kind, kShortest + I, Lines>...};
  return kHalfTiles[rows - kShortest];
}
template <typename Kind, int Lines>
HalfTile half_tile_of(int64_t rows) {
  return half_tile_of<Kind, Lines>(rows, CountLanes<kTallest - kShortest + 1>::Type());
}
constexpr int kFewest = kRows + 1, kMostFew = 2 * kTallest;

// For few rows the second level would have as much to do as the multipliers if each tile read the
// panel from there, while what comes next passes through. So a block of half the panel lies in the
// first level for both tiles, while the one after it comes there; one tile alone is better off
// with only what it needs soon.
template <typename Kind>
void matmul_few(const MatmulTask& task) {
  constexpr int64_t kSoon = 48, kFar = 4 * kSumBlock;  // rows of the panel
  const int64_t rows = task.rows, all = task.units + task.exact;
  const int64_t second = rows > kTallest ? rows / 2 : 0, first = rows - second;
  // Those of the sums, and where two tiles share them at most so many.
  const int64_t block = Kind::kBlock < kSumBlock || second == 0 ? Kind::kBlock : kSumBlock;
  alignas(64) float sums[kMostFew * kPanel];
  // Rows from i on of this panel, and then of the next.
  const auto at = [&](int64_t i) {
    return i < all ? task.panel + i * kPanel : task.next + (i - all) * kPanel;
  };
  const auto add = [&]<typename Of>(Of, int64_t begin, int64_t end) {
    const int64_t half = (end - begin) / 2 * kPanel;
    const Unit* far = at(begin + kFar);
    for (int64_t column = 0; column < kPanel; column += kHalf * W, far += half) {
      if (second == 0) {
        half_tile_of<Of, 2>(first)(task, 0, column, begin, end, at(begin + kSoon) + column, far,
                                   sums + column);
        continue;
      }
      const Unit* near = column == 0 ? at(begin) + kHalf * W : at(end);
      half_tile_of<Of, 1>(first)(task, 0, column, begin, end, near, far, sums + column);
      half_tile_of<Of, 1>(second)(task, first, column, begin, end, near + half, far + half / 2,
                                  sums + first * kPanel + column);
    }
  };
  // At once: beside the products of each block, so few lines cost a quarter of the time.
  fetch_outputs(task, 0, rows);
  for (int64_t begin = 0; begin < task.units; begin += block) {
    add(Kind(), begin, task.units - begin < block ? task.units : begin + block);
  }
  if (task.exact > 0) add(F32(), task.units, all);
  finish<Kind>(task, rows, sums, task.y);
}

// While the last tiles are computed, what comes after the panel is fetched: kWanted lines for every
// two rows of it, by kWanted tiles so that memory can follow.
template <typename Kind>
void matmul(const MatmulTask& task) {
  if constexpr (kVectors == 4) {
    if (task.rows >= kFewest && task.rows <= kMostFew) return matmul_few<Kind>(task);
  }
  constexpr int64_t kWanted = kPanel > kLine ? 2 * kPanel / kLine : 2;
  const int64_t tiles = (task.rows + kRows - 1) / kRows;
  const int64_t before_last = tiles > kWanted ? (tiles - kWanted) * kRows : 0;
  int64_t fetched = 0;
  alignas(64) float sums[2][kRows * kPanel];
  const bool waits = task.activation == Activation::none ||
                     (Pending<Kind>::gelu_too && task.activation == Activation::gelu);
  const bool later = waits && task.columns == kPanel;
  const bool gelu = !task.add && task.activation == Activation::gelu;
  float* before = nullptr;  // where the last tile's sums go, when they wait
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t first = t * kRows;
    const int64_t rows = task.rows - first < kRows ? task.rows - first : kRows;
    const int64_t done = first + rows - before_last, all = task.rows - before_last;
    const int64_t lines = done > 0 ? (kWanted * done + all - 1) / all - fetched : 0;
    const Unit* ahead = task.next + fetched * (task.units + task.exact) / 2 * kLine;
    float* y = task.y + first * task.y_stride;
    const Pending<Kind> pending = {sums[(t + 1) % 2], task.bias, before, before ? kRows : 0,
                                   task.y_stride,     task.add,  gelu};
    kTiles<Kind>[rows](task, first, lines, ahead, pending, sums[t % 2]);
    if (later) before = y;
    if (!later || t + 1 == tiles) finish<Kind>(task, rows, sums[t % 2], y);
    fetched += lines;
  }
}

}  // namespace

void matmul_f32(const MatmulTask& task) { matmul<F32>(task); }
void matmul_bf16(const MatmulTask& task) { matmul<Bf16>(task); }
void matmul_int8(const MatmulTask& task) { matmul<Bytes>(task); }

}  // namespace bert::engine::INSTRUCTION_SET
